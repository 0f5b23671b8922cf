/// The stored state from which a scheduler is made.
public struct Snapshot: Sendable, Codable {
    public struct Queue: Sendable, Codable {
        public var name: String
        public var limit: Int32?
        public var aging: TimeSpan?
        public var isSuspended: Bool
        /// Executor of operations that name none.
        public var executor: String?
        public var order: QueueOrder
        public var isFair = false
        public init(
            name: String, limit: Int32? = nil, aging: TimeSpan? = nil, isSuspended: Bool = false,
            order: QueueOrder = .submission
        ) {
            self.order = order
            self.name = name
            self.limit = limit
            self.aging = aging
            self.isSuspended = isSuspended
        }
    }
    /// Slot time of a user in a fair queue, as it counted at an instant.
    public struct SlotTime: Sendable, Codable {
        public var queue: String
        /// 0: privileged users.
        public var user: UInt32
        public var used: TimeSpan
        public var at: WallInstant
        public init(queue: String, user: UInt32, used: TimeSpan, at: WallInstant) {
            self.queue = queue
            self.user = user
            self.used = used
            self.at = at
        }
    }
    /// One unfinished operation. `queue`, `categories` and `policy` are offsets in arrays of the snapshot.
    public struct Row: Sendable, Codable {
        public var id: OperationID
        public var graph: GraphID
        /// User id of its submitter.
        public var user: UInt32
        /// The group or producer around it; 0 for none.
        public var parent: OperationID
        public var queue: Int32
        @PackedOffset public var categories: Int32?
        @PackedOffset public var policy: Int32?
        public var priority: Int8
        public var state: OperationState
        public var flags: Draft.Flags
        /// The levels that have frozen it.
        public var frozenBy: FreezingLevels
        public var attempt: Int32
        public var run: Int32
        /// Attempts of this run so far, without those that no runner accepted.
        public var attemptsInRun: Int32
        /// True if it has started in this run.
        public var hasStarted: Bool
        /// Instants; zero for none. `notBefore` is the end of a back-off.
        public var submittedAt: WallInstant
        public var readyAt: WallInstant
        public var notBefore: WallInstant
        /// Estimate that was stored at its submission.
        public var path: EstimatedPath?
        public init(
            id: OperationID, graph: GraphID, user: UInt32 = 0, parent: OperationID = OperationID(0), queue: Int32 = 0,
            categories: Int32? = nil, policy: Int32? = nil, priority: Int8 = 0, state: OperationState = .pending,
            flags: Draft.Flags = [], frozenBy: FreezingLevels = [], attempt: Int32 = 0, run: Int32 = 1,
            attemptsInRun: Int32 = 0, hasStarted: Bool = false, submittedAt: WallInstant = .zero,
            readyAt: WallInstant = .zero, notBefore: WallInstant = .zero, path: EstimatedPath? = nil
        ) {
            self.id = id
            self.graph = graph
            self.user = user
            self.parent = parent
            self.queue = queue
            self.categories = categories
            self.policy = policy
            self.priority = priority
            self.state = state
            self.flags = flags
            self.frozenBy = frozenBy
            self.attempt = attempt
            self.run = run
            self.attemptsInRun = attemptsInRun
            self.hasStarted = hasStarted
            self.submittedAt = submittedAt
            self.readyAt = readyAt
            self.notBefore = notBefore
            self.path = path
        }
    }
    /// The stored state of an executing attempt.
    public struct Running: Sendable, Codable {
        public var attempt: AttemptID
        /// Nil for a group, on an executor other than the runner, and after the slot was freed.
        public var slot: Int32?
        public var runner: String
        /// The boot to which monotonic instants belong. Empty for a group whose start an earlier version has stored.
        public var boot: String
        public var startedAt: Moment
        public var process: LaunchedProcess?
        /// Exit of its main process. A `notify` attempt may continue after it.
        public var exit: ProcessExit?
        /// Resolution that was decided while processes of the attempt were alive.
        public var resolution: Resolution?
        /// True if its processes were to be terminated although its resolution was decided before.
        public var isCancelled = false
        /// Timeout of an attempt or group that was frozen, or whose timeout was extended: the time that is left while it is
        /// frozen, else the whole timeout from `startedAt`. Nil: the timeout of its policy, from `startedAt`.
        public var timeoutRemaining: TimeSpan?
        /// Id of its job in the engine of its executor.
        public var job: String?
        /// True if `attemptEnded` is stored: only its children are unfinished.
        public var isOver = false
        public init(
            attempt: AttemptID, slot: Int32?, runner: String, boot: String, startedAt: Moment,
            process: LaunchedProcess? = nil,
            exit: ProcessExit? = nil, resolution: Resolution? = nil, timeoutRemaining: TimeSpan? = nil
        ) {
            self.attempt = attempt
            self.slot = slot
            self.runner = runner
            self.boot = boot
            self.startedAt = startedAt
            self.process = process
            self.exit = exit
            self.resolution = resolution
            self.timeoutRemaining = timeoutRemaining
        }
    }
    /// A staged launch. Only its runner knows if it has started.
    public struct StagedLaunch: Sendable, Codable {
        public var attempt: AttemptID
        public var runner: String
        public var boot: String
        /// True if an earlier attempt of its run has started.
        public var hasStarted: Bool
        public init(attempt: AttemptID, runner: String, boot: String, hasStarted: Bool = false) {
            self.attempt = attempt
            self.runner = runner
            self.boot = boot
            self.hasStarted = hasStarted
        }
    }
    /// Both ends are unfinished, since edges on an operation that finishes are resolved in the same commit. The only
    /// exception is an edge of a staged launch on a dependency that failed while the start was assumed.
    public struct Edge: Sendable, Codable {
        public var from: OperationID
        public var on: OperationID
        public var when: EdgeCondition
        public init(from: OperationID, on: OperationID, when: EdgeCondition) {
            self.from = from
            self.on = on
            self.when = when
        }
    }
    /// Finished children of an unfinished group or producer that did not succeed. They decide its outcome.
    public struct EndedChildren: Sendable, Codable {
        public var parent: OperationID
        public var unsuccessful: Int32
        public var firstUnsuccessful: OperationID
        public init(parent: OperationID, unsuccessful: Int32, firstUnsuccessful: OperationID) {
            self.parent = parent
            self.unsuccessful = unsuccessful
            self.firstUnsuccessful = firstUnsuccessful
        }
    }

