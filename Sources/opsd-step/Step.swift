internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// One attempt on a node: runs the command, passes signals on to its processes, and records its exit once all have ended.
struct Step {
    private static let signals: [Int32] = [
        SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGALRM, SIGURG, SIGXCPU, SIGCHLD,
    ]

    /// Longest time until a request about an attempt of several is read, if the signal that comes with it is lost.
    private static let pollInterval = TimeSpan.seconds(1)

    private let paths: SpoolPaths
    private let fence: Int
    /// True if other attempts run in this job.
    private let isShared: Bool
    private let request: LaunchRequest
    /// The last request that was obeyed.
    private var obeyed = StepRequest()
    private var main: Int32 = 0
    private var end: EndedChild?
    /// True once SIGTERM of Slurm was passed on.
    private(set) var isTerminated = false
    /// Instant at which leftover processes are killed; nil: never.
    private var killAt: MonotonicInstant?

    init(_ paths: SpoolPaths, fence: Int, isShared: Bool) throws(SystemError) {
        self.paths = paths
        self.fence = fence
        self.isShared = isShared
        // The executor's own copy is for its user alone.
        let copy = try Files.readIfPresent(paths.launchOfJob, limit: 64 << 20)
        do {
            guard let found = try SpooledLaunch.request(try copy ?? Files.read(paths.launch, limit: 64 << 20)) else {
                throw SystemError("read \(paths.launch)", errno: SystemError.invalid)
            }
            request = found
        } catch let error as SystemError {
            throw error
        } catch {
            throw SystemError("read \(paths.launch): \(error)", errno: SystemError.invalid)
        }
    }

    /// Returns the exit status for Slurm.
    mutating func run() throws(SystemError) -> Int32 {
        var waited = Self.set(Self.signals)
        guard sigprocmask(SIG_BLOCK, &waited, nil) == 0 else { throw SystemError("block signals", errno: errno) }
        let start = StartRecord(node: Environment["SLURMD_NODENAME"] ?? "", job: Self.job, at: Clock.read().wall)
        guard try Fence.pass(fence, paths, start) else {
            Program.writeError("opsd-step: this attempt has started before; it is not started again")
            return StartRecord.refusedStatus
        }
        try Children.adoptOrphans()
        do throws(SpawnError) {
            main = try CommandLaunch.spawn(request, paths).start()
        } catch {
            return try refuse(error)
        }
        if isShared { try obeyRequest() }
        while try !collect() { try wait(for: &waited) }
        return try writeExit()
    }

    /// Number of the job, or of the task of an array, which has a number of its own besides.
    private static var job: String {
        if let array = Environment["SLURM_ARRAY_JOB_ID"], let task = Environment["SLURM_ARRAY_TASK_ID"] {
            return "\(array)_\(task)"
        }
        return Environment["SLURM_JOB_ID"] ?? ""
    }

    private static func set(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }

    /// Records a command that could not be started. Slurm gets the exit status of a shell.
    private func refuse(_ error: SpawnError) throws(SystemError) -> Int32 {
        let failure = SpawnError(step: request.subject(of: error), errno: error.errno)
        Program.writeError("opsd-step: cannot start: \(failure)")
        let code: Int32 = error.errno == SpawnError.noSuchFile ? 127 : 126
        var record = ExitRecord(status: .code(code), at: Clock.read().wall)
        record.startFailure = failure
        try Files.replace(paths.exit, with: record.bytes, mode: 0o600)
        return code
    }

    /// Collects processes that have ended. Returns true once none is left.
    private mutating func collect() throws(SystemError) -> Bool {
        while let child = try Children.collectEnded() {
            guard child.pid == main else { continue }
            end = child
            if request.leftovers == .kill {
                try Self.signal(Signals.terminate)
                killRest(after: request.grace)
            }
        }
        guard end != nil else { return false }
        return try Children.all().isEmpty
    }

    /// Sets the instant at which the processes that are left are killed. A later call may shorten their time, but not
    /// lengthen it.
    private mutating func killRest(after grace: TimeSpan) {
        killAt = min(killAt ?? .distantFuture, Clock.read().monotonic.clampedSum(grace))
    }

    /// Waits for the next signal, and passes it on.
    private mutating func wait(for signals: inout sigset_t) throws(SystemError) {
        let longest = isShared ? Self.pollInterval : .seconds(3600)
        let left = min(max((killAt ?? .distantFuture) - Clock.read().monotonic, .zero), longest)
        var timeout = timespec(tv_sec: Int(left.seconds), tv_nsec: Int(left.nanoseconds % 1_000_000_000))
        let number = sigtimedwait(&signals, nil, &timeout)
        if isShared, number != SIGCHLD { try obeyRequest() }
        // SIGURG comes with a request.
        if number > 0, number != SIGCHLD, !isShared || number != SIGURG {
            // The step itself must not stop: it says when the command ends.
            try Self.signal(number == SIGTSTP ? Signals.stop : number)
            if number == Signals.terminate {
                isTerminated = true
                try Self.signal(Signals.resume)
            }
        }
        // Also after a signal: each orphan that ends causes one, so that there may be no wait without.
        if let killAt, killAt <= Clock.read().monotonic {
            try Self.signal(Signals.kill)
            // Processes that fork meanwhile are found by the next round.
            self.killAt = Clock.read().monotonic + .milliseconds(100)
        }
    }

    /// Obeys what is new in the request of the executor about this attempt.
    private mutating func obeyRequest() throws(SystemError) {
        // A spool that cannot be read for a while is no reason to give up the command. The next poll reads it again.
        guard let bytes = try? Files.readIfPresent(paths.request, limit: 4096) else { return }
        let new = StepRequest(bytes)
        guard new != obeyed else { return }
        let old = obeyed
        obeyed = new
        if new.signalledAt != old.signalledAt, let number = new.signal { try Self.signal(number) }
        if new.isFrozen != old.isFrozen { try Self.signal(new.isFrozen ? Signals.stop : Signals.resume) }
        guard let grace = new.grace, grace != old.grace else { return }
        try Self.signal(Signals.terminate)
        try Self.signal(Signals.resume)
        killRest(after: grace)
    }

    /// Sends a signal to all descendants: orphans among them are children of this process.
    private static func signal(_ number: Int32) throws(SystemError) {
        let all = try ProcessRecord.all()
        var family: Set<Int32> = [Identity.pid]
        var grows = true
        while grows {
            let more = all.filter { family.contains($0.parent) && !family.contains($0.pid) }
            grows = !more.isEmpty
            for process in more { family.insert(process.pid) }
        }
        for process in all where process.pid != Identity.pid && family.contains(process.pid) && !process.hasEnded {
            _ = try Signals.send(number, to: process)
        }
    }

    /// Records the exit of the command at the end of its last process, which is the end of the attempt.
    private func writeExit() throws(SystemError) -> Int32 {
        guard let end else { return StartRecord.refusedStatus }
        let record = ExitRecord(status: end.status, usage: end.usage, at: Clock.read().wall)
        try Files.replace(paths.exit, with: record.bytes, mode: 0o600)
        switch end.status {
        case .code(let code): return code
        case .signal(let number): return 128 + number
        }
    }
}
