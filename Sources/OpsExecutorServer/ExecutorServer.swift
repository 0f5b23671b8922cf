public import OpsExecutor
public import OpsSystem
public import OpsSystemd

/// Lock and socket of an executor in the state directory, and the connection of opsd to it.
public final class ExecutorServer {
    public let options: ExecutorOptions
    public let boot: String
    private let isService: Bool
    private let lock: FileLock
    private let listener: DaemonListener
    private var connection: DaemonConnection?
    private var idleSince: MonotonicInstant?

    /// Time without work and without opsd after which a process that is not a service exits.
    private static let idleLimit = TimeSpan.seconds(30)

    /// Locks the files of the executor and listens; nil: another process has the lock.
    init?(_ options: ExecutorOptions, program: String, isService: Bool) throws(SystemError) {
        guard let lock = try FileLock.acquire(options.lockPath) else { return nil }
        self.options = options
        self.isService = isService
        self.lock = lock
        boot = try Boot.identifier()
        listener = DaemonListener(try UnixSocket.listen(at: options.socketPath), program: program)
    }

    /// Accepts connections of opsd, each of which replaces the one before it, and passes each command to `perform`.
    public func serve(in loop: EventLoop, perform: @escaping (ExecutorCommand) -> Void) throws(SystemError) {
        try listener.watch(
            in: loop, received: { [unowned self] in receive(perform) },
            accepted: { [unowned self] next in
                connection?.close()
                connection = next
            })
    }

    private func receive(_ perform: (ExecutorCommand) -> Void) {
        guard let current = connection else { return }
        for command in current.receive() where !current.isClosed { perform(command) }
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
        guard isUnderstood else {
            connection.flush()
            return connection.close()
        }
        connection.isGreeted = true
    }

    /// Sends a report. Without an opsd that has greeted it is dropped: the next greeting reports the same state.
    public func report(_ report: ExecutorReport) {
        if let connection, connection.isGreeted { connection.send(report) }
    }

    /// Writes the reports of this turn.
    public func flush() {
        connection?.flush()
        if connection?.isClosed == true { connection = nil }
    }

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
