internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// The scheduler and the store, which change together: one turn after the other, each with one commit.
///
/// Other parts of opsd pass events and requests to it, and read from it. It knows none of them: after a commit its host
/// performs the consequences.
final class Turns {
    let store: Store
    let history: History
    private let loop: EventLoop
    let log: DaemonLog
    /// Performs the consequences of turns.
    unowned let host: any TurnHost

    /// The scheduler; nil while even reading the database fails.
    var core: Scheduler?
    var turn = Turn()
    /// Set while the disk cannot be written.
    var outage: Outage?
    /// Set while a large request or large facts are decided outside the loop.
    var longTurn: LongTurn?
    var finished = FinishedCount()
    /// Record of turns; nil: they are not recorded.
    var recorder: TurnRecorder?

    /// Thread that decides and stores long turns, and copies the write-ahead log into the database.
    let writing: SideWork
    private(set) lazy var monotonicAlarm = Alarm(loop, log, .monotonic) { [unowned self] in self.fireDueTimers() }
    private(set) lazy var wallAlarm = Alarm(loop, log, .wall) { [unowned self] in self.record(.tick) }
    private(set) lazy var probeAlarm = Alarm(loop, log) { [unowned self] in self.probe() }
    private(set) lazy var patience = Alarm(loop, log) { [unowned self] in self.commitTurn() }
    /// Wakes the loop if a turn has left events for the next.
    private let again: DeferredWork

    init(store: Store, history: History, loop: EventLoop, log: DaemonLog, host: any TurnHost) {
        self.store = store
        self.history = history
        self.loop = loop
        self.log = log
        self.host = host
        writing = SideWork(loop: loop, log: log)
        again = DeferredWork(loop) {}
        loop.endTurn = { [unowned self] in self.endTurn() }
    }

    /// Calls `question` with the scheduler in place: to read it through the optional would copy it, and count a
    /// reference for each table.
    func ask<Answer>(_ question: (inout Scheduler) -> Answer?) -> Answer? { core?.answer(question) }

    /// Lets the loop make another turn although no source is ready.
    func wakeUp() {
        again.schedule()
    }
}

/// Consequences of turns, outside scheduler and store.
protocol TurnHost: AnyObject {
    /// Makes a scheduler with the stored state and the present configuration.
    func scheduler(of snapshot: consuming Snapshot) -> Scheduler
    /// Publishes the results of a commit, once they are durable: calls `answering`, performs effects, publishes
    /// reports.
    func publish(_ transition: Transition, answering: () -> Void)
    /// Revokes the launches that are staged at the runner.
    func revokeStagedLaunches()
    /// Handles reports of the runner that waited for the end of a revocation.
    func handleDeferredReports()
    /// Sends replies to clients.
    func sendReplies()
    /// Sends messages to the runner and to clients that need no commit.
    func sendMessages()
    func turnEnded()
    func longTurnEnded()
    /// Stops everything that cannot continue without the store.
    func storageFailed()
    /// Continues after an outage.
    func storageReturned()
    /// Answers a call with an error.
    func fail(_ exchange: Exchange, _ error: any Error)
}

extension Scheduler {
    fileprivate mutating func answer<Answer>(_ question: (inout Scheduler) -> Answer?) -> Answer? { question(&self) }
}

extension Moment {
    static func now() -> Moment { Clock.read() }
}
