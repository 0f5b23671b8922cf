internal import COpsTransfer
internal import OpsSystem

/// Work on files beside the loop: the threads of all users, and the queues that wait for them.
final class FileWork {
    private struct User {
        let threads: FileThreads
        var queues = 0
    }

    let results: FileResults
    private var users: [FileRights?: User] = [:]
    /// Queues with unfinished jobs.
    private var busy: [ObjectIdentifier: FileQueue] = [:]
    /// Threads that have to be woken at the end of this step of the engine, or of the next one.
    private var unwoken: [FileThreads] = []
    private var isInStep = false

    init() throws(SystemError) { results = try FileResults() }

    /// Returns a new queue for files of a user; nil: of the user of this process.
    func queue(_ rights: FileRights?) throws(SystemError) -> FileQueue {
        var user = if let user = users[rights] { user } else { User(threads: try FileThreads(rights, results)) }
        user.queues += 1
        users[rights] = user
        return FileQueue(self, rights, user.threads)
    }

    /// Ends the threads of a user with the last queue.
    func leave(_ rights: FileRights?) {
        guard var user = users[rights] else { return }
        user.queues -= 1
        users[rights] = user.queues > 0 ? user : nil
        if user.queues == 0 { user.threads.close() }
    }

    /// Calls `body`, then wakes threads for the jobs that were added.
    func collect<T, E: Error>(_ body: () throws(E) -> T) throws(E) -> T {
        isInStep = true
        defer {
            isInStep = false
            let threads = unwoken
            unwoken = []
            for one in threads { one.wake() }
        }
        return try body()
    }

    func added(_ queue: FileQueue, isNew: Bool) {
        busy[ObjectIdentifier(queue.jobs)] = queue
        guard isNew else { return }
        queue.threads.add(queue.jobs)
        guard !unwoken.contains(where: { $0 === queue.threads }) else { return }
        if unwoken.isEmpty { wakeLoop() }
        unwoken.append(queue.threads)
    }

    func ended(_ queue: FileQueue) { busy[ObjectIdentifier(queue.jobs)] = nil }

    /// Makes the engine do a step, unless it is in one.
    func wakeLoop() {
        if !isInStep { ops_wake(results.event.rawValue) }
    }

    var isBusy: Bool { !busy.isEmpty }

    /// Drops all handlers. Threads still end the jobs that have begun.
    func abandon() {
        let queues = busy
        busy = [:]
        for queue in queues.values { queue.removeHandlers() }
    }

    func handleResults() {
        for jobs in results.take() { busy[ObjectIdentifier(jobs)]?.handleResults() }
    }
}
