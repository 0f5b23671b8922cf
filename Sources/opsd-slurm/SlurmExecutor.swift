internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// Executor that hands operations to Slurm, each as one job. It may die at any moment: what it has to know of an attempt
/// stands in the spool before Slurm can see the effect.
///
/// The commands of Slurm run one after the other on a thread of their own; everything else is done in the loop.
final class SlurmExecutor {
    let options: CommandLineOptions
    let loop: EventLoop
    let engine: SlurmEngine
    let removal: SpoolRemoval
    /// Part of the comments of all jobs. It is kept as long as the state directory.
    let instance: String
    let boot: String
    var configuration = ConfigurationFile()
    /// Attempts that opsd has not acknowledged.
    var table: [Attempt: SlurmAttempt] = [:]
    /// Attempts that opsd wants to be ended and that are not in the table: Slurm may have jobs of them.
    var unknown: Set<Attempt> = []
    var connection: OpsdConnection?
    var listings = ListingTimes()
    private(set) var exitStatus: Int32 = 0

    private let isService: Bool
    private let lock: FileLock
    let listener: Descriptor
    private var sources: [EventSource] = []
    private var timer: TimerSource?
    private var idleSince: Int64?

    private static let longestTick: Int64 = 1_000_000_000
    /// Time without work and without opsd after which a process that is not a service exits.
    private static let idleLimit: Int64 = 30_000_000_000

    var spool: String {
        (configuration.spool.isEmpty ? options.usualSpool : configuration.spool) + "/\(instance)"
    }

    /// Locks the executor's files in the state directory; nil: another process uses them.
    static func start(_ options: CommandLineOptions, isService: Bool) throws(SystemError) -> SlurmExecutor? {
        guard let lock = try FileLock.acquire(options.lockPath) else { return nil }
        let executor = try SlurmExecutor(options, lock, isService: isService)
        try executor.readConfiguration()
        try executor.prepareSpool()
        try executor.recover()
        try executor.watch()
        return executor
    }

    private init(_ options: CommandLineOptions, _ lock: consuming FileLock, isService: Bool) throws(SystemError) {
        self.options = options
        self.lock = lock
        self.isService = isService
        loop = try EventLoop()
        engine = SlurmEngine(try SideThread(loop))
        removal = SpoolRemoval(try SideThread(loop))
        instance = try Self.instance(at: options.instancePath)
        boot = try Boot.identifier()
        listener = try UnixSocket.listen(at: options.socketPath)
    }

    private static func instance(at path: String) throws(SystemError) -> String {
        if let bytes = try Files.readIfPresent(path, limit: 100), !bytes.isEmpty {
            return String(decoding: bytes, as: UTF8.self).filter { $0.isHexDigit }
        }
        let name = String(try Randomness.identifier().prefix(16))
        try Files.replace(path, with: Array((name + "\n").utf8), mode: 0o600)
        return name
    }

    func readConfiguration() throws(SystemError) {
        if let path = options.config { configuration = try ConfigurationFile(path: path, executor: options.name) }
    }

    private func watch() throws(SystemError) {
        sources = [
            try loop.watch(listener.rawValue, for: .readable) { [unowned self] _ in acceptOpsd() },
            try loop.watchSignal(Signals.terminate) { [unowned self] in loop.stop() },
            try loop.watchSignal(Signals.interrupt) { [unowned self] in loop.stop() },
        ]
        timer = try loop.timer(.monotonic) { [unowned self] in passTime() }
        loop.endTurn = { [unowned self] in
            releaseJobs()
            connection?.flush()
        }
        try timer?.arm(at: Clock.read().monotonic)
    }

    func run() throws(SystemError) { try loop.run() }

    private func passTime() {
        let now = Clock.read()
        if isUseless(now.monotonic) { return loop.stop() }
        for attempt in table.values where !attempt.tracker.hasEnded {
            readRecords(of: attempt)
            perform(attempt.tracker.timePassed(now: now), for: attempt)
        }
        listIfDue()
        removal.timePassed(now.monotonic)
        attempt { () throws(SystemError) in
            try timer?.arm(at: now.monotonic + min(configuration.interval, Self.longestTick))
        }
    }

    /// Calls `body`. After an error the process ends: the next one goes on from what is stored.
    func attempt(_ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            exitStatus = 1
            loop.stop()
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

    func report(_ report: ExecutorReport) {
        if connection?.version != nil { connection?.send(report) }
    }
}
