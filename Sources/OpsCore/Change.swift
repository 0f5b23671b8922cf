/// One fact for the store. The changes of a turn are committed together, in order, before any of its effects is
/// performed.
public enum Change: Sendable, Codable {
    /// An accepted submission. `submission` is its number among those that the turn has accepted, from 0. Its
    /// operations have consecutive ids from `firstOperation`; `states` holds the state of each: pending or ready.
    case submitted(
        submission: Int, graph: GraphID, isNewGraph: Bool, firstOperation: OperationID, states: [OperationState],
        parent: OperationID?, producer: OperationID?)
    case becameReady(OperationID, at: WallInstant)
    case becamePending(OperationID)
    /// The intent to start an attempt, on disk before its process exists. For a group: `attempt` 0 and no slot.
    case started(OperationID, attempt: Int32, run: Int32, slot: Int32?, runner: String, at: Moment)
    /// The intent of a staged launch, on disk before its process can exist. `started`, `unstaged` or `startConfirmed`
    /// follows.
    case staged(AttemptID, runner: String)
    /// A staged launch has not started and will not: the number of the attempt is free.
    case unstaged(AttemptID)
    /// A staged launch may have started: it counts as started, in a slot beside the others, until a runner reports.
    case assumedStarted(AttemptID, run: Int32, slot: Int32, at: Moment)
    /// An assumed start has happened in this slot, or no runner can report it any more.
    case startConfirmed(AttemptID, SlotStart)
    case launched(AttemptID, LaunchedProcess)
    /// An executor has submitted the attempt as this job, which does not start before this is on disk.
    case accepted(AttemptID, job: String)
    /// The job of an attempt has started. Its timeout counts from this instant.
    case jobStarted(AttemptID, at: Moment)
    case exited(AttemptID, ProcessExit)
    /// No process of a `notify` attempt is left: its slot is free, but it still counts for its queue and its group.
    case slotFreed(AttemptID)
    /// An attempt has ended with this outcome, whether or not another one follows.
    case attemptEnded(AttemptID, Outcome, Cause, at: WallInstant)
    /// An executing operation is ready again, and its next attempt starts after `notBefore`. `counts`: false if no
    /// runner accepted the attempt, which then uses up none of the retries.
    case retrying(OperationID, notBefore: WallInstant, counts: Bool)
    case finished(OperationID, Outcome, Cause?, at: WallInstant)
    case reopened(OperationID, run: Int32, OperationState)
    case cancelling(OperationID, by: String, reason: String?, outcome: Outcome, Cause)
    case held(OperationID, isHeld: Bool)
    /// The levels that freeze an operation from now on; empty: it is not frozen.
    case frozen(OperationID, by: FreezingLevels)
    case edgeAdded(OperationID, on: OperationID, EdgeCondition)
    case edgeRemoved(OperationID, on: OperationID)
    indirect case edited(OperationID, Edit)
    case noted(OperationID, text: String?)
    case updated(AttemptID, OperationUpdate)
    case timeoutMoved(AttemptID, remaining: TimeSpan)
    case queueSet(String, limit: Int32?, aging: TimeSpan?, suspended: Bool, order: QueueOrder)
    /// Executor of the operations in a queue that name none; nil: the runner.
    case queueExecutorSet(String, executor: String?)
    case queueFairnessSet(String, isFair: Bool)
    /// Slot time of a user in a fair queue, as it counts at an instant; user 0: privileged users.
    case slotTimeUsed(queue: String, user: UInt32, used: TimeSpan, at: WallInstant)
    case queueRemoved(String)
    case categorySet(CategorySettings)
    /// A start that counts for the rate of a category, on the monotonic clock of this boot. Starts up to `expired` no
    /// longer count.
    case rateStarted(String, at: MonotonicInstant, expired: MonotonicInstant)
    /// The named units of an attempt that has just started; of a group: `attempt` 0.
    case unitsAssigned(OperationID, attempt: Int32, [AssignedUnits])
    case graphSuspended(GraphID, isSuspended: Bool)
    case daemonSuspended(isSuspended: Bool)
    /// Number of workers. `insteadOf`: the configured number, if a user chose another one; nil if this is the
    /// configured number.
    case workersSet(Int32, insteadOf: Int32?)
    /// A `finish` observer must run for this run, until `observed` is stored.
    case observerOwed(OperationID, run: Int32)
    case observed(OperationID, run: Int32)
}

/// One line of the event stream, stored in the same transaction as its change.
public struct Report: Sendable, Codable {
    public enum Kind: UInt8, Sendable, CaseIterable, Codable {
        case submitted, ready, started, progress, produced, retrying, cancelling, suspended, resumed, finished
        case edited, conditionFalse, interrupted
        /// Decisions about instants of a schedule.
        case fired, skipped, missed, refused
    }
    public var sequence: Int64
    public var kind: Kind
    /// Nil if the report is about a queue or the daemon.
    public var operation: OperationID?
    public var graph: GraphID?
    public var old: OperationState?
    public var new: OperationState?
    /// The product of `produced`.
    public var product: OperationID?
    /// Outcome of `finished`.
    public var outcome: Outcome?
    public var at: WallInstant
    /// Anything else: attempt number, queue name, condition detail, edited key, an instant of a schedule.
    public var detail: String?
    public init(
        sequence: Int64, kind: Kind, operation: OperationID? = nil, graph: GraphID? = nil, old: OperationState? = nil,
        new: OperationState? = nil, product: OperationID? = nil, outcome: Outcome? = nil, at: WallInstant,
        detail: String? = nil
    ) {
        self.sequence = sequence
        self.kind = kind
        self.operation = operation
        self.graph = graph
        self.old = old
        self.new = new
        self.product = product
        self.outcome = outcome
        self.at = at
        self.detail = detail
    }
}
