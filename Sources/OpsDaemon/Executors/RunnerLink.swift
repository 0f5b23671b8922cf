internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Connection to opsd-runner: sends commands, receives reports. While it is down nothing starts, and running operations
/// continue.
final class RunnerLink {
    let turns: Turns
    let history: History
    private let loop: EventLoop
    let log: DaemonLog
    private let socketPath: String
    /// Socket of opsd, which processes get in their environment.
    private let opsdSocket: String
    private let greeted: () -> Void
    private let starter: ProgramStarter
    private lazy var connection = ExecutorConnection(
        loop,
        // Part of a report shows that the runner answers, too.
        received: { [unowned self] in if self.isConnected { self.pulse.recordReport() } },
        handle: { [unowned self] in self.handle($0) },
        ended: { [unowned self] in self.handleLoss($0.map { "\($0)" } ?? "it closed the connection") })
    private lazy var retry = Alarm(loop, log) { [unowned self] in self.connectIfWanted() }
    private var delay = RunnerLink.firstDelay
    private var isWanted = false
    /// Error that was logged last; empty after a greeting.
    private var lastError = ""
    /// Updates of attempts, kept until the greeting has listed their states.
    private var updates: [AttemptID: OperationUpdate] = [:]
    /// One token for each staged launch: the side that consumes it decides whether the launch starts.
    private var tokens: Tokens?
    /// Staged launches that the runner has not reported, and the number of their tokens that opsd has consumed.
    private var staged: [AttemptID] = []
    private var revokedTokens = 0
    /// True while staged launches are revoked: reports that concern no attempt wait.
    private var isRevoking = false
    private var deferredReports: [ExecutorReport] = []

    /// Process id of the runner that has greeted the daemon.
    private(set) var pid: Int32?
    private var isEnding = false
    private var instance: String?
    /// Capabilities of the runner on this machine; nil until a runner has greeted the daemon.
    private(set) var capabilities: ExecutorCapabilities?
    /// Rights of the runner to raise limits and priorities of operations; nil while unknown.
    private(set) var rights: ProcessRights?
    /// True if the runner supports staged launches. An older one does not, and opsd sets OPS_SLOT.
    private(set) var acceptsStaging = false
    /// The runner that was asked to upgrade itself to the installed program; it is asked once.
    private var renewed: String?

    /// Monitors whether the runner answers.
    private(set) lazy var pulse = RunnerPulse(
        loop, log,
        isNeeded: { [unowned self] in self.answersPings && self.hasProcesses },
        ping: { [unowned self] in
            self.send(.ping)
            self.flush()
        },
        giveUp: { [unowned self] in if self.isConnected { self.handleLoss("it does not answer") } })
    /// True if a runner has greeted the daemon that supports pings.
    private(set) var answersPings = false
    /// Pid of the runner that greeted the daemon last.
    private(set) var lastPid: Int32?

    private static let firstDelay = TimeSpan.milliseconds(2)
    private static let longestDelay = TimeSpan.seconds(1)

    /// `greeted` is called when a runner has greeted that starts operations.
    init(
        _ configuration: Configuration, turns: Turns, history: History, loop: EventLoop, log: DaemonLog,
        greeted: @escaping () -> Void
    ) {
        self.turns = turns
        self.history = history
        self.loop = loop
        self.log = log
        self.greeted = greeted
        socketPath = "\(configuration.state)/\(LaunchProtocol.socketName())"
        opsdSocket = configuration.socket
        starter = ProgramStarter(
            "opsd-runner", at: configuration.runner, arguments: ["--state", configuration.state, "--detach"])
    }

    /// Helper processes, which the runner starts too.
    private(set) lazy var helpers = HelperProcesses(
        loop: loop, log: log, runner: self, socket: opsdSocket, wakeUp: { [turns] in turns.wakeUp() })

    /// True if the runner has processes to look after.
    private var hasProcesses: Bool { (turns.core?.counts.executing ?? 0) > 0 || !helpers.isIdle }

    /// True if a runner is connected that starts operations.
    var isConnected: Bool { pid != nil && !isEnding }

    // MARK: Connecting

