internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// Executor that hands operations to Slurm as jobs, tasks of arrays, or parts of jobs. It may die at any moment: what it has
/// to know of an attempt stands in the spool before Slurm can see the effect.
///
/// Users can delay the commands of Slurm, which run with their rights, and calls for their files in the spool. So each
/// user has a thread for commands and one for files; everything else is done in the loop.
@main final class SlurmExecutor: ExecutorProgram {
    static let kind = "slurm"

    let server: ExecutorServer
    let loop: EventLoop
    let engine: SlurmEngine
    /// Threads for files of users in the spool.
    let spoolThreads: UserThreads
    let removal: SpoolRemoval
    /// Part of the comments of all jobs. It is kept as long as the state directory.
    let instance: String
    var configuration = SlurmSettings()
    /// Attempts that opsd has not acknowledged.
    var table: [AttemptID: SlurmAttempt] = [:]
    /// Attempts that opsd wants to be ended and that are not in the table: Slurm may have jobs of them.
    var unknown: Set<AttemptID> = []
    /// Launches and records of all attempts; nil until they have been read.
    var journal: RecordJournal?
    /// Directories of attempts that were acknowledged in this turn.
    var removed: [SpoolPaths] = []
    var listings = ListingRounds()
    /// Problems of users with the latest listing of their jobs.
    var listingProblems: [UInt32: ListingProblem] = [:]
    /// Latest listing of the jobs of each user, until the records are read after it.
    var recentListings: [UInt32: RecentListing] = [:]
    /// Users whose records are being read.
    var usersBeingRead: Set<UInt32> = []
    /// Duration of the longest of the last readings.
    var readingTime = TimeSpan.zero
    /// Attempts to submit at the end of the turn.
    var waiting: [SlurmAttempt] = []
    var sharedJobs = SharedJobs()
    private var exitStatus: Int32 = 0

    private var sources: [EventSource] = []
    private var timer: TimerSource<MonotonicInstant>?

    /// Instant for which the timer is armed.
    private var wakesAt = MonotonicInstant.distantFuture
    /// Time between two readings of the records in the spool: short after a release, a start or an end, since more follow.
    private var pause = TimeSpan.zero

    private static let shortestPause = TimeSpan.milliseconds(100)
    private static let longestPause = TimeSpan.seconds(1)
    /// Readings take at most this part of the time.
    private static let readingShare: Int64 = 20
    /// File with the name of this executor in comments of jobs.
    private static func instancePath(_ options: ExecutorOptions) -> String {
        "\(options.state)/executor-\(options.name).instance"
    }
    /// Spool directory, unless opsd.conf names another.
    private var usualSpool: String { "\(server.options.state)/executor-\(server.options.name).spool" }

    var spool: String {
        (configuration.spool.isEmpty ? usualSpool : configuration.spool) + "/\(instance)"
    }

    static func start(_ server: ExecutorServer) throws(SystemError) -> SlurmExecutor {
        let executor = try SlurmExecutor(server)
        try executor.readConfiguration()
        try executor.prepareSpool()
        try executor.recover()
        executor.engine.readLimits()
        try executor.watch()
        return executor
    }

    private init(_ server: ExecutorServer) throws(SystemError) {
        self.server = server
        loop = try EventLoop()
        engine = SlurmEngine(try UserThreads(loop))
        spoolThreads = try UserThreads(loop)
        removal = SpoolRemoval(spoolThreads)
        instance = try Self.instance(at: Self.instancePath(server.options))
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
        configuration = SlurmSettings(try server.options.settings())
    }

    private func watch() throws(SystemError) {
        try server.serve(in: loop) { [unowned self] in obey($0) }
        sources = [
            try loop.watchSignal(Signals.terminate) { [unowned self] in loop.stop() },
            try loop.watchSignal(Signals.interrupt) { [unowned self] in loop.stop() },
        ]
        timer = try loop.timer(.monotonic) { [unowned self] in passTime() }
        loop.endTurn = { [unowned self] in endTurn() }
        // The recovery had no timer.
        wakesAt = .distantFuture
        wake(at: Clock.read().monotonic)
    }

    private func endTurn() {
        var isStored = false
        attempt { () throws(SystemError) in
            try journal?.commit(table.values)
            isStored = true
        }
        // Nothing may follow that the records do not allow for.
        guard isStored else { return }
        clearRemoved()
        // In this order: a listing shows whether the commands before it worked, and submissions may take long.
        sendCommands()
        listIfDue()
        submitWaiting()
        server.flush()
    }

    func run() throws(SystemError) -> Int32 {
        try loop.run()
        return exitStatus
    }

    private func passTime() {
        wakesAt = .distantFuture
        let now = Clock.read()
        if server.isUseless(hasWork: !table.isEmpty, now: now.monotonic) { return loop.stop() }
        for attempt in table.values where !attempt.tracker.hasEnded {
            perform(attempt.tracker.timePassed(now: now), for: attempt)
        }
        let users = Set(table.values.map(\.uid))
        for uid in users { readRecords(of: uid) }
        removal.timePassed(now.monotonic)
        engine.endIdleThreads(except: users)
        spoolThreads.endIdle(except: users)
        pause = min(max(pause * 2, Self.shortestPause, readingTime * Self.readingShare), Self.longestPause)
        readingTime = .zero
        wake(at: Clock.read().monotonic + min(configuration.interval, pause))
    }

    /// Reads the records in the spool often until nothing changes.
    func expectRecords() {
        pause = .zero
        wake(at: Clock.read().monotonic + min(configuration.interval, Self.shortestPause))
    }

    /// Calls `passTime` at an instant, unless it is called before.
    func wake(at instant: MonotonicInstant) {
        guard instant < wakesAt else { return }
        wakesAt = instant
        attempt { () throws(SystemError) in try timer?.arm(at: instant) }
    }

    /// Calls `body`. After an error the process ends: the next one goes on from what is stored.
    func attempt(_ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            stopForRestart()
        }
    }

    /// Ends this process so that another one follows. A service manager starts a service again only after a failure.
    func stopForRestart() {
        exitStatus = 1
        loop.stop()
    }

    func report(_ report: ExecutorReport) { server.report(report) }
}
