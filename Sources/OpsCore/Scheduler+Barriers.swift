/// Barriers: the scheduler blocks and releases the operations that the book of barriers names.
extension Scheduler {
    /// Returns the partition for one more operation of a user; nil: the user is privileged.
    mutating func partition(in queue: QueueIndex, of user: UInt32) -> PartitionIndex? {
        privilegedUsers.contains(user) ? nil : partitions.retain(queue, user)
    }

    /// Puts new operations, the latest of all, behind the barriers before them.
    mutating func joinBarriers(_ places: [OperationIndex]) {
        for place in places {
            let traits = registry.barriers.join(place, in: registry.table)
            guard !traits.isEmpty else { continue }
            table[place].traits.formUnion(traits)
            table[place].waiting += traits == [.behindBarrier, .gathering] ? 2 : 1
        }
    }

    mutating func leaveBarriers(_ place: OperationIndex) {
        for consequence in registry.barriers.leave(place, in: registry.table) {
            switch consequence {
            case .opened(let operation): unblock(operation, .behindBarrier)
            case .gathered(let barrier): unblock(barrier, .gathering)
            case .inherited(let barrier): doubt(barrier)
            }
        }
    }

    mutating func settleBarriers() {
        while let queue = registry.barriers.nextDoubt() { rebuildBarriers(queue) }
    }

    mutating func rebuildAllBarriers() {
        for queue in registry.barriers.recount(in: registry.table) { rebuildBarriers(queue) }
    }

    private mutating func rebuildBarriers(_ queue: QueueIndex) {
        let standings = registry.barriers.rebuild(queue, in: registry.table, registry.partitions)
        for standing in standings {
            set(.behindBarrier, standing.isBehind, of: standing.operation)
            set(.gathering, standing.isGathering, of: standing.operation)
        }
        for standing in standings { doubt(standing.operation) }
    }

    /// Makes one of the reasons to be pending hold or not.
    private mutating func set(_ trait: Traits, _ holds: Bool, of place: OperationIndex) {
        guard table[place].traits.contains(trait) != holds else { return }
        if holds {
            table[place].traits.insert(trait)
            hold(back: place)
        } else {
            unblock(place, trait)
        }
    }

    private mutating func unblock(_ place: OperationIndex, _ trait: Traits) {
        table[place].traits.remove(trait)
        release(place)
    }
}
