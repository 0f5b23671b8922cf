public import OpsCore

/// Everything that is stored about one operation, as `show` prints it.
public struct OperationRecord: Sendable {
    public struct Dependency: Equatable, Sendable {
        public var id: OperationID
        public var when: EdgeCondition
        public var isSatisfied: Bool
    }
    public internal(set) var id: OperationID
    public internal(set) var name: String?
    public internal(set) var graph = GraphID(0)
    public internal(set) var graphName: String?
    public internal(set) var queue = ""
    public internal(set) var state = OperationState.pending
    public internal(set) var outcome: Outcome?
    /// Cause as text.
    public internal(set) var cause: String?
    /// Arguments as a JSON array; nil for a group.
    public internal(set) var command: String?
    /// The JSON object of `SubmissionTexts.details`.
    public internal(set) var details = "{}"
    public internal(set) var priority: Int8 = 0
    var flags: Draft.Flags = []
    public internal(set) var policy = Policy()
    public internal(set) var categories: [CategoryUse] = []
    /// Named units that its present or last attempt holds or held.
    public internal(set) var assigned: [AssignedUnits] = []
    public internal(set) var dependencies: [Dependency] = []
    /// 0 before the first start.
    public internal(set) var attempt: Int32 = 0
    public internal(set) var run: Int32 = 1
    public internal(set) var exitCode: Int32?
    public internal(set) var signal: Int32?
    public internal(set) var isCancelling = false
    public internal(set) var isFrozen = false
    /// Name of the user who submitted the operation.
    public internal(set) var user = ""
    public internal(set) var uid: UInt32 = 0
    public internal(set) var key: String?
    public internal(set) var note: String?
    public internal(set) var producer: OperationID?
    public internal(set) var group: OperationID?
    public internal(set) var progressDone: Int64?
    public internal(set) var progressTotal: Int64?
    public internal(set) var statusText: String?
    public internal(set) var result: String?
    /// Job of its last attempt in the engine of its executor.
    public internal(set) var job: String?
    public internal(set) var submittedAt = WallInstant.zero
    public internal(set) var readyAt: WallInstant?
    public internal(set) var startedAt: WallInstant?
    public internal(set) var finishedAt: WallInstant?
    /// End of a back-off.
    public internal(set) var notBefore: WallInstant?
    public internal(set) var usage: ProcessUsage?

    public var isHeld: Bool { flags.contains(.held) }
    public var isBarrier: Bool { flags.contains(.barrier) }
    public var isGroup: Bool { flags.contains(.group) }
}

/// Record of one attempt.
public struct AttemptRecord: Equatable, Sendable {
    public internal(set) var number: Int32
    public internal(set) var run: Int32
    public internal(set) var outcome: Outcome?
    public internal(set) var cause: String?
    public internal(set) var exitCode: Int32?
    public internal(set) var signal: Int32?
    public internal(set) var startedAt: WallInstant
    public internal(set) var finishedAt: WallInstant?
    public internal(set) var usage: ProcessUsage?
    /// True if the attempt has left something in its output directory.
    public internal(set) var hasOutputs: Bool
}
