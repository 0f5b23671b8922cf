internal import OpsSystem
internal import OpsSystemd

/// Runs calls for files of users outside the loop, on one thread for each user who has such work: logs, the output of
/// checks for triggers, and the directories that triggers watch.
///
/// A process of the user can hold the lock of such a file for any time, by a write from memory that never arrives (a mapped
/// file of a FUSE mount). A call for that file then waits, and no signal ends it. It delays only further work of this user.
/// So does a directory whose file system does not answer.
final class UserThreads {
    /// Thread of one user, which does one job at a time: those that wait can still be cancelled.
    private struct Line {
        let thread: SideThread
        /// Jobs after the one in progress.
        var waiting: [Job] = []
    }

    private struct Job {
        let owner: ObjectIdentifier
        let start: (SideThread) -> Void
    }

    private let loop: EventLoop
    /// Users with a job in progress.
    private var lines: [UInt32: Line] = [:]

    /// Most jobs of a user that wait. A user whose thread waits could add any number.
    static let mostWaiting = 10_000

    init(_ loop: EventLoop) { self.loop = loop }

    /// Runs `job` on the thread of a user, after the jobs before it, then `handle` in the loop. A thread ends after its last
    /// job. Throws if too many jobs wait, or if no thread can be created: the loop never does the job instead.
    func run<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, for user: UInt32, ownedBy owner: AnyObject,
        then handle: @escaping (Value) -> Void
    ) throws(SystemError) {
        let isIdle = lines[user] == nil
        if isIdle { lines[user] = Line(thread: try SideThread(loop)) }
        guard lines[user]?.waiting.count ?? 0 < Self.mostWaiting else {
            throw SystemError("wait for the files of user \(user)", errno: SystemError.again)
        }
        let start: (SideThread) -> Void = { [unowned self] thread in
            thread.run(job) { [unowned self] value in
                handle(value)
                startNext(of: user)
            }
        }
        lines[user]?.waiting.append(Job(owner: ObjectIdentifier(owner), start: start))
        if isIdle { startNext(of: user) }
    }

    /// Removes the waiting jobs of an owner. The result of one in progress is still handled.
    func cancel(for user: UInt32, ownedBy owner: AnyObject) {
        lines[user]?.waiting.removeAll { $0.owner == ObjectIdentifier(owner) }
    }

    private func startNext(of user: UInt32) {
        guard let line = lines[user] else { return }
        guard let job = line.waiting.first else {
            lines[user] = nil
            return
        }
        lines[user]?.waiting.removeFirst()
        job.start(line.thread)
    }
}
