internal import OpsSystem
internal import Synchronization

/// Calls on the files of one transfer, which may block: threads make them in their order, and their results are handled in
/// the loop.
public final class FileQueue {
    let jobs = FileJobs()
    let rights: FileRights?
    let threads: FileThreads
    private let work: FileWork
    /// Handlers for the results of unfinished jobs, in their order.
    private var handlers: [() -> Void] = []

    init(_ work: FileWork, _ rights: FileRights?, _ threads: FileThreads) {
        self.work = work
        self.rights = rights
        self.threads = threads
    }

    deinit { work.leave(rights) }

    /// True while a job has not ended.
    var isBusy: Bool { !handlers.isEmpty }

    /// Calls `job` with the rights of the user, then `handle` in the loop.
    public func run<Value: Sendable>(
        _ job: @escaping @Sendable () throws(Failure) -> Value, then handle: @escaping (Result<Value, Failure>) -> Void
    ) {
        runSteps({ (_: Int) throws(Failure) -> Value? in try job() }, then: handle)
    }

    /// Calls `job` with 0, 1 and so on until it returns a value, then `handle` in the loop. Between two steps of a job come
    /// steps of others.
    func runSteps<Value: Sendable>(
        _ job: @escaping @Sendable (Int) throws(Failure) -> Value?,
        then handle: @escaping (Result<Value, Failure>) -> Void
    ) {
        let result = JobResult<Value>()
        handlers.append { if let value = result.value.withLock({ $0 }) { handle(value) } }
        let isNew = jobs.add { step, refusal in
            do throws(Failure) {
                if let refusal { throw refusal }
                guard let value = try job(step) else { return true }
                result.value.withLock { $0 = .success(value) }
            } catch {
                result.value.withLock { $0 = .failure(error) }
            }
            return false
        }
        work.added(self, isNew: isNew)
    }

    /// Drops all jobs and their handlers, if none of the jobs has begun.
    func drop() -> Bool {
        guard threads.remove(jobs) else { return false }
        jobs.removeAll()
        handlers = []
        work.ended(self)
        return true
    }

    func removeHandlers() { handlers = [] }

    /// Calls the handlers of the jobs that have ended.
    func handleResults() {
        for _ in 0..<jobs.takeEnded() where !handlers.isEmpty { handlers.removeFirst()() }
        if handlers.isEmpty { work.ended(self) }
    }

    private final class JobResult<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, Failure>?>(nil)
    }
}

/// Jobs in one direction, and the number of ended jobs in the other.
final class FileJobs: Sendable {
    /// Does a step of the work, or ends with the refusal. Returns true if more steps follow.
    typealias Job = @Sendable (_ step: Int, _ refusal: Failure?) -> Bool

    private struct Content {
        var jobs: [Job] = []
        /// Next step of the first job.
        var step = 0
        var ended = 0
    }
    private let content = Mutex(Content())

    /// Returns true if there was no other job.
    func add(_ job: @escaping Job) -> Bool {
        content.withLock { content in
            content.jobs.append(job)
            return content.jobs.count == 1
        }
    }

    func removeAll() { content.withLock { $0 = Content() } }

    func takeEnded() -> Int {
        content.withLock { content in
            defer { content.ended = 0 }
            return content.ended
        }
    }

    /// Does the next step of the first job.
    func doStep(refusal: Failure?) -> (hasMore: Bool, hasEndedJob: Bool) {
        let (job, step) = content.withLock { ($0.jobs.first, $0.step) }
        guard let job else { return (false, false) }
        let continues = job(step, refusal)
        return content.withLock { content in
            content.step = continues ? step + 1 : 0
            guard !continues else { return (true, false) }
            content.jobs.removeFirst()
            content.ended += 1
            return (!content.jobs.isEmpty, true)
        }
    }
}
