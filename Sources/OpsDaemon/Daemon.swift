internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// opsd: one thread, one loop, one turn after the other. Read this file first.
///
/// Everything that happens (a client's call, a report of the runner, a deadline) is passed to the scheduler as an event;
/// answers wait. When every waiting event has been handled, `endTurn` lets the scheduler decide, commits all of it in one
/// transaction, and only then answers, orders and publishes. Load makes turns larger, not slower.
///
/// - `Turn`: what waits for the commit.
/// - `Daemon+Turn`: the turn itself.
/// - `Daemon+Staging`: starts that the runner makes by itself.
/// - `LongTurn`: a turn so large that it is processed and committed outside the loop.
/// - `Daemon+Storage`: what happens when the disk says no.
/// - `EffectPerformer`, `RunnerLink`: orders to the world, and its answers.
/// - `Schedules/`: runs by the calendar.
/// - `Socket/`, `Requests/`: clients and their calls. `Streams/`: answers that go on.
public final class Daemon {
    var configuration: Configuration
    let options: CommandLineOptions
    let loop: EventLoop
    let log: DaemonLog
    let store: Store
    let history: History
    let authorization: Authorization
    let logs: Logs
    let fileWatch: FileWatch
    let startedAt: Int64

    /// The rules and what they know; nil while not even reading the database works.
    var core: Scheduler?
    var turn = Turn()
    /// Set while the disk takes nothing.
    var outage: Outage?
    /// Set while a large request is decided outside the loop.
    var longTurn: LongTurn?
    /// Treatment of executing operations before the daemon ends, during which nothing starts; nil while no end is
    /// requested.
    var stopping: Configuration.OnStop?
    var finished = FinishedCount()
    /// The service manager handed the socket over, and keeps it when this process ends.
    var isActivated = false

    var configuredWorkers: Int32 { configuration.workers ?? Machine.processors }

    private(set) lazy var runner = RunnerLink(daemon: self)
    private(set) lazy var executors = ExecutorLinks(daemon: self)
    private(set) lazy var performer = EffectPerformer(daemon: self)
    private(set) lazy var requests = Requests(daemon: self)
    private(set) lazy var publisher = Publisher(loop: loop, log: log, history: history)
    private(set) lazy var helpers = HelperProcesses(
        loop: loop, log: log, runner: runner, socket: configuration.socket,
        wakeUp: { [unowned self] in wakeUp() })
    private(set) lazy var conditions = ConditionEvaluator(daemon: self)
    private(set) lazy var retention = Retention(daemon: self)
    /// Thread that decides and stores large requests.
    private(set) lazy var writing = SideWork(loop: loop, log: log)
    private(set) lazy var upkeep = Upkeep(daemon: self)
    private(set) lazy var idleExit = IdleExit(
        loop: loop, log: log, isIdle: { [unowned self] in isIdle }, stop: { [unowned self] in stop(.keep) })
    private(set) lazy var observers = ObserverRunner(daemon: self)
    private(set) lazy var graphs = GraphObservation(daemon: self)
    private(set) lazy var schedules = Schedules(daemon: self)
    var server: Server?

    private(set) lazy var monotonicAlarm = Alarm(self, .monotonic) { [unowned self] in self.timeHasCome() }
    private(set) lazy var wallAlarm = Alarm(self, .wall) { [unowned self] in self.record(.tick) }
    private(set) lazy var probeAlarm = Alarm(self) { [unowned self] in self.probe() }
    private(set) lazy var patience = Alarm(self) { [unowned self] in self.settle() }

    /// Brings the loop back when a turn left events for the next.
    let again: DeferredWork
    var signals: [SignalSource] = []

    init(
        configuration: Configuration, options: CommandLineOptions, loop: EventLoop, log: DaemonLog, store: Store,
        history: History
    ) throws {
        self.configuration = configuration
        self.options = options
        self.loop = loop
        again = DeferredWork(loop) {}
        self.log = log
        self.store = store
        self.history = history
        authorization = Authorization(daemonUser: Identity.uid)
        logs = Logs(state: configuration.state)
        fileWatch = try FileWatch(loop)
        startedAt = Clock.read().wall
        core = try storedCore()
        loop.endTurn = { [unowned self] in self.endTurn() }
    }
}

extension Daemon {
    /// Asks the rules where they are: read through the optional they would be copied, with a count for each table.
    func ask<Answer>(_ question: (inout Scheduler) -> Answer?) -> Answer? { core?.answer(question) }
}

extension Scheduler {
    fileprivate mutating func answer<Answer>(_ question: (inout Scheduler) -> Answer?) -> Answer? { question(&self) }
}

extension Moment {
    static func now() -> Moment { Clock.read() }
}
