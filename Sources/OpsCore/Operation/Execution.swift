/// An attempt that executes, or a group that has started.
struct Execution: Codable {
    let operation: OperationIndex
    /// 0 for a group.
    let attempt: Int32
    var run: Int32
    /// Attempts of this run, this one included.
    var attemptsInRun: Int32
    /// Nil for a group, on an executor other than the runner, and once its process tree is gone.
    var slot: Int32?
    /// True if its slot is free because no process of it is alive, and its result is yet to be reported.
    var hasFreedSlot = false
    /// Executor that runs it; nil: the runner.
    var executor: ExecutorIndex?
    /// True if it takes part of the window of its executor.
    var isInFlight = false
    /// Id of its job in the engine of its executor, once that is known.
    var job: String?
    /// Last state of that job that its executor has reported.
    var jobState: EngineState?
    var runner: String
    /// Empty for an attempt of the present boot that no later runner has listed.
    var boot = ""
    var startedAt: Moment
    /// Needs that it holds until its end.
    var holding: [Need]
    /// Named units among them.
    var assigned: [Assignment] = []
    /// Categories whose rates count its start once its process exists.
    var uncountedRates: [CategoryIndex] = []
    var process: LaunchedProcess?
    var exit: ProcessExit?
    /// Instant at which its last process ended, as reported by the runner: opsd may have been away.
    var endedAt: WallInstant?
    /// Resolution that was decided first. A cancel or a deadline replaces one after which the operation would go on.
    var resolution: Resolution?
    /// True if no process of its tree is alive.
    var isGone = false
    /// True if `attemptEnded` is recorded; only its children remain.
    var isOver = false
    /// True after a cancel, a timeout or a deadline: its processes are being terminated.
    var isCancelling = false
    /// True while its runner is gone and its leftover processes are being killed.
    var isReaping = false
    /// True if its runner has listed it since the scheduler was restored.
    var isConfirmed = true
    /// True if it was staged and the runner has not reported yet if it has started.
    var isAssumed = false
    /// Edge on a dependency that failed in the meantime. It counts only if this attempt turns out not to have started.
    var missed: ImpossibleEdge?
    /// Instant of its timeout; while frozen, the rest of the time is in `timeoutLeft`.
    var timeoutAt: MonotonicInstant?
    var timeoutLeft: TimeSpan?
    /// Timeout as stored, until the runner has confirmed the attempt.
    var timeoutDue: MonotonicInstant?

    /// True if its runner was ending and did not start it: another attempt follows, whatever its policy says.
    var isRefused: Bool { resolution?.cause == .runnerIsEnding }

    /// True if it counts for the limits of its queue and its group.
    var countsForLimits: Bool { slot != nil || hasFreedSlot || isInFlight }
}

/// The evaluation of the conditions of one operation, and its last result.
struct Inquiry: Codable {
    /// Nil: a privileged user.
    let user: UInt32?
    /// Number of the evaluation; a result with an earlier number is ignored.
    var token: Int64
    var isEvaluating: Bool
    /// Instant until which a true result is valid.
    var validUntil: MonotonicInstant?
    /// Instant at which conditions that were false are evaluated again.
    var nextEvaluationAt: MonotonicInstant?
    var falseIndex: Int32 = 0

    /// Instant at which its timer fires. At the last instant of its validity a result still counts.
    var expiresAt: MonotonicInstant? { nextEvaluationAt ?? validUntil.map { $0 + TimeSpan(nanoseconds: 1) } }
}

extension Cause {
    /// The cause of an attempt that a runner did not start because it was ending. The number is ECANCELED.
    static let runnerIsEnding = Cause.cannotStart(step: "runner is ending", errno: 125)
}

/// Outcome and cause, decided together.
public struct Resolution: Hashable, Sendable, Codable {
    public var outcome: Outcome
    public var cause: Cause
    public init(outcome: Outcome, cause: Cause) {
        self.outcome = outcome
        self.cause = cause
    }

    /// True if what is below the operation ends too, and nothing below it starts any more.
    var endsChildren: Bool { outcome == .cancelled || outcome == .timedOut }
}

/// An operation that has finished in this turn. It is removed at the end of the turn.
struct FinishedOperation: Equatable, Codable {
    var operation: OperationIndex
    var outcome: Outcome
    /// The operation at which the cascade began, and the outcome of that operation.
    var root: OperationID
    var rootOutcome: Outcome
    var hasStarted: Bool
}

/// The run of an operation that waits after an attempt or a `retry`.
struct Run: Codable {
    var number: Int32
    var attempts: Int32
    /// End of its back-off on both clocks; zero if there is none.
    var restsUntil = Moment.zero
}
