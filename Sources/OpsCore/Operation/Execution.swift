/// An executing operation: its attempt, or that a group has started.
struct Execution {
    let operation: OperationIndex
    /// 0 for a group.
    let attempt: Int32
    var run: Int32
    /// Attempts of this run, this one included.
    var attemptsInRun: Int32
    /// Nil for a group, and once its process tree is gone.
    var slot: Int32?
    /// Its slot is free, since nothing of it is alive, and it waits to be told how it ended.
    var hasFreedSlot = false
    var runner: String
    /// Empty for an attempt of the present boot that no later runner has listed.
    var boot = ""
    var startedAt: Moment
    /// Needs that it holds until its end.
    var holding: [Need]
    var process: Process?
    var exit: Exit?
    /// Wall instant at which nothing of it was alive any more, as the runner tells it: opsd may have been away.
    var endedAt: Int64?
    /// The end that was stored first.
    var resolution: Resolution?
    /// Nothing of its process tree is alive.
    var isGone = false
    /// `attemptEnded` is told; what remains are its children.
    var isOver = false
    /// Cancelled, or ended by a clock: SIGTERM is on its way.
    var isCancelling = false
    /// The runner never started it, for reasons of its own: it is to be tried again whatever its policy.
    var isRefused = false
    /// A killed runner's remains are being looked for.
    var isReaping = false
    /// The runner that holds it has answered since the scheduler was made.
    var isConfirmed = true
    /// It was staged, and the runner has not reported yet if it has started.
    var isAssumed = false
    /// A dependency that failed in the meantime. It counts only if this attempt turns out not to have started.
    var missed: Missed?
    /// Monotonic instant of its timeout; while frozen, what is left of it is in `timeoutLeft`.
    var timeoutAt: Int64?
    var timeoutLeft: Int64?
    /// Its timeout as the disk has it, until the runner has confirmed the attempt.
    var timeoutDue: Int64?

    /// True if it counts for the limits of its queue and its group.
    var countsForLimits: Bool { slot != nil || hasFreedSlot }
}

/// The end that an edge can no longer be met after.
struct Missed {
    var dependency: FinishedOperation
    var when: EdgeCondition
}

/// A question about the conditions of one operation.
struct Inquiry {
    /// Nil: a privileged user.
    let user: UInt32?
    /// Names the question; an answer to an earlier one counts for nothing.
    var token: Int64
    var isAsking: Bool
    /// Monotonic instant until which a true answer stands.
    var standsUntil: Int64?
    /// Monotonic instant at which a false one is asked again.
    var askAgainAt: Int64?
    var falseIndex: Int32 = 0
}

/// Outcome and cause, decided together.
public struct Resolution: Hashable, Sendable {
    public var outcome: Outcome
    public var cause: Cause
    public init(outcome: Outcome, cause: Cause) {
        self.outcome = outcome
        self.cause = cause
    }
}

/// An operation that has finished in this turn: it leaves the core at the end of it.
struct FinishedOperation: Equatable {
    var operation: OperationIndex
    var outcome: Outcome
    /// Where the cascade began that ended it, and how that one ended.
    var root: OperationID
    var rootOutcome: Outcome
    var hasStarted: Bool
}

/// The run of an operation that waits again, after an attempt or a `retry`.
struct Run {
    var number: Int32
    var attempts: Int32
    /// Instants of both clocks until which it rests; 0: not at all.
    var restsUntil = Moment(monotonic: 0, wall: 0)
}