    /// Number of workers that a user chose, and the configured number at that time.
    public struct ChosenWorkers: Sendable, Codable {
        public var count: Int32
        public var insteadOf: Int32
        public init(count: Int32, insteadOf: Int32) {
            self.count = count
            self.insteadOf = insteadOf
        }
    }
    /// A `finish` observer that must still run for a run that has ended.
    public struct OwedObserver: Sendable, Codable {
        public var operation: OperationID
        public var run: Int32
        public init(_ operation: OperationID, run: Int32) {
            self.operation = operation
            self.run = run
        }
    }

    public var nextOperation: Int64 = 1
    public var nextGraph: Int64 = 1
    /// The sequence number of the last stored report.
    public var lastSequence: Int64 = 0
    /// The boot of this machine in which the state was loaded.
    public var boot = ""
    public var isSuspended = false
    public var workers: ChosenWorkers?
    public var suspendedGraphs: [GraphID] = []
    /// Users whose barriers order the operations of all users.
    public var privilegedUsers: Set<UInt32> = [0]
    /// Maximum number of unfinished operations of one ordinary user. Stored ones beyond it stay.
    public var operationsPerUser = Int.max
    /// Observers of the finish of every operation that is not a group.
    public var observersOfAll: Observers = []
    /// Configured executors other than the runner.
    public var executors: [ExecutorSettings] = []
    public var queues: [Queue] = [Queue(name: "default"), Queue(name: "main", limit: 1)]
    /// Categories with a capacity other than 1, and those whose capacity was ever set.
    public var categorySettings: [CategorySettings] = []
    /// Starts of categories with a rate, oldest first, on the monotonic clock of this boot.
    public var rateStarts: [String: [MonotonicInstant]] = [:]
    public var slotTimes: [SlotTime] = []
    /// Named units that executing operations hold.
    public var assigned: [OperationID: [AssignedUnits]] = [:]
    public var categorySets: [[CategoryUse]] = []
    public var policies: [Policy] = []
    /// In the order of their ids.
    public var operations: [Row] = []
    public var running: [Running] = []
    public var staged: [StagedLaunch] = []
    public var edges: [Edge] = []
    /// Facts about finished operations that edges of staged launches name.
    public var finished: [OperationID: FinishedFact] = [:]
    public var endedChildren: [EndedChildren] = []
    /// `finish` observers that had not run when opsd ended.
    public var owedObservers: [OwedObserver] = []
    public init() {}
}

/// Finished operations that a `retry` returns to the core, in the order of their ids, with their edges on one another
/// and on unfinished operations. Their stored `state` is `finished`.
public struct Revival: Sendable, Codable {
    public var queues: [String] = []
    public var categorySets: [[CategoryUse]] = []
    public var policies: [Policy] = []
    public var operations: [Snapshot.Row] = []
    public var edges: [Snapshot.Edge] = []
    /// Facts about operations that edges name and that stay finished.
    public var finished: [OperationID: FinishedFact] = [:]
    public var endedChildren: [Snapshot.EndedChildren] = []
    public init() {}
}
