internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// opsd: one thread, one loop, one turn after the other. Read this file first.
///
/// Everything that happens (a call of a client, a report of the runner, a deadline) becomes an event for the scheduler;
/// answers wait. When all waiting events have been handled, `endTurn` lets the scheduler decide and commits everything
/// in one transaction. Only then it answers clients, performs effects and publishes events. Load makes turns larger,
/// not slower.
///
/// This class creates the parts of the daemon, each with those that it uses, and lets them perform the consequences of
/// a turn.
///
/// - `Turns`: scheduler and store. `Turn`: everything that waits for the commit.
/// - `Turns+Turn`: the turn itself.
/// - `Turns+Staging`: starts that the runner makes by itself.
/// - `Turns+LongTurn`: a turn so large that it is processed and committed outside the loop.
/// - `Turns+Outage`: the time during which the disk cannot be written.
/// - `EffectPerformer`, `RunnerLink`: commands to processes, and their reports.
/// - `Schedules/`: runs by the calendar.
/// - `Socket/`, `Requests/`: clients and their calls. `Streams/`: answers with several replies.
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
    let startedAt: WallInstant

    /// Treatment of executing operations before the daemon ends, during which nothing starts; nil while no end is
    /// requested.
    var stopping: Configuration.OnStop?
    /// True if the service manager passed the socket on, and keeps it when this process ends.
    var isActivated = false
    /// Socket file that this process made; nil if the service manager passed the socket on.
    var socketFile: FileIdentity?

    private(set) lazy var turns = Turns(store: store, history: history, loop: loop, log: log, host: self)
    private(set) lazy var runner: RunnerLink = RunnerLink(
        configuration, turns: turns, history: history, loop: loop, log: log,
        greeted: { [unowned self] in
            observers.startNext()
            conditions.resumeWithRunner()
            schedules.triggers.startChecks()
        })
    private(set) lazy var executors = ExecutorLinks(
        state: configuration.state, configurationPath: Configuration.path(options), startedAt: startedAt,
        turns: turns, loop: loop, log: log)
    private(set) lazy var composer = LaunchComposer(
        socket: configuration.socket, logs: logs, logCap: configuration.logLimit, store: store, history: history,
        authorization: authorization)
    private(set) lazy var performer = EffectPerformer(
        socket: configuration.socket, turns: turns, store: store, composer: composer, runner: runner,
        executors: executors, conditions: conditions, observers: observers, loop: loop, log: log)
    private(set) lazy var conditions = ConditionEvaluator(
        turns: turns, store: store, history: history, composer: composer, helpers: runner.helpers, loop: loop, log: log)
    private(set) lazy var observers = ObserverRunner(
        turns: turns, history: history, composer: composer, runner: runner, loop: loop, log: log,
        configuration: { [unowned self] in configuration },
        graphObserverEnded: { [unowned self] in graphs.ended($0, of: $1) })
    private(set) lazy var graphs: GraphObservation = GraphObservation(
        turns: turns, store: store, history: history, observers: observers, loop: loop, log: log)
    private(set) lazy var schedules = Schedules(
        turns: turns, store: store, history: history, authorization: authorization, helpers: runner.helpers,
        fileWatch: fileWatch, state: configuration.state, loop: loop, log: log,
        removeGraphs: { [unowned self] in retention.remove($0) },
        builder: { [unowned self] in try builder($0, $1, $2) })
    private(set) lazy var publisher = Publisher(loop: loop, log: log, history: history)
    private(set) lazy var retention: Retention = Retention(
        turns: turns, store: store, logs: logs, loop: loop, log: log,
        configuration: { [unowned self] in configuration })
    private(set) lazy var upkeep = Upkeep(turns: turns, store: store, loop: loop, log: log)
    private(set) lazy var idleExit = IdleExit(
        loop: loop, log: log, isIdle: { [unowned self] in isIdle }, stop: { [unowned self] in stop(.keep) })
    private(set) lazy var requests = Requests(
        turns: turns, store: store, history: history, authorization: authorization, runner: runner,
        executors: executors, schedules: schedules, retention: retention, publisher: publisher, logs: logs,
        fileWatch: fileWatch, loop: loop, log: log,
        configuration: { [unowned self] in configuration },
        statusReply: { [unowned self] () throws(StoreError) in try statusReply() },
        builder: { [unowned self] in try builder($0, $1, $2) })
    var server: Server?
    var signals: [SignalSource] = []

    init(
        configuration: Configuration, options: CommandLineOptions, loop: EventLoop, log: DaemonLog, store: Store,
        history: History
    ) throws {
        self.configuration = configuration
        self.options = options
        self.loop = loop
        self.log = log
        self.store = store
        self.history = history
        authorization = Authorization(daemonUser: Identity.uid)
        logs = Logs(state: configuration.state)
        fileWatch = try FileWatch(loop)
        startedAt = Clock.read().wall
        setRecorder()
        try turns.restore()
    }

    /// Begins or ends the record of turns, as the configuration says.
    func setRecorder() {
        if turns.recorder == nil, configuration.record > 0 {
            turns.recorder = TurnRecorder(loop, log, directory: configuration.state + "/record")
        }
        turns.recorder?.keep(configuration.record)
    }

    /// Starts the check of a submission, with the present configuration and runner.
    private func builder(_ input: GraphInput, _ options: SubmissionOptions, _ caller: Caller) throws
        -> SubmissionBuilder
    {
        try SubmissionBuilder(
            input, options, caller, turns: turns, authorization: authorization,
            enforceable: EnforceableLimits(runner.capabilities, rights: runner.rights),
            executors: ExecutorChoice(configuration))
    }
}

