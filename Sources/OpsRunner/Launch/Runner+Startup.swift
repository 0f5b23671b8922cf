internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Start of another user's process. The process exists, and its program does not run yet.
///
/// ```
///            launch                      the pipe closes
/// (nothing) -------> starting ---------------------------------> running
///                       |   the pipe tells a failed step
///                       +----------------------------------+
///                       |   5 s pass: SIGKILL              v
///                       +---------> out of time -------> failed
///                                      (its process has ended)
/// ```
///
/// The user of a process that is starting can stop it, or make it open files that answer late or never. So the runner
/// never waits for it: a pipe that the exec closes wakes the loop.
final class Startup {
    let request: LaunchRequest
    let process: StartingProcess
    /// CLOCK_BOOTTIME.
    var deadline: MonotonicInstant
    var isOutOfTime = false
    /// Outcome, which can be read from the pipe only once.
    private var known: Result<Void, SpawnError>?
    private var source: ReadinessSource?

    init(_ request: LaunchRequest, _ process: consuming StartingProcess, deadline: MonotonicInstant) {
        self.request = request
        self.process = process
        self.deadline = deadline
    }

    func watch(in loop: EventLoop, _ changed: @escaping () -> Void) throws(SystemError) {
        source = try loop.watch(process.report.rawValue, for: .readable) { _ in changed() }
    }

    /// Returns `nil` while the outcome is not known, and ends the watch once it is.
    func outcome() -> Result<Void, SpawnError>? {
        if known == nil { known = process.outcome(secrets: request.secrets.map(\.name)) }
        if known != nil {
            source?.cancel()
            source = nil
        }
        return known
    }

    /// Reason why the program of a process that has ended never ran; `nil`: it ran, or a signal ended the process first.
    var failure: SpawnError? {
        if case .failure(let error) = outcome() { return error }
        return isOutOfTime ? .outOfTime : nil
    }

    /// Takes the descriptor out of the loop while it is open.
    deinit { source?.cancel() }
}

extension Runner {
    /// Returns the pid of the new process. One of another user is followed until its program runs.
    func begin(_ spawn: Spawn, for request: LaunchRequest) throws(SpawnError) -> Int32 {
        guard let user = spawn.user, user.uid != Identity.uid else { return try spawn.start() }
        let deadline = Clock.read().monotonic + Spawn.longestStart
        let startup = Startup(request, try spawn.startApart(), deadline: deadline)
        follow(startup)
        return startup.process.pid
    }

    func follow(_ startup: Startup) {
        startups[startup.request.attempt] = startup
        // Without a watch the outcome shows at the end of the process, or at the deadline.
        logErrors {
            try startup.watch(in: loop) { [unowned self, unowned startup] in settle(startup) }
        }
    }

    private func settle(_ startup: Startup) {
        let attempt = startup.request.attempt
        guard startups[attempt] === startup, let record = table[attempt] else { return }
        // A process that has failed or was killed ends by itself, and its end completes the failure.
        guard case .success = startup.outcome(), !startup.isOutOfTime else { return }
        startups[attempt] = nil
        report(.launched(attempt, record.process))
    }

    /// Completes the start of an attempt whose main process has ended. Returns `false` if the process ended before its
    /// program ran; the failure is then reported.
    func completeStartup(of record: AttemptRecord) -> Bool {
        guard let startup = startups.removeValue(forKey: record.attempt) else { return true }
        if let error = startup.failure {
            fail(record, startup.request, error)
            return false
        }
        report(.launched(record.attempt, record.process))
        return true
    }

    private func fail(_ record: AttemptRecord, _ request: LaunchRequest, _ error: SpawnError) {
        releaseNotifySocket(record.notifySocket, slot: record.slot)
        record.notifySocket = nil
        closeLogs(of: record.attempt, hasLeftovers: false)
        logErrors { _ = try outputDirectories.release(record.attempt, hasLeftovers: false) }
        if record.tree == .descendants { descendants.end(record.attempt, main: record.process.pid) }
        // The process ended before its program ran, so it has left no other process.
        if !removeTreeIfEmpty(of: record), case .group(let group) = record.tree { watchLeftovers(in: group) }
        if request.slot >= 0 { staged.block(for: request.attempt) }
        let failed = AttemptRecord(failed: request, error)
        // Another attempt may have its control group by now: no termination of this turn may reach that.
        record.phase = failed.phase
        table[request.attempt] = failed
        for first in failed.reports { report(first) }
    }

    /// Kills the processes whose programs do not run in time.
    func killSlowStarts(now: MonotonicInstant) {
        for startup in startups.values where startup.deadline <= now && !startup.isOutOfTime {
            guard let record = table[startup.request.attempt] else { continue }
            // A frozen process cannot go on: it gets more time.
            if record.isFrozen {
                startup.deadline = now + Spawn.longestStart
                continue
            }
            settle(startup)
            guard startups[startup.request.attempt] === startup else { continue }
            startup.isOutOfTime = true
            record.killAt = now
        }
    }
}
