internal import COpsSpawn
internal import Glibc
public import OpsSystem
internal import Synchronization

/// Thread for work that would block the loop. It does one job after the other, and passes the result of each to a handler
/// in the loop.
///
/// Nothing is shared but the mailbox: values that a job gets belong to it until it returns them with its result.
/// The thread ends after its last job, at the end of this object.
public final class SideThread {
    private let mailbox: Mailbox
    private var source: ReadinessSource?
    /// Handlers for the results of unfinished jobs, in their order.
    private var handlers: [() -> Void] = []

    public init(_ loop: EventLoop) throws(SystemError) {
        mailbox = try Mailbox()
        try mailbox.startThread()
        source = try loop.watch(mailbox.done.rawValue, for: .readable) { [unowned self] _ in self.handleResults() }
    }

    deinit {
        source?.cancel()
        mailbox.close()
    }

    /// Runs `job` on the thread, after those before it, then `handle` in the loop.
    public func run<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, then handle: @escaping (Value) -> Void
    ) {
        let result = Result<Value>()
        handlers.append { if let value = result.consume() { handle(value) } }
        mailbox.add { result.put(job()) }
    }

    private func handleResults() {
        let count = mailbox.popDoneCount()
        let due = handlers.prefix(count)
        handlers.removeFirst(due.count)
        for handle in due { handle() }
    }

    /// Result of one job, on its way to the loop.
    private final class Result<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)

        func put(_ value: Value) { self.value.withLock { $0 = value } }

        func consume() -> Value? {
            value.withLock { value in
                let taken = value
                value = nil
                return taken
            }
        }
    }
}

/// Jobs in one direction, and the number of finished jobs in the other. An eventfd wakes each side.
private final class Mailbox: Sendable {
    private struct Content {
        var jobs: [@Sendable () -> Void] = []
        var done = 0
        var isClosed = false
    }

    private let content = Mutex(Content())
    private let wanted: Descriptor
    let done: Descriptor

    init() throws(SystemError) {
        wanted = Descriptor(owning: try retrying("eventfd") { ops_event(0) })
        done = Descriptor(owning: try retrying("eventfd") { ops_event(1) })
    }

    /// Starts the thread, which keeps the mailbox alive as long as it runs.
    func startThread() throws(SystemError) { try Threads.start { [self] in work() } }

    // MARK: Side of the loop

    func add(_ job: @escaping @Sendable () -> Void) {
        content.withLock { $0.jobs.append(job) }
        wake(wanted)
    }

    func close() {
        content.withLock { $0.isClosed = true }
        wake(wanted)
    }

    func popDoneCount() -> Int {
        drain(done)
        return content.withLock { content in
            let count = content.done
            content.done = 0
            return count
        }
    }

    // MARK: Side of the thread

    private func work() {
        while true {
            drain(wanted)
            while let job = nextJob() {
                job()
                content.withLock { $0.done += 1 }
                wake(done)
            }
            if content.withLock({ $0.isClosed }) { return }
        }
    }

    private func nextJob() -> (@Sendable () -> Void)? {
        content.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    }

    // MARK: Waking

    private func wake(_ event: borrowing Descriptor) {
        var one: UInt64 = 1
        let descriptor = event.rawValue
        while unsafe write(descriptor, &one, 8) < 0 && errno == EINTR {}
    }

    /// Resets the count. On the side of the thread it sleeps until there is one.
    private func drain(_ event: borrowing Descriptor) {
        var count: UInt64 = 0
        let descriptor = event.rawValue
        while unsafe read(descriptor, &count, 8) < 0 && errno == EINTR {}
    }
}
