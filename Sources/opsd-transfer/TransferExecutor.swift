internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// Executor that fetches files. One thread and one loop serve all transfers; libcurl moves their bytes.
///
/// Attempts are kept only in memory, since a transfer can be repeated. After this process was killed, opsd launches the attempts
/// that the next process does not know again, and these resume their partial files.
final class TransferExecutor {
    let options: CommandLineOptions
    let loop: EventLoop
    let engine: Engine
    let instance: String
    let boot: String
    /// Attempts that opsd has not acknowledged.
    var table: [Attempt: Transfer] = [:]
    /// Number of transfers that have not ended.
    var running: Int { table.values.count { !$0.hasEnded } }
    var connection: OpsdConnection?
    var users = UserRights()

    private let isService: Bool
    private let lock: FileLock
    let listener: Descriptor
    private var sources: [EventSource] = []
    private var timer: TimerSource?
    private var idleSince: Int64?

    private static let tick: Int64 = 1_000_000_000
    /// Time without work and without opsd after which a process that is not a service exits.
    private static let idleLimit: Int64 = 30_000_000_000
    /// Maximum number of progress reports per second.
    private static let progressReports = 200

    /// Locks the executor's files in the state directory; nil: another process uses them.
    static func start(_ options: CommandLineOptions, isService: Bool) throws(SystemError) -> TransferExecutor? {
        guard let lock = try FileLock.acquire(options.lockPath) else { return nil }
        let executor = try TransferExecutor(options, lock, isService: isService)
        try executor.watch()
        return executor
    }

    private init(
        _ options: CommandLineOptions, _ lock: consuming FileLock, isService: Bool
    ) throws(SystemError) {
        self.options = options
        self.lock = lock
        self.isService = isService
        loop = try EventLoop()
        var engineOptions = Engine.Options.fromEnvironment()
        engineOptions.connectionsPerHost = ConfigurationFile.usualConnectionsPerHost
        engine = try Engine(engineOptions)
        instance = try Randomness.identifier()
        boot = try Boot.identifier()
        listener = try UnixSocket.listen(at: options.socketPath)
    }

    private func watch() throws(SystemError) {
        sources = [
            try loop.watch(listener.rawValue, for: .readable) { [unowned self] _ in acceptOpsd() },
            try loop.watch(engine.descriptor, for: .readable) { [unowned self] _ in moveTransfers() },
            try loop.watchSignal(Signals.terminate) { [unowned self] in stop() },
            try loop.watchSignal(Signals.interrupt) { [unowned self] in stop() },
        ]
        timer = try loop.timer(.monotonic) { [unowned self] in passTime() }
        loop.endTurn = { [unowned self] in connection?.flush() }
        try timer?.arm(at: Clock.read().monotonic)
    }

    func run() throws(SystemError) { try loop.run() }

    private func moveTransfers() {
        do throws(SystemError) {
            try engine.step()
        } catch {
            Program.writeError("opsd-transfer: \(error)")
            stop()
        }
    }

    /// Restarts transfers whose pause has ended, and reports progress.
    private func passTime() {
        let now = Clock.read().monotonic
        let interval = Int64(max(1, running / Self.progressReports)) * Self.tick
        for transfer in table.values {
            if let due = transfer.due, due <= now { transfer.start() }
            transfer.reportProgress(now: now, interval: interval)
        }
        engine.releaseMemory()
        if isUseless(now) { return stop() }
        do throws(SystemError) {
            try timer?.arm(at: now + Self.tick)
        } catch {
            Program.writeError("opsd-transfer: \(error)")
            stop()
        }
    }

    /// Returns whether this process is no longer needed.
    private func isUseless(_ now: Int64) -> Bool {
        if lock.isLost(at: options.lockPath) { return true }
        guard !isService, connection == nil, table.isEmpty else {
            idleSince = nil
            return false
        }
        let since = idleSince ?? now
        idleSince = since
        return now - since >= Self.idleLimit
    }

    /// Ends the process. Partial files stay, and opsd launches their attempts again.
    func stop() {
        for transfer in table.values { transfer.close() }
        table = [:]
        connection?.flush()
        loop.stop()
    }

    func report(_ report: ExecutorReport) {
        if connection?.version != nil { connection?.send(report) }
    }
}
