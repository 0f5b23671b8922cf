/// One atomic addition: a graph, or more operations for one that exists.
public struct Submission: Sendable, Codable {
    /// User id of its submitter.
    public var user: UInt32 = 0
    public var queues: [String] = ["default"]
    public var categorySets: [[CategoryUse]] = []
    public var policies: [Policy] = []
    public var operations: [Draft] = []
    public var edges: [DraftEdge] = []
    /// Facts about finished operations that edges name and that have left the core.
    public var finished: [OperationID: FinishedFact] = [:]
    /// Operation whose process made the submission.
    public var producer: OperationID?
    /// True if the operations become children of `producer`, in its graph (`--child`).
    public var asChildren = false
    public init() {}
}

/// The answer to a request that was accepted.
public enum Acceptance: Equatable, Sendable, Codable {
    case submitted(GraphID, first: OperationID, count: Int)
    /// Number of operations that changed.
    case done(Int)
}

/// Reason why a request was refused. A refused request has changed nothing.
public enum Rejection: Error, Equatable, Sendable, Codable {
    case unknownOperation(OperationID)
    case unknownQueue(String)
    case queueExists(String)
    case queueNotEmpty(String, unfinished: Int)
    /// `default` and `main` cannot be removed, and the limit of `main` is always 1.
    case builtInQueue(String)
    case unknownGraph(GraphID)
    /// The operations of the cycle in order, as offsets in the submission or ids, the first repeated at the end.
    case cycle([DraftEdge.Target])
    /// A cycle that is closed by a category, which one of the operations holds until others of them have finished.
    case deadlock([DraftEdge.Target], category: String)
    /// The operation, an offset in the submission or an id, asks for more units than there are.
    case unitsExceedCapacity(CategoryUse, DraftEdge.Target, capacity: Int32)
    /// A group around the operation uses less of the category than the operation asks for.
    case unitsExceedShare(CategoryUse, DraftEdge.Target, of: CategoryUse)
    case alreadyFinished(OperationID)
    case notFinished(OperationID)
    case notExecuting(OperationID)
    /// It executes, but no process of it does: it is a group, waits in an engine, or has only its end left.
    case hasNoProcess(OperationID)
    /// Its own part has ended; it still waits for its children.
    case ownPartEnded(OperationID)
    /// Only an operation with `completion: notify` can be finished explicitly.
    case endsByItsExit(OperationID)
    /// A group ends with its children.
    case endsWithItsChildren(OperationID)
    /// Its outcome is decided; its processes are still ending.
    case isEnding(OperationID)
    /// The operation executes, and the request is possible only while it waits.
    case alreadyStarted(OperationID)
    /// The producer is cancelling or finished.
    case producerClosed(OperationID)
    case waitsForOwnProducer(OperationID)
    /// An executing operation can be suspended only with `freeze`.
    case needsFreeze(OperationID)
    case noSuchEdge(OperationID, on: OperationID)
    case tooMany(what: String, limit: Int)
    /// The unfinished operations of an ordinary user would have more edges than the limit.
    case tooManyEdgesOfUser(UInt32, limit: Int)
    /// The unfinished operations of an ordinary user would have more categories in different sets than the limit.
    case tooManyCategoriesOfUser(UInt32, limit: Int)
    /// An ordinary user has this number of unfinished operations, and the request would exceed the limit.
    case tooManyOfUser(UInt32, unfinished: Int, more: Int, limit: Int)
}

extension Submission {
    /// Refuses a submission that is larger than the limits.
    func checkSizes() throws(Rejection) {
        if operations.count > Limits.operationsPerSubmission {
            throw .tooMany(what: "operations", limit: Limits.operationsPerSubmission)
        }
        if edges.count > Limits.edgesPerSubmission {
            throw .tooMany(what: "edges", limit: Limits.edgesPerSubmission)
        }
        for set in categorySets where set.count > Limits.categoriesPerOperation {
            throw .tooMany(what: "categories", limit: Limits.categoriesPerOperation)
        }
        for policy in policies where policy.conditions.count > Limits.conditionsPerOperation {
            throw .tooMany(what: "conditions", limit: Limits.conditionsPerOperation)
        }
    }
}
