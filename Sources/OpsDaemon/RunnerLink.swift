internal import OpsCore
internal import OpsLinux
internal import OpsRunner

/// The line to opsd-runner: orders out, facts in. While it is down nothing starts, and what runs goes on.
final class RunnerLink {
    private unowned let daemon: Daemon
    private let starter: RunnerStarter
    private var descriptor: Descriptor?
    private var source: ReadinessSource?
    private lazy var retry = Alarm(daemon) { [unowned self] in self.connectIfWanted() }
    private var reader = FrameReader<RunnerReport>()
    private var output = OutputBuffer()
    private var delay = RunnerLink.firstDelay
    private var isWanted = false
    /// What attempts have said, until the greeting tells how they are.
    private var words: [AttemptID: Notice] = [:]

    /// Of the runner that has greeted us.
    private(set) var pid: Int32?
    private var isEnding = false
    private var instance: String?
    /// What it can do on this machine; nil until one has greeted us.
    private(set) var abilities: RunnerAbilities?
    /// The runner that was asked to become the program that is installed now: once is enough.
    private var renewed: String?

    private static let firstDelay: Int64 = 2_000_000
    private static let longestDelay: Int64 = 1_000_000_000

    init(daemon: Daemon) {
        self.daemon = daemon
        starter = RunnerStarter(state: daemon.configuration.state, runner: daemon.configuration.runner)
    }

    /// A runner is there that starts things.
    var isConnected: Bool { pid != nil && !isEnding }
    private var socketPath: String { "\(daemon.configuration.state)/\(RunnerProtocol.socketName)" }

    // MARK: Connecting

    /// Connects now, or as soon as there is somebody to connect to.
    func connect() {
        isWanted = true
        guard descriptor == nil else { return }
        do throws(SystemError) {
            let connected = try UnixSocket.connect(to: socketPath, nonBlocking: true)
            source = try daemon.loop.watch(connected.rawValue, for: .readable) { [unowned self] readiness in
                self.isReady(readiness)
            }
            descriptor = consume connected
            send(.hello(version: RunnerProtocol.version))
            flush()
        } catch {
            // Nobody listens: the usual case of a first start.
            do throws(SystemError) {
                try starter.startIfNeeded()
            } catch {
                daemon.diary.error("cannot start opsd-runner: \(error)")
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

    /// Lets go of the line; the runner keeps what it has to tell for the next connection.
    func disconnect() {
        isWanted = false
        drop()
    }

    private func drop() {
        source?.cancel()
        source = nil
        descriptor = nil
        reader = FrameReader()
        output = OutputBuffer()
        words = [:]
        pid = nil
    }

    /// The other side is gone, or talks nonsense: tell the scheduler, and look for a runner again.
    private func lose(_ why: String) {
        daemon.diary.write(
            .warning, "runner lost: \(why)", [(name: "MESSAGE_ID", value: JournalWriter.Message.runnerLost)])
        drop()
        daemon.errands.runnerIsGone()
        daemon.record(.runnerLost)
        if isWanted { connectLater() }
    }

    /// Ends a runner of our own making, once there is nothing left for it.
    func stopOwn() {
        guard isConnected, !starter.isStartedByOthers else { return }
        send(.stop(grace: 0))
        flush()
    }

    // MARK: Orders

    /// Orders go out together, at `flush`. Without a connection they are dropped: the scheduler gives them again
    /// when it has seen the inventory.
    func send(_ order: RunnerOrder) {
        guard descriptor != nil else { return }
        output.append { order.append(to: &$0) }
    }

    func flush() {
        guard descriptor != nil, !output.isEmpty else { return }
        do throws(SystemError) {
            while !output.isEmpty {
                switch try descriptor?.write(output.rest) {
                case .moved(let count): output.drop(count)
                case .wouldBlock: return try source?.setInterest([.readable, .writable]) ?? ()
                // What it said last is still to be read; after that comes the end.
                case .ended, nil: output = OutputBuffer()
                }
            }
            try source?.setInterest(.readable)
        } catch {
            lose("\(error)")
        }
    }

    // MARK: Facts

    private func isReady(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        guard descriptor != nil, readiness != .writable else { return }
        do {
            var bytes: [UInt8] = []
            switch try descriptor?.read(atMost: DaemonLimits.readBytes, onto: &bytes) {
            case .moved: reader.append(bytes)
            case .wouldBlock: return
            case .ended, nil: return lose("it closed the connection")
            }
            while descriptor != nil, let report = try reader.next() { take(report) }
        } catch {
            lose("\(error)")
        }
    }

    private func take(_ report: RunnerReport) {
        switch report {
        case .hello(let greeting): greet(greeting)
        case .launched(let attempt, let process):
            if attempt.isErrand { return }
            daemon.record(.launched(AttemptID(attempt), Process(process)))
        case .failed(let attempt, let step, let errno):
            if attempt.isErrand { return daemon.errands.failed(attempt, step: step, errno: errno) }
            daemon.record(.launchFailed(AttemptID(attempt), step: step, errno: errno))
        case .exited(let attempt, let exit, let treeIsGone):
            if attempt.isErrand { return daemon.errands.exited(attempt, exit, treeIsGone: treeIsGone) }
            daemon.record(.exited(AttemptID(attempt), Exit(exit), treeIsGone: treeIsGone))
        case .gone(let attempt):
            if attempt.isErrand { return daemon.errands.gone(attempt) }
            daemon.record(.gone(AttemptID(attempt)))
        case .told(let attempt, let told):
            if attempt.isErrand { return }
            if isConnected { return daemon.record(.told(AttemptID(attempt), Notice(told))) }
            words[AttemptID(attempt)] = Notice(told)
        }
    }

    private func greet(_ greeting: RunnerGreeting) {
        guard RunnerProtocol.understands(greeting.version) else {
            return lose("it speaks version \(greeting.version) of the protocol, this opsd \(RunnerProtocol.version)")
        }
        // Not at the connection: whoever takes it and hangs up is to be asked ever more seldom.
        delay = Self.firstDelay
        pid = greeting.pid
        if instance != greeting.instance {
            daemon.diary.info("runner \(greeting.pid) knows \(greeting.entries.count) attempts")
        }
        instance = greeting.instance
        isEnding = greeting.isEnding
        abilities = greeting.abilities
        daemon.errands.runnerIsHere(knowing: greeting.entries.filter(\.attempt.isErrand))
        var inventory = Inventory(greeting)
        swap(&inventory.words, &words)
        daemon.record(.runnerConnected(inventory))
        guard !greeting.isEnding else { return daemon.diary.notice("runner \(greeting.pid) is ending") }
        daemon.observers.startNext()
        daemon.conditions.goOnWithRunner()
        renewIfOlder(greeting)
    }

    /// After an upgrade of this machine: the runner goes on as the new program, in the same process and with all its
    /// children. It hangs up and greets again.
    private func renewIfOlder(_ greeting: RunnerGreeting) {
        guard Release.isOlder(Release(greeting.release), than: .current), renewed != greeting.instance else { return }
        renewed = greeting.instance
        let release = greeting.release.isEmpty ? "an older release" : greeting.release
        daemon.diary.notice("runner \(greeting.pid) is \(release): asking it to become \(Release.current.text)")
        send(.reexecute)
        daemon.wakeUp()
    }
}
