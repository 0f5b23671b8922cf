internal import Glibc
internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// Executor that fetches files. One thread and one loop serve all connections; libcurl moves their
/// bytes. Calls on files are made by threads of each user.
///
/// Attempts are kept only in memory, since a transfer can be repeated. After this process was killed, opsd launches the attempts
/// that the next process does not know again, and these resume their partial files.
@main final class TransferExecutor: ExecutorProgram {
    static let kind = "transfer"

    let server: ExecutorServer
    let loop: EventLoop
    let engine: Engine
    let instance: String
    /// Attempts that opsd has not acknowledged.
    var table: [AttemptID: Transfer] = [:]
    /// Number of transfers that have not ended.
    var running: Int { table.values.count { !$0.hasEnded } }
    var users = UserRights()

    private var sources: [EventSource] = []
    private var timer: TimerSource<MonotonicInstant>?

    private static let tick = TimeSpan.seconds(1)
    /// Connections to one host at a time, unless opsd.conf says otherwise; further transfers wait.
    private static let usualConnectionsPerHost = 4
    /// Maximum number of progress reports per second.
    private static let progressReports = 200

    static func start(_ server: ExecutorServer) throws(SystemError) -> TransferExecutor {
        // Files of users get the permissions that the umask of the operation allows; all others have explicit ones.
        _ = umask(0)
        try OpenFiles.raiseLimit()
        let executor = try TransferExecutor(server)
        try executor.watch()
        return executor
    }

    private init(_ server: ExecutorServer) throws(SystemError) {
        self.server = server
        loop = try EventLoop()
        var engineOptions = Engine.Options.fromEnvironment()
        engineOptions.connectionsPerHost = Self.usualConnectionsPerHost
        engine = try Engine(engineOptions)
        instance = try Randomness.identifier()
    }

    private func watch() throws(SystemError) {
        try server.serve(in: loop) { [unowned self] in perform($0) }
        sources = [
            try loop.watch(engine.descriptor, for: .readable) { [unowned self] _ in moveTransfers() },
            try loop.watchSignal(Signals.terminate) { [unowned self] in stop() },
            try loop.watchSignal(Signals.interrupt) { [unowned self] in stop() },
        ]
        timer = try loop.timer(.monotonic) { [unowned self] in passTime() }
        loop.endTurn = { [unowned self] in server.flush() }
        try timer?.arm(at: Clock.read().monotonic)
    }

    func run() throws(SystemError) -> Int32 {
        try loop.run()
        return 0
    }

    func readConfiguration() {
        do throws(SystemError) {
            let number = try server.options.settings().last {
                ["per-host", "perHost"].contains($0.key) && Int($0.value) != nil
            }
            engine.setConnectionsPerHost(number.flatMap { Int($0.value) } ?? Self.usualConnectionsPerHost)
        } catch {
            Program.writeError("opsd-transfer: \(error)")
        }
    }

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
        let interval = Self.tick * Int64(max(1, running / Self.progressReports))
        for transfer in table.values {
            transfer.endWait(now: now)
            transfer.reportProgress(now: now, interval: interval)
        }
        engine.releaseMemory()
        if server.isUseless(hasWork: !table.isEmpty, now: now) { return stop() }
        do throws(SystemError) {
            try timer?.arm(at: now + Self.tick)
        } catch {
            Program.writeError("opsd-transfer: \(error)")
            stop()
        }
    }

    /// Ends the process. Partial files stay, and opsd launches their attempts again.
    func stop() {
        for transfer in table.values { transfer.close() }
        do throws(SystemError) {
            try engine.finishFileWork(within: Transfer.longestClose)
        } catch {
            Program.writeError("opsd-transfer: \(error)")
        }
        table = [:]
        server.flush()
        loop.stop()
    }

    func report(_ report: ExecutorReport) {
        // Such an attempt has not begun: opsd does not acknowledge its end.
        if case .failed(let attempt, _, _) = report { table[attempt] = nil }
        server.report(report)
    }
}
