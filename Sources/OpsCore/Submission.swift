/// One atomic addition: a graph, or more operations for one that exists.
public struct Submission: Sendable {
    /// User id of its submitter.
    public var user: UInt32 = 0
    public var queues: [String] = ["default"]
    public var categorySets: [[CategoryUse]] = []
    public var policies: [Policy] = []
    public var operations: [Draft] = []
    public var edges: [DraftEdge] = []
    /// How the finished operations that edges name ended (those that the core no longer holds).
    public var finished: [OperationID: FinishedFact] = [:]
    /// The operation inside which this was submitted.
    public var producer: OperationID?
    /// `--child`: they become children of `producer`, in its graph.
    public var asChildren = false
    public init() {}
}

/// What a request that was taken leaves to answer.
public enum Acceptance: Equatable, Sendable {
    case submitted(GraphID, first: OperationID, count: Int)
    /// How many operations it touched.
    case done(Int)
}

/// Why a request was refused. Nothing of it was done.
public enum Rejection: Error, Equatable, Sendable {
    case unknownOperation(OperationID)
    case unknownQueue(String)
    case queueExists(String)
    case queueNotEmpty(String, unfinished: Int)
    /// `default` and `main` stay, and `main` stays serial.
    case builtInQueue(String)
    case unknownGraph(GraphID)
    /// The operations of the cycle in order, as places in the submission or ids, the first repeated at the end.
    case cycle([DraftEdge.Target])
    /// The same, tied by a category that one of them holds until others of them have ended.
    case deadlock([DraftEdge.Target], category: String)
    /// What the operation, a place in the submission or an id, asks for is more than there is.
    case unitsExceedCapacity(CategoryUse, DraftEdge.Target, capacity: Int32)
    /// The group around it takes less of the category than it asks for.
    case unitsExceedShare(CategoryUse, DraftEdge.Target, of: CategoryUse)
    case alreadyFinished(OperationID)
    case notFinished(OperationID)
    case notExecuting(OperationID)
    /// Only `completion: notify` ends by somebody's word.
    case endsByItsExit(OperationID)
    /// Executing, and the request is for what waits (the verb tells which).
    case alreadyStarted(OperationID)
    /// The producer is cancelling or finished.
    case producerClosed(OperationID)
    case waitsForOwnProducer(OperationID)
    /// Suspending what executes needs `freeze`.
    case needsFreeze(OperationID)
    case noSuchEdge(OperationID, on: OperationID)
    case tooMany(what: String, limit: Int)
    /// An ordinary user has so many unfinished operations, and asks for more than the limit leaves.
    case tooManyOfUser(UInt32, unfinished: Int, more: Int, limit: Int)
}
