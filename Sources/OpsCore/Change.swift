/// One fact for the store. A turn's changes are committed together, in order, before any of its effects.
public enum Change: Sendable, Codable {
    /// `firstOperation...` rows for the submission with this number in the turn: 0, 1, ... over those that were taken,
    /// in the order handled (a refused one has no number).
    /// `states` holds where each stands at once: pending or ready.
    case submitted(
        submission: Int, graph: GraphID, isNewGraph: Bool, firstOperation: OperationID, states: [OperationState],
        parent: OperationID?, producer: OperationID?)
    case becameReady(OperationID, at: Int64)
    case becamePending(OperationID)
    /// The intent: on disk before its process exists. For a group: `attempt` 0 and no slot.
    case started(OperationID, attempt: Int32, run: Int32, slot: Int32?, runner: String, at: Moment)
    /// The intent of a staged launch, on disk before its process can exist. It is ended by `started`, `unstaged` or
    /// `startConfirmed`.
    case staged(AttemptID, runner: String)
    /// A staged launch has not started and will not: the number of the attempt is free.
    case unstaged(AttemptID)
    /// A staged launch may have started: it counts as started, in a slot beside the others, until a runner reports.
    case assumedStarted(AttemptID, run: Int32, slot: Int32, at: Moment)
    /// An assumed start has happened there, or no runner can report it any more.
    case startConfirmed(AttemptID, SlotStart)
    case launched(AttemptID, Process)
    /// An executor has submitted the attempt as this job, which does not start before this is on disk.
    case accepted(AttemptID, job: String)
    /// The job of an attempt has started: its time counts from now on.
    case jobStarted(AttemptID, at: Moment)
    case exited(AttemptID, Exit)
    /// No process of a `notify` attempt is left: its slot is free, but it still counts for its queue and its group.
    case slotFreed(AttemptID)
    /// The end of an attempt whatever follows: `outcome` of the attempt.
    case attemptEnded(AttemptID, Outcome, Cause, at: Int64)
    /// Back from executing to ready; not before that instant. An attempt that no runner took does not count.
    case retrying(OperationID, notBefore: Int64, counts: Bool)
    case finished(OperationID, Outcome, Cause?, at: Int64)
    case reopened(OperationID, run: Int32, OperationState)
    case cancelling(OperationID, by: String, reason: String?, outcome: Outcome, Cause)
    case held(OperationID, isHeld: Bool)
    case frozen(OperationID, isFrozen: Bool)
    case edgeAdded(OperationID, on: OperationID, EdgeCondition)
    case edgeRemoved(OperationID, on: OperationID)
    indirect case edited(OperationID, Edit)
    case noted(OperationID, text: String?)
    case updated(AttemptID, OperationUpdate)
    case timeoutMoved(AttemptID, remaining: Int64)
    case queueSet(String, limit: Int32?, aging: Int64?, suspended: Bool, order: QueueOrder)
    /// Nil: the runner.
    case queueExecutorSet(String, executor: String?)
    case queueFairnessSet(String, isFair: Bool)
    /// Nanoseconds of slot time of a user in a fair queue, as they count at a wall instant; user 0: privileged users.
    case slotTimeUsed(queue: String, user: UInt32, used: Int64, at: Int64)
    case queueRemoved(String)
    case categorySet(CategorySettings)
    /// A start of a category with a rate, on the monotonic clock of this boot; those up to `expired` no longer count.
    case rateStarted(String, at: Int64, expired: Int64)
    /// The named units of an attempt that has just started; of a group: `attempt` 0.
    case unitsAssigned(OperationID, attempt: Int32, [AssignedUnits])
    case graphSuspended(GraphID, isSuspended: Bool)
    case daemonSuspended(isSuspended: Bool)
    /// Chosen by a user, and what was configured then; `insteadOf` nil: no choice stands any more.
    case workersSet(Int32, insteadOf: Int32?)
    /// A `finish` observer is owed for this run, until `observed`.
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
    /// Nil for what concerns a queue or the daemon.
    public var operation: OperationID?
    public var graph: GraphID?
    public var old: OperationState?
    public var new: OperationState?
    /// The product of `produced`.
    public var product: OperationID?
    /// Outcome of `finished`.
    public var outcome: Outcome?
    public var at: Int64
    /// Anything else: attempt number, queue name, condition detail, edited key, an instant of a schedule.
    public var detail: String?
    public init(
        sequence: Int64, kind: Kind, operation: OperationID? = nil, graph: GraphID? = nil, old: OperationState? = nil,
        new: OperationState? = nil, product: OperationID? = nil, outcome: Outcome? = nil, at: Int64,
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
