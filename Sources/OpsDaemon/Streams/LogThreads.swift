internal import OpsSystem
internal import OpsSystemd

/// Runs reads of logs outside the loop, on one thread for each user whose logs are being read. The same for the output of
/// checks for triggers.
///
/// A process of the user can hold the lock of its log for any time, by a write from memory that never arrives (a mapped
/// file of a FUSE mount). A read of that log then waits, and no signal ends it. It delays only further reads of logs of
/// this user.
final class LogThreads {
    /// Thread of one user, which does one read at a time: those that wait can still be cancelled.
    private struct Line {
        let thread: SideThread
        /// Reads after the one in progress.
        var waiting: [Read] = []
    }

    private struct Read {
        let reader: ObjectIdentifier
        let start: (SideThread) -> Void
    }

    private let loop: EventLoop
    /// Users with a read in progress.
    private var lines: [UInt32: Line] = [:]

    init(_ loop: EventLoop) { self.loop = loop }

    /// Runs `read` on the thread of a user, after the reads before it, then `handle` in the loop. A thread ends after
    /// its last read. Throws if no thread can be created: the loop never reads instead.
    func run<Value: Sendable>(
        _ read: @escaping @Sendable () -> Value, onLogOf user: UInt32, for reader: AnyObject,
        then handle: @escaping (Value) -> Void
    ) throws(SystemError) {
        let isIdle = lines[user] == nil
        if isIdle { lines[user] = Line(thread: try SideThread(loop)) }
        let start: (SideThread) -> Void = { [unowned self] thread in
            thread.run(read) { [unowned self] value in
                handle(value)
                startNext(of: user)
            }
        }
        lines[user]?.waiting.append(Read(reader: ObjectIdentifier(reader), start: start))
        if isIdle { startNext(of: user) }
    }

    /// Removes the waiting reads of a reader. The result of one in progress is still handled.
    func cancel(onLogOf user: UInt32, for reader: AnyObject) {
        lines[user]?.waiting.removeAll { $0.reader == ObjectIdentifier(reader) }
    }

    private func startNext(of user: UInt32) {
        guard let line = lines[user] else { return }
        guard let read = line.waiting.first else {
            lines[user] = nil
            return
        }
        lines[user]?.waiting.removeFirst()
        read.start(line.thread)
    }
}
