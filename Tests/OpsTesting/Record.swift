public import OpsCore

/// One operation on the disk, finished or not, with its whole history, unlike a row of a `Snapshot`.
public struct Record: Sendable {
    public struct Edge: Hashable, Sendable {
        public var on: OperationID
        public var when: EdgeCondition
        /// True if the edge was met while this operation waited; a later run of `on` does not change that.
        public var isSettled = false
    }
    /// An attempt whose end is not stored yet.
    public struct Running: Sendable {
        public var attempt: AttemptID
        public var slot: Int32?
        public var runner: String
        public var boot: String
        public var startedAt: Moment
        public var process: LaunchedProcess?
        public var exit: ProcessExit?
        public var job: String?
        public var timeoutRemaining: TimeSpan?
        /// True if the attempt has ended and its children have not.
        public var isOver = false
    }
    /// A launch that the runner may start by itself.
    public struct StagedLaunch: Sendable {
        public var attempt: AttemptID
        public var runner: String
        public var boot: String
    }
    /// The end that was decided while its processes or children were alive.
    public struct Resolution: Sendable {
        public var outcome: Outcome
        public var cause: Cause
        /// True if it was requested by a cancel or a timeout, and so is final.
        public var isOrdered: Bool
        /// True if a user has requested it.
        public var isCancelled = false
    }

    public let id: OperationID
    public let graph: GraphID
    /// User id of its submitter; 0 is root.
    public let user: UInt32
    public let parent: OperationID?
    public let producer: OperationID?
    public let submittedAt: WallInstant
    public let path: EstimatedPath?
    public var queue: String
    public var categories: [CategoryUse]
    public var policy: Policy
    public var priority: Int8
    public var flags: Draft.Flags
    public var frozenBy: FreezingLevels = []
    /// Timeout of a group that is or was frozen: the rest while it is frozen, else the whole.
    public var groupTimeout: TimeSpan?
    public var state: OperationState
    public var outcome: Outcome?
    public var cause: Cause?
    public var attempt: Int32 = 0
    public var run: Int32 = 1
    public var attemptsInRun: Int32 = 0
    /// True if a group has started in this run. A group has no attempt.
    public var hasStarted = false
    public var readyAt = WallInstant.zero
    /// Its latest start, and the boot to which that belongs.
    public var startedAt = Moment.zero
    var boot = ""
    public var backoffUntil = WallInstant.zero
    public var running: Running?
    /// Named units of its latest start, and the categories whose units it has not been assigned yet.
    public var assigned: [AssignedUnits] = []
    var unassigned: Set<String> = []
    /// Categories with a rate, from the start of the operation to the report of its process.
    var rated: Set<String> = []
    public var staged: StagedLaunch?
    public var resolution: Resolution?
    /// Results that its attempts have published, by their numbers.
    public var results: [Int32: String] = [:]
    public var edges: [Edge] = []
    /// Position among all ends, to find the first one.
    public var finishedAs = 0
    /// Runs whose `finish` observer has not run yet.
    public var owedRuns: [Int32] = []

    public var isGroup: Bool { flags.contains(.group) }
    public var isBarrier: Bool { flags.contains(.barrier) }
    public var isOfRoot: Bool { user == 0 }
    public var isHeld: Bool { flags.contains(.held) }
    public var isFrozen: Bool { !frozenBy.isEmpty }
    public var isFinished: Bool { state == .finished }
    public var isWaiting: Bool { state == .pending || state == .ready }
    /// True if it executes with an attempt of its own, which the limits of queues and groups count.
    public var countsForLimits: Bool {
        guard let running else { return false }
        return state == .executing && !running.isOver
    }
    /// True if it also has a process of its own, which slots count.
    public var hasSlot: Bool { countsForLimits && running?.slot != nil }
}

extension EdgeCondition {
    /// Returns true if `record` satisfies this dependency.
    func isMet(by record: Record) -> Bool {
        switch self {
        case .succeeded: record.outcome == .succeeded
        case .finished: record.isFinished
        case .failed: record.isFinished && record.outcome != .succeeded
        case .started: record.hasStarted
        }
    }
}
