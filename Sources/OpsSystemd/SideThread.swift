internal import COpsSpawn
internal import Glibc
public import OpsSystem
internal import Synchronization

/// A thread beside the loop, for what would hold it up: it does one job after the other, and what each comes to is told
/// in the loop.
///
/// Nothing is shared but the mailbox: a job has what it was given to itself until it gives it back with its result.
/// The thread ends, after its last job, when this object does.
public final class SideThread {
    private let mailbox: Mailbox
    private var source: ReadinessSource?
    /// What is told of the jobs that are under way, in their order.
    private var tellings: [() -> Void] = []

    public init(_ loop: EventLoop) throws(SystemError) {
        mailbox = try Mailbox()
        try mailbox.startThread()
        source = try loop.watch(mailbox.done.rawValue, for: .readable) { [unowned self] _ in self.tellWhatIsDone() }
    }

    deinit {
        source?.cancel()
        mailbox.close()
    }

    /// Does `job` on the thread, after those before it, then `tell` in the loop.
    public func run<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value, then tell: @escaping (Value) -> Void
    ) {
        let result = Result<Value>()
        tellings.append { if let value = result.take() { tell(value) } }
        mailbox.add { result.put(job()) }
    }

    private func tellWhatIsDone() {
        let count = mailbox.takeDone()
        let due = tellings.prefix(count)
        tellings.removeFirst(due.count)
        for tell in due { tell() }
    }

    /// What one job came to, on its way.
    private final class Result<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)

        func put(_ value: Value) { self.value.withLock { $0 = value } }

        func take() -> Value? {
            value.withLock { value in
                let taken = value
                value = nil
                return taken
            }
        }
    }
}

/// Jobs one way, and how many are done the other way. An eventfd wakes each side.
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

    /// The thread keeps the mailbox alive, as long as it runs.
    func startThread() throws(SystemError) {
        let this = unsafe Unmanaged.passRetained(self)
        do throws(SystemError) {
            try retrying("start a thread") {
                unsafe ops_start_thread(
                    { context in
                        if let context = unsafe context {
                            unsafe Unmanaged<Mailbox>.fromOpaque(context).takeRetainedValue().work()
                        }
                        return nil
                    }, this.toOpaque())
            }
        } catch {
            unsafe this.release()
            throw error
        }
    }

    // MARK: The loop's side

    func add(_ job: @escaping @Sendable () -> Void) {
        content.withLock { $0.jobs.append(job) }
        wake(wanted)
    }

    func close() {
        content.withLock { $0.isClosed = true }
        wake(wanted)
    }

    func takeDone() -> Int {
        drain(done)
        return content.withLock { content in
            let count = content.done
            content.done = 0
            return count
        }
    }

    // MARK: The thread's side

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

    /// Takes the count away; on the thread's side it sleeps until there is one.
    private func drain(_ event: borrowing Descriptor) {
        var count: UInt64 = 0
        let descriptor = event.rawValue
        while unsafe read(descriptor, &count, 8) < 0 && errno == EINTR {}
    }
}