    /// Connects now, or as soon as a runner listens.
    func connect() {
        isWanted = true
        guard !connection.isOpen else { return }
        pulse.recordQuestion()
        do throws(SystemError) {
            let connected = try UnixSocket.connect(to: socketPath, nonBlocking: true)
            let shared = try Tokens()
            var hello: [UInt8] = []
            ExecutorCommand.hello(version: LaunchProtocol.version).append(to: &hello, for: connection.peerVersion)
            // The empty buffer of a new connection takes the whole greeting or nothing.
            guard case .moved = try connected.write(hello[...], passing: shared.descriptor) else {
                throw SystemError("greet the runner", errno: SystemError.invalid)
            }
            try connection.open(consume connected)
            tokens = consume shared
        } catch {
            // No runner listens, as usual at a first start, or it could not be greeted.
            do throws(SystemError) {
                try starter.startIfNeeded()
            } catch {
                logOnce("\(error)") { log.error("cannot start opsd-runner: \(error)") }
                delay = Self.longestDelay
            }
            connectLater()
        }
    }

    private func connectLater() {
        retry.set(after: delay)
        delay = min(delay * 2, Self.longestDelay)
    }

    private func connectIfWanted() { if isWanted { connect() } }

    /// Closes the connection; the runner keeps its reports for the next one.
    func disconnect() {
        isWanted = false
        drop()
    }

    private func drop() {
        connection.close()
        updates = [:]
        pid = nil
        answersPings = false
        tokens = nil
        staged = []
        revokedTokens = 0
    }

    /// Calls `write` to log an error, unless that was logged last and the runner has not greeted since.
    private func logOnce(_ error: String, _ write: () -> Void) {
        if error != lastError { write() }
        lastError = error
    }

    /// Handles a lost connection or an invalid message: informs the scheduler, and connects again.
    private func handleLoss(_ why: String) {
        logOnce(why) {
            log.write(
                .warning, "runner lost: \(why)", [(name: "MESSAGE_ID", value: JournalWriter.Message.runnerLost)])
        }
        consumeTokens()
        let missing = staged.count - revokedTokens
        drop()
        turns.stagingRevoked(started: missing)
        helpers.runnerLost()
        turns.record(.runnerLost)
        if isWanted { connectLater() }
    }

    /// Ends the runner if opsd has started it and it has no operations left.
    func stopOwn() {
        guard isConnected, !starter.isStartedByOthers else { return }
        send(.stop(grace: .zero))
        flush()
    }

    // MARK: Commands

    /// Queues a command; `flush` sends all of them. Without a connection they are dropped: the scheduler emits them
    /// again after the next inventory.
    func send(_ command: ExecutorCommand) {
        guard connection.isOpen else { return }
        pulse.watch()
        connection.send(command)
    }

    /// Sends a launch; throws the cause of failure if it is larger than the runner accepts.
    func send(launch request: LaunchRequest) throws(SystemError) { try send(bounded: .launch(request)) }

    private func send(bounded command: ExecutorCommand) throws(SystemError) {
        if !connection.sendIfItFits(command) {
            throw SystemError("send a command to the runner", errno: SystemError.argumentsTooLong)
        }
    }

    func flush() { connection.flush() }

    // MARK: Reports

    private func handle(_ report: ExecutorReport) {
        if isRevoking, !report.concernsAttempt { return deferredReports.append(report) }
        switch report {
        case .hello(let greeting): greet(greeting)
        case .stagedStarted(let attempt, let start):
            staged.removeAll { $0 == attempt }
            turns.record(.stagedStarted(attempt, start))
        case .stagingRevoked: turns.record(.revocationConfirmed)
        case .pong, .accepted, .refused, .ended: break
        case .launched(let attempt, let process):
            if attempt.isHelper { return }
            turns.record(.launched(attempt, process))
        case .failed(let attempt, let step, let errno):
            if attempt.isHelper { return helpers.failed(attempt, step: step, errno: errno) }
            turns.record(.launchFailed(attempt, step: step, errno: errno))
        case .exited(let attempt, let exit, let treeIsGone):
            if attempt.isHelper { return helpers.exited(attempt, exit, treeIsGone: treeIsGone) }
            turns.record(.exited(attempt, exit, treeIsGone: treeIsGone))
        case .gone(let attempt):
            if attempt.isHelper { return helpers.gone(attempt) }
            turns.record(.gone(attempt))
        case .updated(let attempt, let update):
            if attempt.isHelper { return }
            if isConnected { return turns.record(.updated(attempt, update)) }
            updates[attempt] = update
        }
    }

