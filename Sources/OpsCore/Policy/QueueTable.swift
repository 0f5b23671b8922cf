/// A queue with its settings, counts and parked lanes.
struct Queue: Codable {
    var name: String
    var limit: Int32?
    var aging: TimeSpan?
    var isSuspended = false
    /// Executor of operations that name none; nil: the runner.
    var executor: String?
    /// The caller of `submit` estimates the paths of operations of a queue of longest paths.
    var order = QueueOrder.submission
    /// True if, among operations of equal effective priority, those of the submitter with the least slot time start
    /// first.
    var isFair = false
    var pending: Int32 = 0
    var ready: Int32 = 0
    var executing: Int32 = 0
    /// Held and scheduled operations, which the other members count too.
    var setApart = SetApart()
    /// Number of executing processes: the limit bounds these.
    var running: Int32 = 0
    /// Lanes that wait for room here.
    var parked = ParkedLanes()
    var parkedCount = 0

    var unfinished: Int { Int(pending) + Int(ready) + Int(executing) }
    func hasRoom(forGroup isGroup: Bool) -> Bool {
        if isSuspended { return false }
        guard let limit, !isGroup else { return true }
        return running < limit
    }
}

/// All queues; `default` and `main` are always there.
struct QueueTable: Codable {
    private(set) var pool = Pool<Queue, QueueIndex>()
    private var index: [String: QueueIndex] = [:]

    subscript(queue: QueueIndex) -> Queue {
        @inline(__always) _read { yield pool[queue] }
        @inline(__always) _modify { yield &pool[queue] }
    }

    func find(_ name: String) -> QueueIndex? { index[name] }

    mutating func add(_ queue: Queue) -> QueueIndex {
        let new = pool.insert(queue)
        index[queue.name] = new
        return new
    }

    mutating func remove(_ queue: QueueIndex) {
        index[pool[queue].name] = nil
        pool.remove(queue)
    }
}
