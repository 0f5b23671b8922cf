public import OpsExecutor
public import OpsSystem
public import OpsSystemd

/// Lock and socket of an executor in the state directory, and the connection of opsd to it.
public final class ExecutorServer {
    public let options: ExecutorOptions
    public let boot: String
    private let program: String
    private let isService: Bool
    private let lock: FileLock
    private let listener: Descriptor
    private var source: EventSource?
    private var connection: OpsdConnection?
    private var idleSince: MonotonicInstant?

    /// Time without work and without opsd after which a process that is not a service exits.
    private static let idleLimit = TimeSpan.seconds(30)

    /// Locks the files of the executor and listens; nil: another process has the lock.
    init?(_ options: ExecutorOptions, program: String, isService: Bool) throws(SystemError) {
        guard let lock = try FileLock.acquire(options.lockPath) else { return nil }
        self.options = options
        self.program = program
        self.isService = isService
        self.lock = lock
        boot = try Boot.identifier()
        listener = try UnixSocket.listen(at: options.socketPath)
    }

    /// Accepts connections of opsd, and passes each command to `perform`.
    public func serve(in loop: EventLoop, perform: @escaping (ExecutorCommand) -> Void) throws(SystemError) {
        source = try loop.watch(listener.rawValue, for: .readable) { [unowned self, unowned loop] _ in
            accept(in: loop, perform)
        }
    }

    /// Accepts the waiting connections. The newest one replaces those before it.
    private func accept(in loop: EventLoop, _ perform: @escaping (ExecutorCommand) -> Void) {
        do throws(SystemError) {
            while let socket = try UnixSocket.accept(from: listener) {
                let peer = try UnixSocket.peer(of: socket)
                guard peer.uid == Identity.uid || peer.uid == 0 else { continue }
                let next = try OpsdConnection(socket, in: loop) { [unowned self] in receive(perform) }
                connection?.close()
                connection = next
            }
        } catch {
            Program.writeError("\(program): \(error)")
        }
    }

    private func receive(_ perform: (ExecutorCommand) -> Void) {
        guard let current = connection else { return }
        for command in current.receive(by: program) where !current.isClosed { perform(command) }
        if current.isClosed { connection = nil }
    }

    /// Answers the greeting of opsd: updates of attempts, and the states of all known attempts. An opsd of an
    /// incompatible version gets an empty greeting.
    public func greet(
        _ version: UInt16, instance: String, updates: [(AttemptID, OperationUpdate)], entries: [ExecutorGreeting.Entry]
    ) {
        guard let connection else { return }
        let isUnderstood = LaunchProtocol.understands(version)
        connection.version = version
        if isUnderstood {
            for (attempt, update) in updates { connection.send(.updated(attempt, update)) }
        }
        connection.send(
            .hello(
                ExecutorGreeting(
                    version: LaunchProtocol.version, instance: instance, boot: boot, pid: Identity.pid,
                    entries: isUnderstood ? entries : [], release: Release.current.text)))
        guard !isUnderstood else { return }
        connection.flush()
        connection.close()
    }

    /// Sends a report. Without an opsd that has greeted it is dropped: the next greeting tells the same.
    public func report(_ report: ExecutorReport) {
        if connection?.version != nil { connection?.send(report) }
    }

    /// Writes the reports of this turn.
    public func flush() { connection?.flush() }

    /// Returns whether the process is no longer needed: its directory is gone, or there was no work and no opsd for long.
    public func isUseless(hasWork: Bool, now: MonotonicInstant) -> Bool {
        if lock.isLost(at: options.lockPath) { return true }
        guard !isService, connection == nil, !hasWork else {
            idleSince = nil
            return false
        }
        let since = idleSince ?? now
        idleSince = since
        return now - since >= Self.idleLimit
    }
}
