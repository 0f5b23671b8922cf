// The words of the core are made of the values that all targets share.
@_exported public import OpsModel

/// An event for the scheduler: a request of a user, or a fact about processes.
/// A request is answered by `handle` with an `Acceptance` or a `Rejection`; a fact is always accepted.
public enum Event: Sendable, Codable {
    // Requests
    indirect case submit(Submission)
    case cancel([OperationID], by: String, reason: String?, force: Bool)
    case suspend(Level, freeze: Bool)
    case resume(Level)
    /// `revived`: what of `operations` (and of what was skipped because of them, or of all after them with
    /// `--downstream`) has left the core, as the store remembers it.
    case retry([OperationID], revived: Revival)
    case finish(OperationID, failed: Bool, message: String?, by: String)
    /// All of it or nothing: each operation is named once.
    case edit([EditedTogether])
    /// A note beside an operation that exists, finished ones too; nil takes it away.
    case note(OperationID, graph: GraphID, text: String?)
    case addDependency(OperationID, on: OperationID, when: EdgeCondition, finished: FinishedFact?)
    /// `isMet`: the store has the edge, which the core has dropped because it was met.
    case removeDependency(OperationID, on: OperationID, isMet: Bool = false)
    case setQueue(String, QueueEdit)
    case removeQueue(String)
    case setCategory(String, CategoryEdit)
    /// `insteadOf`: what is configured, where a user chose this number; nil where it is itself what is configured.
    case setWorkers(Int32, insteadOf: Int32? = nil)
    /// No new starts (`--on-stop drain`), and back.
    case setDraining(to: Bool)
    /// Number of unfinished operations that one ordinary user may have, as it is configured now.
    case setOperationsPerUser(Int)
    /// Observers of the ends of all operations but groups, as they are configured now.
    case setObserversOfAll(Observers)
    /// Executors beside the runner, as they are configured now.
    case setExecutors([ExecutorSettings])

    // Facts
    case launched(AttemptID, Process)
    case launchFailed(AttemptID, step: String, errno: Int32)
    /// The main process has ended. `treeIsGone`: so has every other process of the attempt.
    case exited(AttemptID, Exit, treeIsGone: Bool)
    /// No process of the attempt is left.
    case gone(AttemptID)
    case updated(AttemptID, OperationUpdate)
    /// The runner has started a staged launch, in the slot of an attempt that had ended.
    case stagedStarted(AttemptID, SlotStart)
    /// Staged launches are revoked. Those after the first `started` of them have not been started and will not be.
    /// `started` is 0 unless the runner was lost together with its reports of starts.
    case stagingRevoked(started: Int)
    /// The runner has dropped what was revoked: launches may be staged again.
    case revocationConfirmed
    /// A runner has connected, or says that it is ending: which one, and what it knows.
    case runnerConnected(Inventory)
    case runnerLost
    /// The answers to the conditions of `.evaluate`, in order up to the first false one.
    case conditionsAnswered(OperationID, token: Int64, ConditionAnswer)
    /// A `finish` observer has run (or was given up): it need not run again after a crash.
    case observed(OperationID, run: Int32)
    /// A fact that an executor other than the runner reported.
    indirect case external(String, Event)
    case accepted(AttemptID, job: String)
    /// The attempt can never run there.
    case refused(AttemptID, String)
    case ended(AttemptID, ExternalEnd)
    /// Instants of a schedule were decided: by the run that is this graph, or without one.
    case instantDecided(Report.Kind, graph: GraphID?, detail: String)
    /// Nothing happened but time.
    case tick
}

extension Event {
    /// True for reports of the runner about attempts. Before any other event is handled, staged launches are revoked.
    public var isRunnerReport: Bool {
        switch self {
        case .launched, .launchFailed, .exited, .gone, .updated, .stagedStarted, .stagingRevoked, .revocationConfirmed:
            true
        case .submit, .cancel, .suspend, .resume, .retry, .finish, .edit, .note, .addDependency, .removeDependency, .setQueue,
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
    /// There was no answer, in time or at all. It counts as false, but proves nothing to be up to date.
    case isUnknown(index: Int32, detail: String)
}
