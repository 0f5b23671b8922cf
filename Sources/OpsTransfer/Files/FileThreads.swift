internal import COpsTransfer
internal import OpsSystem
internal import Synchronization

/// Threads for calls on the files of one user, which may block: a file system that does not answer stalls the transfers of
/// this user alone. Each thread has the rights of the user from its start to its end.
final class FileThreads: Sendable {
    private struct Content {
        /// Queues with jobs that no thread has taken.
        var ready: [FileJobs] = []
        var threads = 0
        /// Number of threads that sleep.
        var idle = 0
        var isClosed = false
    }

    /// Maximum number of threads.
    static let limit = 4
    /// Maximum number of queues that a thread takes at once. It does a step of each in turn, so that files are written
    /// together, then synced together, and so on: the file system joins syncs that follow each other.
    static let batch = 32
    /// Number of ready queues for which another thread is woken.
    static let share = 8

    private let rights: FileRights?
    private let results: FileResults
    private let content = Mutex(Content())
    private let wanted: Descriptor
    let directories = DirectoryCache()

    init(_ rights: FileRights?, _ results: FileResults) throws(SystemError) {
        self.rights = rights
        self.results = results
        wanted = Descriptor(owning: try retrying("eventfd") { ops_wake_event(1) })
    }

    // MARK: Side of the loop

    func add(_ jobs: FileJobs) { content.withLock { $0.ready.append(jobs) } }

    /// Removes a queue that no thread has taken. Returns false if there is none.
    func remove(_ jobs: FileJobs) -> Bool {
        content.withLock { content in
            guard let index = content.ready.firstIndex(where: { $0 === jobs }) else { return false }
            content.ready.remove(at: index)
            return true
        }
    }

    /// Wakes or starts threads for the queues that are ready.
    func wake() {
        let (woken, started) = content.withLock { content in
            let wanted = (content.ready.count + Self.share - 1) / Self.share
            let woken = min(wanted, content.idle)
            let started = min(wanted - woken, Self.limit - content.threads)
            content.idle -= woken
            content.threads += started
            return (woken, started)
        }
        for _ in 0..<woken { ops_wake(wanted.rawValue) }
        for _ in 0..<started { startThread() }
    }

    private func startThread() {
        do throws(SystemError) {
            try Threads.start { [self] in work() }
        } catch {
            let refused = content.withLock { content in
                content.threads -= 1
                guard content.threads == 0 else { return [] as [FileJobs] }
                defer { content.ready = [] }
                return content.ready
            }
            run(refused, refusal: Failure(.retryable, "\(error)"))
        }
    }

    /// Ends the threads after their last job.
    func close() {
        let count = content.withLock { content in
            content.isClosed = true
            return content.threads
        }
        for _ in 0..<count { ops_wake(wanted.rawValue) }
    }

    // MARK: Side of the threads

    private func work() {
        var refusal: Failure?
        do throws(SystemError) {
            try rights?.keep()
        } catch {
            // Nothing may be done with the rights of the process instead.
            refusal = Failure(error)
        }
        while let batch = nextBatch() {
            if batch.isEmpty { ops_wait_for_wake(wanted.rawValue) } else { run(batch, refusal: refusal) }
        }
    }

    /// Nil: the thread must end. Empty: it must sleep.
    private func nextBatch() -> [FileJobs]? {
        content.withLock { content in
            let batch = Array(content.ready.prefix(Self.batch))
            content.ready.removeFirst(batch.count)
            guard batch.isEmpty else { return batch }
            if content.isClosed { return nil }
            content.idle += 1
            return batch
        }
    }

    private func run(_ batch: [FileJobs], refusal: Failure?) {
        var rest = batch
        while !rest.isEmpty {
            var ended: [FileJobs] = []
            rest = rest.filter { jobs in
                let end = jobs.doStep(refusal: refusal)
                if end.hasEndedJob { ended.append(jobs) }
                return end.hasMore
            }
            results.add(ended)
        }
    }
}

/// Queues in which jobs have ended, on their way to the loop.
final class FileResults: Sendable {
    private let ended = Mutex<[FileJobs]>([])
    /// Readable while there are some.
    let event: Descriptor

    init() throws(SystemError) {
        event = Descriptor(owning: try retrying("eventfd") { ops_wake_event(0) })
    }

    func add(_ more: [FileJobs]) {
        guard !more.isEmpty else { return }
        let isFirst = ended.withLock { ended in
            ended += more
            return ended.count == more.count
        }
        if isFirst { ops_wake(event.rawValue) }
    }

    func take() -> [FileJobs] {
        ops_wait_for_wake(event.rawValue)
        return ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
    }
}