    // MARK: Staged launches

    /// Sends a staged launch, with the token that permits it.
    func stage(_ launch: LaunchRequest, after: [AttemptID]) throws(SystemError) {
        guard connection.isOpen else { return }
        // The token counts only after the command was sent.
        try send(bounded: .stage(launch, after: after))
        do throws(SystemError) {
            try tokens?.add()
        } catch {
            return handleLoss("\(error)")
        }
        staged.append(launch.attempt)
    }

    /// Consumes all tokens, and reads the reports of launches that the runner started before. No launch is staged
    /// afterwards.
    func revokeStaged() {
        consumeTokens()
        isRevoking = true
        let end = Clock.read().monotonic + DaemonLimits.revocationPatience
        do {
            try connection.handleReceivedReports()
            while staged.count > revokedTokens {
                let left = (end - Clock.read().monotonic).milliseconds
                guard left > 0 else {
                    throw SystemError("read the launches that the runner has started", errno: SystemError.timedOut)
                }
                try connection.waitForReports(milliseconds: Int32(left))
            }
        } catch {
            handleLoss("\(error)")
        }
        isRevoking = false
        staged = []
        revokedTokens = 0
    }

    /// Tells the runner to drop its staged launches. Their tokens are consumed first, so that it starts none of them
    /// meanwhile; `revokeStaged` has done that already, unless the scheduler revoked them by itself.
    func dropStaged() {
        consumeTokens()
        staged = []
        revokedTokens = 0
        send(.revokeStaged)
    }

    /// Handles the reports that waited until the staged launches were revoked.
    func handleDeferredReports() {
        let late = deferredReports
        deferredReports = []
        for report in late where connection.isOpen { handle(report) }
    }

    private func consumeTokens() {
        do throws(SystemError) {
            while try tokens?.acquire() == true { revokedTokens += 1 }
        } catch {
            log.error("\(error)")
        }
    }

    private func greet(_ greeting: ExecutorGreeting) {
        guard LaunchProtocol.understands(greeting.version) else {
            return handleLoss(
                "it speaks version \(greeting.version) of the protocol, this opsd \(LaunchProtocol.version)")
        }
        // The delay is reset only after a greeting: a runner that accepts connections and closes them is tried at
        // growing intervals.
        delay = Self.firstDelay
        lastError = ""
        pid = greeting.pid
        connection.peerVersion = greeting.version
        lastPid = greeting.pid
        answersPings = greeting.version >= LaunchProtocol.versionWithPings
        if instance != greeting.instance {
            log.info("runner \(greeting.pid) knows \(greeting.entries.count) attempts")
        }
        instance = greeting.instance
        isEnding = greeting.isEnding
        capabilities = greeting.capabilities
        rights = ProcessRights(of: greeting.pid)
        acceptsStaging = greeting.version >= LaunchProtocol.versionWithStaging
        pulse.recordReport()
        helpers.runnerConnected(listing: greeting.entries.filter(\.attempt.isHelper))
        var inventory = Inventory(greeting)
        swap(&inventory.updates, &updates)
        markLeftProcessesGone(in: &inventory)
        turns.record(.runnerConnected(inventory))
        guard !greeting.isEnding else { return log.notice("runner \(greeting.pid) is ending") }
        greeted()
        renewIfOlder(greeting)
    }

    /// Upgrades the runner: it executes the installed program in the same process, with all its children. It
    /// disconnects and greets again.
    private func renewIfOlder(_ greeting: ExecutorGreeting) {
        guard Release.isOlder(Release(greeting.release), than: .current), renewed != greeting.instance else { return }
        renewed = greeting.instance
        let release = greeting.release.isEmpty ? "an older release" : greeting.release
        log.notice("runner \(greeting.pid) is \(release): it is replaced by \(Release.current.text)")
        send(.reexecute)
        turns.wakeUp()
    }
}
