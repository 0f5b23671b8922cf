internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// One task of an array, or a job of several attempts: runs the attempts one after another.
struct JobTask {
    private let spool: String
    private let batch: Batch
    private let attempts: [AttemptID]

    /// Finds the attempts of this task. Slurm gives the number of the task of an array.
    init(spool: String, batch text: String) throws(SystemError) {
        guard let batch = Batch(text) else { throw SystemError("read \(text)", errno: SystemError.invalid) }
        self.spool = spool
        self.batch = batch
        let task = batch.isArray ? Environment["SLURM_ARRAY_TASK_ID"].flatMap { Int($0) } : 0
        attempts = task.map { batch.attempts(ofTask: $0) } ?? []
    }

    /// Returns the exit status for Slurm: that of the command if there is only one. Each attempt has its own record.
    func run() throws(SystemError) -> Int32 {
        var status: Int32 = 0
        for attempt in attempts {
            let paths = SpoolPaths(attempt: attempt, in: spool)
            // opsd may have given up an attempt, and removed it.
            guard Files.isDirectory(paths.run) else { continue }
            // Slurm ends the job. An attempt that has not started runs in another one.
            if Self.hasSIGTERM { break }
            do throws(SystemError) {
                if batch.attempts.count > 1 { try Self.redirectOutput(to: paths.stepLog) }
                var step = try Step(paths, fence: batch.fence, isShared: attempts.count > 1)
                status = try step.run()
                if step.isTerminated { break }
            } catch {
                guard attempts.count > 1 else { throw error }
                Program.writeError("opsd-step: \(attempt.spoolName): \(error)")
            }
        }
        return attempts.count > 1 ? 0 : status
    }

    /// True if SIGTERM waits to be handled. It is blocked from the first attempt on.
    private static var hasSIGTERM: Bool {
        var waiting = sigset_t()
        return sigpending(&waiting) == 0 && sigismember(&waiting, SIGTERM) == 1
    }

    /// Slurm cannot name the directory of each attempt.
    private static func redirectOutput(to path: String) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW
        let number = open(path, flags, 0o600)
        guard number >= 0 else { throw SystemError("open \(path)", errno: errno) }
        let file = Descriptor(owning: number)
        guard dup2(file.rawValue, 1) >= 0, dup2(file.rawValue, 2) >= 0 else {
            throw SystemError("redirect output to \(path)", errno: errno)
        }
    }
}