extension Daemon: TurnHost {
    func scheduler(of snapshot: consuming Snapshot) -> Scheduler {
        snapshot.privilegedUsers = authorization.privilegedUsers
        snapshot.operationsPerUser = configuration.operationsPerUser
        snapshot.observersOfAll = configuration.observersOfAll
        snapshot.executors = configuration.executorSettings
        if snapshot.operations.count > DaemonLimits.operationsInTheLoop { upkeep.muchWasFreed() }
        let configured = configuration.workerCount
        // The number that a user chose is kept until another one is configured.
        let chosen = snapshot.workers.flatMap { $0.insteadOf == configured ? $0.count : nil }
        let now = Moment.now()
        turns.recorder?.begin(copy snapshot, workers: chosen ?? configured, at: now)
        var core = Scheduler(snapshot, workers: chosen ?? configured, at: now)
        if isDraining {
            let result = core.handle(.setDraining(to: true), at: now)
            turns.recorder?.add(.setDraining(to: true), at: now, result)
        }
        return core
    }

    func publish(_ transition: Transition, answering: () -> Void) {
        let firstNewFollower = publisher.nextNumber
        turns.finished.count(transition.reports)
        schedules.finish.receive(transition.reports)
        graphs.receive(transition.reports)
        answering()
        performer.perform(transition.effects)
        publisher.publish(transition.reports, before: firstNewFollower)
    }

    func revokeStagedLaunches() { runner.revokeStaged() }

    func handleDeferredReports() { runner.handleDeferredReports() }

    func sendReplies() { server?.flush() }

    func sendMessages() {
        runner.flush()
        server?.flush()
    }

    func turnEnded() {
        schedules.setAlarm()
        stopIfDrained()
        upkeep.turnEnded()
        if isActivated, let limit = configuration.exitWhenIdle { idleExit.turnEnded(after: limit) }
        requests.turnEnded()
    }

    func longTurnEnded() { upkeep.longTurnEnded() }

    func storageFailed() {
        notifyStatus()
        // The runner keeps exits until they are acknowledged, and reports them again on the next connection.
        conditions.stopAll()
        runner.flush()
        runner.disconnect()
        executors.disconnect()
    }

    func storageReturned() {
        endWhatExecutes()
        runner.connect()
        executors.connect()
        notifyStatus()
    }

    func fail(_ exchange: Exchange, _ error: any Error) { requests.fail(exchange, error) }
}
