// Events, changes and effects consist of values that all targets share.
@_exported public import OpsModel

/// An event for the scheduler: a request of a user, or a fact about processes.
/// A request is answered by `handle` with an `Acceptance` or a `Rejection`; a fact is always accepted.
public enum Event: Sendable, Codable {
    // Requests
    indirect case submit(Submission)
    case cancel([OperationID], by: String, reason: String?, force: Bool)
    case suspend(Level, freeze: Bool)
    case resume(Level)
    /// `revived`: the stored state of those operations that have left the core, and of those that were skipped because
    /// of them (with `--downstream`, of all after them).
    case retry([OperationID], revived: Revival)
    case finish(OperationID, failed: Bool, message: String?, by: String)
    /// Applies all edits or none. Each operation is named once.
    case edit([EditedTogether])
    /// Sets the note of an operation, which may have finished; nil removes it.
    case note(OperationID, graph: GraphID, text: String?)
    case addDependency(OperationID, on: OperationID, when: EdgeCondition, finished: FinishedFact?)
    /// `isMet`: the edge was met, so that the store has it and the core does not.
    case removeDependency(OperationID, on: OperationID, isMet: Bool = false)
    case setQueue(String, QueueEdit)
    case removeQueue(String)
    case setCategory(String, CategoryEdit)
    /// `insteadOf`: the configured number, if a user chose another one; nil if this is the configured number.
    case setWorkers(Int32, insteadOf: Int32? = nil)
    /// Stops all starts (`--on-stop drain`), or permits them again.
    case setDraining(to: Bool)
    /// Sets the configured maximum number of unfinished operations of one ordinary user.
    case setOperationsPerUser(Int)
    /// Sets the configured observers, which observe the finish of every operation that is not a group.
    case setObserversOfAll(Observers)
    /// Sets the configured executors other than the runner.
    case setExecutors([ExecutorSettings])

    // Facts
    case launched(AttemptID, LaunchedProcess)
    case launchFailed(AttemptID, step: String, errno: Int32)
    /// The main process has ended. `treeIsGone`: so has every other process of the attempt.
    case exited(AttemptID, ProcessExit, treeIsGone: Bool)
    /// No process of the attempt is left.
    case gone(AttemptID)
    case updated(AttemptID, OperationUpdate)
    /// The runner has started a staged launch, in the slot of an attempt that had ended.
    case stagedStarted(AttemptID, SlotStart)
    /// Staged launches are revoked. Those after the first `started` of them have not been started and will not be.
    /// `started` is 0 unless the runner was lost together with its reports of starts.
    case stagingRevoked(started: Int)
    /// The runner has dropped the revoked launches: launches may be staged again.
    case revocationConfirmed
    /// A runner has connected, or reports that it is ending. The inventory names the runner and the attempts that it
    /// knows.
    case runnerConnected(Inventory)
    case runnerLost
    /// The result of an evaluation that `Effect.evaluate` requested.
    case conditionsAnswered(OperationID, token: Int64, ConditionAnswer)
    /// A `finish` observer has run (or was given up): it need not run again after a crash.
    case observed(OperationID, run: Int32)
    /// A fact that an executor other than the runner reported.
    indirect case external(String, Event)
    case accepted(AttemptID, job: String)
    /// The executor can never run the attempt.
    case refused(AttemptID, String)
    case ended(AttemptID, ExternalEnd)
    /// Instants of a schedule were decided: this graph is their run, or they have none.
    case instantDecided(Report.Kind, graph: GraphID?, detail: String)
    /// Only time has passed.
    case tick
}

extension Event {
    /// True for reports of the runner about attempts. Before any other event is handled, staged launches are revoked.
    public var isRunnerReport: Bool {
        switch self {
        case .launched, .launchFailed, .exited, .gone, .updated, .stagedStarted, .stagingRevoked, .revocationConfirmed:
            true
        case .submit, .cancel, .suspend, .resume, .retry, .finish, .edit, .note, .addDependency, .removeDependency,
            .setQueue,
            .removeQueue, .setCategory, .setWorkers, .setDraining, .setOperationsPerUser, .setObserversOfAll,
            .setExecutors, .external, .accepted, .refused, .ended,
            .runnerConnected, .runnerLost,
            .conditionsAnswered, .observed, .instantDecided, .tick:
            false
        }
    }
}

/// The scope of `suspend` and `resume`.
public enum Level: Hashable, Sendable, Codable {
    case daemon
    case queue(String)
    case graph(GraphID)
    case operations([OperationID])
}

/// The result of an evaluation of conditions.
public enum ConditionAnswer: Hashable, Sendable, Codable {
    case allTrue
    case isFalse(index: Int32, detail: String)
    /// The condition could not be evaluated. The operation fails, or waits for the next evaluation.
    case isUnknown(index: Int32, detail: String)
}
