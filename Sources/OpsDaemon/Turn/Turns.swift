internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// The scheduler and the store, which change together: one turn after the other, each with one commit.
///
/// Parts of opsd pass it events and requests, and read from it. It knows none of them: after a commit it lets its host
/// perform what follows.
final class Turns {
    let store: Store
    let history: History
    private let loop: EventLoop
    let log: DaemonLog
    /// Performs the consequences of turns.
    unowned let host: any TurnHost

    /// The rules and what they know; nil while not even reading the database works.
    var core: Scheduler?
    var turn = Turn()
    /// Set while the disk takes nothing.
    var outage: Outage?
    /// Set while a large request is decided outside the loop.
    var longTurn: LongTurn?
    var finished = FinishedCount()
    /// Record of turns; nil: they are not recorded.
    var recorder: TurnRecorder?

    /// Thread that decides and stores large requests.
    let writing: SideWork
    private(set) lazy var monotonicAlarm = Alarm(loop, log, .monotonic) { [unowned self] in self.fireDueTimers() }
    private(set) lazy var wallAlarm = Alarm(loop, log, .wall) { [unowned self] in self.record(.tick) }
    private(set) lazy var probeAlarm = Alarm(loop, log) { [unowned self] in self.probe() }
    private(set) lazy var patience = Alarm(loop, log) { [unowned self] in self.commitTurn() }
    /// Brings the loop back when a turn left events for the next.
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

    /// Asks the rules where they are: read through the optional they would be copied, with a count for each table.
    func ask<Answer>(_ question: (inout Scheduler) -> Answer?) -> Answer? { core?.answer(question) }

    /// Makes the loop turn once more although nothing is ready.
    func wakeUp() {
        again.schedule()
    }
}

/// Consequences of turns, outside scheduler and store.
protocol TurnHost: AnyObject {
    /// Makes a scheduler of what is stored, with the present configuration.
    func scheduler(of snapshot: consuming Snapshot) -> Scheduler
    /// Publishes the contents of a commit, once it is durable: calls `answering`, performs effects, tells of reports.
    func publish(_ transition: Transition, answering: () -> Void)
    /// Revokes the launches that are staged at the runner.
    func revokeStagedLaunches()
    /// Handles reports of the runner that waited for the end of a revocation.
    func handleDeferredReports()
    /// Lets replies to clients leave.
    func sendReplies()
    /// Lets messages to the runner and to clients leave that need no commit.
    func sendMessages()
    func turnEnded()
    func longTurnEnded()
    /// Stops everything that cannot go on without the store.
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
