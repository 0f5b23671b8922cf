internal import OpsSystem
internal import OpsSystemd

/// Threads for work that a user can delay: one for each user who has work, so that none waits for another user.
final class UserThreads {
    private let loop: EventLoop
    /// Thread of this process's own user. It also does the work of users without a thread, if none can be started.
    private let own: SideThread
    private var threads: [UInt32: SideThread] = [:]
    /// Number of unfinished jobs of each user who has some.
    private var unfinished: [UInt32: Int] = [:]

    init(_ loop: EventLoop) throws(SystemError) {
        self.loop = loop
        own = try SideThread(loop)
    }

    /// True while a job is unfinished.
    var isBusy: Bool { !unfinished.isEmpty }

    /// Runs `job` on the thread of a user, after the jobs before it, then `handle` in the loop.
    func run<Value: Sendable>(
        for uid: UInt32, _ job: @escaping @Sendable () -> Value, then handle: @escaping (Value) -> Void
    ) {
        unfinished[uid, default: 0] += 1
        thread(of: uid).run(job) { [unowned self] (value: Value) in
            let left = (unfinished[uid] ?? 1) - 1
            unfinished[uid] = left > 0 ? left : nil
            handle(value)
        }
    }

    private func thread(of uid: UInt32) -> SideThread {
        if let known = threads[uid] { return known }
        var thread = own
        if uid != Identity.uid {
            do throws(SystemError) {
                thread = try SideThread(loop)
            } catch {
                Program.writeError("opsd-slurm: \(error)")
            }
        }
        threads[uid] = thread
        return thread
    }

    /// Ends the threads without work, except those of some users.
    func endIdle(except users: Set<UInt32>) {
        threads = threads.filter { unfinished[$0.key] != nil || users.contains($0.key) }
    }
}
