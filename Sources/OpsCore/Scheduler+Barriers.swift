/// Barriers: the scheduler blocks and releases the operations that the book of barriers names.
extension Scheduler {

    /// Puts new operations, the latest of all, behind the barriers before them.
    mutating func joinBarriers(_ operations: [OperationIndex]) {
        for operation in operations where !registry.barriers.joinUnordered(table[operation]) {
            let traits = registry.barriers.join(operation, in: registry.table)
            guard !traits.isEmpty else { continue }
            table[operation].traits.formUnion(traits)
            table[operation].waiting += traits == [.behindBarrier, .gathering] ? 2 : 1
        }
    }

    mutating func leaveBarriers(_ operation: OperationIndex) {
        if registry.barriers.leaveUnordered(table[operation]) { return }
        for consequence in registry.barriers.leave(operation, in: registry.table) {
            switch consequence {
            case .opened(let operation): clear(.behindBarrier, of: operation)
            case .gathered(let barrier): clear(.gathering, of: barrier)
            case .inherited(let barrier): invalidatePriority(of: barrier)
            }
        }
    }

    mutating func recountBarriers() {
        while let queue = registry.barriers.popQueueToRecount() { rebuildBarriers(queue) }
    }

    mutating func rebuildAllBarriers() {
        for queue in registry.barriers.recount(in: registry.table) { rebuildBarriers(queue) }
    }

    private mutating func rebuildBarriers(_ queue: QueueIndex) {
        let standings = registry.barriers.rebuild(queue, in: registry.table, registry.partitions)
        for standing in standings {
            set(.behindBarrier, to: standing.isBehind, of: standing.operation)
            set(.gathering, to: standing.isGathering, of: standing.operation)
        }
        for standing in standings { invalidatePriority(of: standing.operation) }
    }

    /// Adds or removes one of the reasons for which an operation is pending.
    private mutating func set(_ trait: Traits, to isSet: Bool, of operation: OperationIndex) {
        guard table[operation].traits.contains(trait) != isSet else { return }
        if isSet {
            table[operation].traits.insert(trait)
            block(operation)
        } else {
            clear(trait, of: operation)
        }
    }

    private mutating func clear(_ trait: Traits, of operation: OperationIndex) {
        table[operation].traits.remove(trait)
        unblock(operation)
    }
}
