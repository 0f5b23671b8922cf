/// State of the scheduler that others may read between turns.
extension Scheduler {
    public func contains(_ id: OperationID) -> Bool { unfinished(id) != nil }

    public func state(of id: OperationID) -> OperationState? { unfinished(id).map { table[$0].state } }

    public func effectivePriority(of id: OperationID) -> Int? {
        unfinished(id).map { Int(reportedPriority(of: $0)) }
    }

    /// Returns the name of an operation's queue.
    public func queue(of id: OperationID) -> String? {
        unfinished(id).map { queues[table[$0].queue].name }
    }

    /// Returns the policy of an operation; nil for one that the core does not hold.
    public func policy(of id: OperationID) -> Policy? {
        unfinished(id).map { policy(of: $0) ?? Policy() }
    }

    /// Returns the number of an operation's present attempt, or else its next one, within its run, from 1.
    public func attemptInRun(of id: OperationID) -> Int32 {
        guard let operation = unfinished(id) else { return 1 }
        if let index = table[operation].execution { return max(1, executions[index].attemptsInRun) }
        return (runs[operation]?.attempts ?? 0) + 1
    }

    public func isGroup(_ id: OperationID) -> Bool { unfinished(id).map { table[$0].isGroup } ?? false }

    /// Returns whether an attempt is the present one of its operation, and not over.
    public func isExecuting(_ attempt: AttemptID) -> Bool { registry.execution(of: attempt) != nil }

    /// Returns whether the end of an operation is decided, but its processes are not gone yet.
    public func isCancelling(_ id: OperationID) -> Bool {
        guard let index = unfinished(id).flatMap({ table[$0].execution }) else { return false }
        return executions[index].isCancelling
    }

    public struct QueueStanding: Equatable, Sendable {
        public var name: String
        public var limit: Int32?
        public var isSuspended: Bool
        public var aging: TimeSpan?
        public var order: QueueOrder
        public var pending: Int
        public var ready: Int
        public var executing: Int
        /// Held and scheduled operations, which the other members count too.
        public var setApart: SetApart
        public var executor: String?
        public var isFair: Bool
    }

    /// All queues in the order of their names.
    public var queueStandings: [QueueStanding] {
        queues.pool.indices.map { queues[$0] }.map {
            QueueStanding(
                name: $0.name, limit: $0.limit, isSuspended: $0.isSuspended, aging: $0.aging, order: $0.order,
                pending: Int($0.pending), ready: Int($0.ready), executing: Int($0.executing), setApart: $0.setApart,
                executor: $0.executor, isFair: $0.isFair)
        }.sorted { $0.name < $1.name }
    }

    /// Returns the executor of the operations in a queue that name none; nil: the runner.
    public func executor(ofQueue name: String) -> String? { queues.find(name).flatMap { queues[$0].executor } }

    public func hasQueue(_ name: String) -> Bool { queues.find(name) != nil }

    /// Returns the order of a queue; nil if there is no such queue.
    public func order(ofQueue name: String) -> QueueOrder? { queues.find(name).map { queues[$0].order } }

    /// Names of all queues, sorted.
    public var queueNames: [String] { queues.pool.indices.map { queues[$0].name }.sorted() }

    public struct CategoryStanding: Equatable, Sendable {
        public var name: String
        public var capacity: Int32
        /// Operations that hold it; the first ones of more than `Limits.named`.
        public var holders: [OperationID]
        /// Ready operations without room in it, the next first; the first ones of more than `Limits.named`.
        public var waiting: [OperationID]
        public var settings: CategorySettings
        public var units: [UnitStanding]
    }

    /// Categories in the order of their names; if they are very many, those that were set and then those that are held.
    public var categoryStandings: [CategoryStanding] {
        var holders: [CategoryIndex: [OperationID]] = [:]
        for index in executions.indices {
            for need in executions[index].holding {
                holders[need.category, default: []].append(table[executions[index].operation].operationID)
            }
        }
        return listedCategories.map { standing(of: $0, heldBy: holders[$0] ?? []) }.sorted { $0.name < $1.name }
    }

    public func categoryStanding(of name: String) -> CategoryStanding? {
        categories.find(name).map { standing(of: $0, heldBy: registry.holders(of: $0)) }
    }

    /// Names of all categories, in no order.
    public var categoryNames: [String] {
        categories.pool.indices.filter { categories[$0].base == nil }.map { categories[$0].name }
    }

    private func standing(of category: CategoryIndex, heldBy holders: [OperationID]) -> CategoryStanding {
        CategoryStanding(
            name: categories[category].name, capacity: categories[category].room.capacity,
            holders: Array(holders.sorted().prefix(Limits.named)),
            waiting: Array(waiting(for: category).prefix(Limits.named)), settings: categories[category].settings,
            units: unitStandings(of: category))
    }

    public struct Executing: Equatable, Sendable {
        public var id: OperationID
        /// 0 for a group.
        public var attempt: Int32
        /// Nil for a group, and for an operation that waits only for its children.
        public var slot: Int32?
    }

    /// Executing operations in the order of their ids.
    public var executing: [Executing] {
        executions.indices.map { executions[$0] }.map {
            Executing(id: table[$0.operation].operationID, attempt: $0.attempt, slot: $0.slot)
        }.sorted { $0.id < $1.id }
    }

    /// True if operations may start at all: a runner is connected, and starts are neither suspended nor stopped.
    public var mayStart: Bool { capacity.mayStart }

    /// True if a runner that starts operations is connected: then the ends of its attempts up to now are known.
    public var hasRunner: Bool { capacity.runner != nil }

    /// True if work was put off to the next turn.
    public var hasPutOff: Bool { budget.hasPutOff }
    public var counts: Counts { registry.counts }

    /// Returns the attempt of an operation that has processes, with its executor (nil: the runner). Returns nil if it
    /// has none.
    public func process(of id: OperationID) -> (attempt: AttemptID, executor: String?)? {
        guard let index = unfinished(id).flatMap({ table[$0].execution }), !table[executions[index].operation].isGroup,
            !executions[index].isGone
        else { return nil }
        let executor = executions[index].executor
        // The job may wait in the engine.
        if executor != nil, executions[index].process == nil { return nil }
        return (registry.attemptID(index), executor.map { executors[$0].name })
    }
    public var workers: Int32 { capacity.workers }
    /// Number of slots that operations have: groups, for example, execute without one.
    public var slotsUsed: Int32 { capacity.used }
    public var isSuspended: Bool { capacity.isSuspended }

    public var lastSequence: Int64 { output.sequence }
    public var nextOperationID: OperationID { OperationID(output.nextOperation) }
    public var nextGraphID: GraphID { GraphID(output.nextGraph) }

    // MARK: Waiting operations

    func waiting(for category: CategoryIndex) -> [OperationID] {
        var result: [UInt64] = []
        for entry in categories[category].lanes.entries {
            let lane = entry.lane
            let need = lanes[lane].needs[Int(entry.need)]
            let isExhausted = categories[category].rate?.hasRoom(at: now) == false
            guard isExhausted || !categories[category].room.fits(need.mode, need.units) else { continue }
            result += members(of: lane, below: .max).map { table[$0].key }
        }
        return result.sorted().map(OperationRow.id(ofKey:))
    }
}
