internal import OpsCore
internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Connection to one executor other than the runner: commands out, reports in. While it is down, operations of this
/// executor stay ready, and attempts in flight continue.
final class ExecutorLink {
    private let configuration: ExecutorConfiguration
    private let turns: Turns
    private let loop: EventLoop
    private let log: DaemonLog
    private let socketPath: String
    private let starter: ProgramStarter
    private lazy var connection = ExecutorConnection(
        loop, handle: { [unowned self] in self.handle($0) }, ended: { [unowned self] in self.handleEnd($0) })
    private lazy var retry = Alarm(loop, log) { [unowned self] in if self.isWanted { self.connect() } }
    private var delay = ExecutorLink.firstDelay
    private(set) var isWanted = false
    /// Updates of attempts, kept until the greeting has listed their states.
    private var updates: [AttemptID: OperationUpdate] = [:]
    /// Error that was logged last; empty after a greeting.
    private var lastError = ""

    /// Instant of the greeting of this connection; nil: it has not come yet.
    private var greetedAt: MonotonicInstant?
    /// True if the executor has greeted and takes attempts.
    private(set) var isConnected = false
    /// Instant of the last change of the connection.
    private(set) var since: WallInstant

    private static let firstDelay = TimeSpan.milliseconds(20)
    private static let longestDelay = TimeSpan.seconds(10)

    var name: String { configuration.name }
    var isBuiltIn: Bool { configuration.isBuiltIn }
    var forgetsAttempts: Bool { configuration.kind == .transfer }

    /// `configurationPath`: of opsd.conf.
    init(
        _ configuration: ExecutorConfiguration, state: String, configurationPath: String, turns: Turns, loop: EventLoop,
        log: DaemonLog
    ) {
        self.configuration = configuration
        self.turns = turns
        self.loop = loop
        self.log = log
        socketPath = "\(state)/\(LaunchProtocol.socketName(executor: configuration.name))"
        since = Clock.read().wall
        starter = ProgramStarter(
            configuration.kind?.program ?? "", at: configuration.program,
            arguments: [
                "--state", state, "--name", configuration.name, "--config", configurationPath,
            ])
    }

    func isFor(_ other: ExecutorConfiguration) -> Bool { configuration == other }

    // MARK: Connecting

    /// Connects now, or as soon as the program listens. Does nothing during an outage, in which reports would be lost: the
    /// greeting after it lists all attempts.
    func connect() {
        if turns.outage != nil { return }
        isWanted = true
        guard !connection.isOpen else { return }
        do throws(SystemError) {
            try connection.open(try UnixSocket.connect(to: socketPath, nonBlocking: true))
            send(.hello(version: LaunchProtocol.version))
            flush()
        } catch {
            start()
            connectLater()
        }
    }

    /// Starts the program. If it is missing, the executor stays unconnected.
    private func start() {
        do throws(SystemError) {
            try starter.startIfNeeded()
        } catch {
            logOnce("executor \(name) is not connected: \(error)")
        }
    }

    /// Logs why the executor does not greet, unless that was logged last and it has not greeted since.
    private func logOnce(_ text: String) {
        if text != lastError { log.warning(text) }
        lastError = text
    }

    private func connectLater() {
        retry.set(after: delay)
        delay = min(delay * 2, Self.longestDelay)
    }

    func disconnect() {
        isWanted = false
        drop()
    }

    /// Disconnects from an executor that is no longer configured, or whose configuration has changed.
    func end() {
        stopOwn()
        let wasConnected = isConnected
        disconnect()
        if wasConnected { turns.record(.external(name, .runnerLost)) }
    }

    private func drop() {
        connection.close()
        updates = [:]
        greetedAt = nil
        setConnected(false)
    }

    private func setConnected(_ now: Bool) {
        if isConnected != now { since = Clock.read().wall }
        isConnected = now
    }

    private func handleEnd(_ error: (any Error)?) {
        guard let error else { return handleLoss("it closed the connection") }
        handleFault("\(error)")
    }

    /// Handles a connection that cannot be used, although the executor keeps it open.
    private func handleFault(_ why: String) {
        if !isConnected { logOnce("executor \(name) lost: \(why)") }
        handleLoss(why)
    }

    private func handleLoss(_ why: String) {
        let wasConnected = isConnected
        // The delay grows for an executor that repeats a report which opsd does not understand after each greeting.
        if let greetedAt, Clock.read().monotonic - greetedAt > Self.longestDelay { delay = Self.firstDelay }
        drop()
        if wasConnected {
            log.warning("executor \(name) lost: \(why)")
            turns.record(.external(name, .runnerLost))
        }
        if isWanted { connectLater() }
    }

    /// Ends the program if opsd has started it.
    func stopOwn() {
        guard isConnected, !starter.isStartedByOthers else { return }
        send(.stop(grace: .zero))
        flush()
    }

    // MARK: Commands

    func send(_ command: ExecutorCommand) { connection.send(command) }

    func send(launch request: LaunchRequest) throws(SystemError) {
        if !connection.sendIfItFits(.launch(request)) {
            throw SystemError("the launch", errno: SystemError.argumentsTooLong)
        }
    }

    func flush() { connection.flush() }

    // MARK: Reports

    private func handle(_ report: ExecutorReport) {
        switch report {
        case .hello(let greeting): greet(greeting)
        case .accepted(let attempt, let job): record(.accepted(attempt, job: job))
        case .launched(let attempt, let process): record(.launched(attempt, process))
        case .refused(let attempt, let cause): record(.refused(attempt, cause))
        case .failed(let attempt, let step, let errno):
            record(.launchFailed(attempt, step: step, errno: errno))
        case .exited(let attempt, let exit, let treeIsGone):
            record(.exited(attempt, exit, treeIsGone: treeIsGone))
        case .gone(let attempt): record(.gone(attempt))
        case .ended(let attempt, let end): record(.ended(attempt, end))
        case .updated(let attempt, let update):
            if isConnected { return record(.updated(attempt, update)) }
            updates[attempt] = update
        // Only the runner stages launches.
        case .stagedStarted, .stagingRevoked, .pong: break
        }
    }

    private func record(_ report: Event) { turns.record(.external(name, report)) }

    private func greet(_ greeting: ExecutorGreeting) {
        guard LaunchProtocol.understands(greeting.version) else {
            return handleFault(
                "it speaks version \(greeting.version) of the protocol, this opsd \(LaunchProtocol.version)")
        }
        greetedAt = Clock.read().monotonic
        lastError = ""
        connection.peerVersion = greeting.version
        log.info("executor \(name) (\(greeting.pid)) knows \(greeting.entries.count) attempts")
        setConnected(!greeting.isEnding)
        var inventory = Inventory(greeting)
        swap(&inventory.updates, &updates)
        record(.runnerConnected(inventory))
    }
}
