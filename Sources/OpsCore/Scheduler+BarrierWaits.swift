/// Questions about barriers: what waits for what because of them.
extension Scheduler {
    /// Whether a barrier orders an operation of its queue that is in this partition; nil: in none.
    private func orders(_ barrier: OperationIndex, _ partition: PartitionIndex?) -> Bool {
        let row = table[barrier]
        return row.traits.contains(.barrier) && (row.partition == nil || row.partition == partition)
    }

    /// Whether one of two operations of a queue is a barrier that orders the other.
    func areOrdered(_ one: OperationIndex, _ other: OperationIndex) -> Bool {
        orders(one, table[other].partition) || orders(other, table[one].partition)
    }

    // MARK: The barrier before an operation

    /// The barrier that keeps an operation pending.
    func barrier(before place: OperationIndex) -> OperationIndex? {
        guard table[place].traits.contains(.behindBarrier) else { return nil }
        return lastBarrier(before: place).map { self[$0.scope].list[$0.index].place }
    }

    /// The barrier that an operation is behind: the last that orders it and does not hold it, up to the one with this
    /// id. A barrier that holds it may have passed another that has come back since.
    func lastBarrier(before place: OperationIndex, notAfter id: Int64 = .max) -> (scope: BarrierScope, index: Int)? {
        let row = table[place]
        return lastBarrier(before: min(row.id, id), row.queue, row.partition) { !isAncestor($0, of: place) }
    }

    private func lastBarrier(
        before id: Int64, _ queue: QueueIndex, _ partition: PartitionIndex?, where isOutside: (OperationIndex) -> Bool
    ) -> (scope: BarrierScope, index: Int)? {
        func last(_ scope: BarrierScope) -> Int? {
            guard !self[scope].list.isEmpty else { return nil }
            return self[scope].list[..<self[scope].next(from: id)].lastIndex { isOutside($0.place) }
        }
        let shared = last(.queue(queue))
        guard let partition, let own = last(.partition(partition)) else {
            return shared.map { (.queue(queue), $0) }
        }
        if let shared, queues[queue].barriers.list[shared].id > partitions[partition].barriers.list[own].id {
            return (.queue(queue), shared)
        }
        return (.partition(partition), own)
    }

    // MARK: What an operation waits for

    /// What a barrier waits for, in the order of ids, but for the barrier before it.
    func gathered(by place: OperationIndex) -> [OperationIndex] {
        guard table[place].traits.contains(.gathering) else { return [] }
        let row = table[place]
        let scope = scope(ofBarrier: place)
        let last = self[scope].list[..<self[scope].next(from: row.id)].last { !isOpen($0.place, to: place) }
        return table.indices.filter { other in
            let id = table[other].id
            guard isMember(other, of: scope), id < row.id, table[other].state != .finished,
                !isAncestor(other, of: place)
            else { return false }
            guard let last, id <= last.id else { return true }
            return !isBarrier(other, in: scope) && isAncestor(other, of: last.place)
        }.sorted { table[$0].id < table[$1].id }
    }

    /// What came back before a barrier that executes: that one waits for it no more, but what is behind it does.
    private func cameBack(before barrier: OperationIndex, of place: OperationIndex) -> [OperationIndex] {
        guard hasPassed(barrier) else { return [] }
        let row = table[barrier]
        let scope = scope(ofBarrier: barrier)
        let index = self[scope].next(from: row.id)
        let isFirst = index == 0 && self[scope].list[index].before == 0
        if isFirst, row.partition == nil || queues[row.queue].barriers.next(from: row.id) == 0 { return [] }
        return table.indices.filter { other in
            table[other].queue == row.queue && table[other].id < row.id && table[other].state != .finished
                && areOrdered(other, place) && !isAncestor(other, of: place)
        }.sorted { table[$0].id < table[$1].id }
    }

    func barrierReasons(_ place: OperationIndex) -> [OperationID] {
        let before = barrier(before: place).map { cameBack(before: $0, of: place) + [$0] } ?? []
        return (before + gathered(by: place)).map { table[$0].operationID }
    }

    func barrierWaits(of place: OperationIndex) -> [WaitNode] {
        let partition = table[place].partition
        let before =
            barrier(before: place).map {
                cameBack(before: $0, of: place) + [$0] + barriers(above: $0, notAbove: place, ordering: partition)
            } ?? []
        return (before + gathered(by: place)).map { .end($0) }
    }

    /// The barriers that hold a barrier: what comes after it waits for those in turn that order it, unless it is held by
    /// them too.
    private func barriers(
        above barrier: OperationIndex, notAbove place: OperationIndex, ordering partition: PartitionIndex?
    ) -> [OperationIndex] {
        table.ancestors(of: barrier).filter { parent in
            table[parent].queue == table[barrier].queue && orders(parent, partition) && parent != place
                && !isAncestor(parent, of: place)
        }
    }

    /// What a new child of `parent` would wait for in a queue because of barriers.
    func newcomerWaits(
        in queue: QueueIndex, isBarrier: Bool, under parent: OperationIndex, of user: UInt32
    ) -> [WaitNode] {
        func holds(_ place: OperationIndex) -> Bool { place == parent || isAncestor(place, of: parent) }
        let isPrivileged = privilegedUsers.contains(user)
        // A user without operations in the queue has no partition there yet, and no barriers either.
        let partition = isPrivileged ? nil : partitions.find(queue, user)
        var result: [WaitNode] = []
        if let last = lastBarrier(before: .max, queue, partition, where: { !holds($0) }) {
            let barrier = self[last.scope].list[last.index].place
            result.append(.end(barrier))
            result += barriers(above: barrier, notAbove: parent, ordering: partition).map { .end($0) }
        }
        guard isBarrier, isPrivileged || partition != nil else { return result }
        for place in table.indices where table[place].queue == queue && table[place].state != .finished && !holds(place)
        {
            if isPrivileged || table[place].partition == partition { result.append(.end(place)) }
        }
        return result
    }

    // MARK: What waits for an operation

    /// The highest effective priority of what a barrier, or its being one, keeps waiting for an operation.
    func barrierClaim(on place: OperationIndex) -> Int8 {
        keptByBarriers(of: place).reduce(.min) { max($0, table[$1].effective) }
    }

    /// What a barrier, or its being one, keeps waiting for an operation.
    func keptByBarriers(of place: OperationIndex) -> [OperationIndex] {
        let row = table[place]
        guard queues[row.queue].hasBarriers else { return [] }
        var kept = kept(by: place, in: .queue(row.queue))
        if let partition = row.partition {
            kept += self.kept(by: place, in: .partition(partition))
        } else if row.traits.contains(.barrier), queues[row.queue].ordinaryBarriers > 0 {
            for partition in partitions.pool.indices where partitions[partition].key.queue == row.queue {
                kept += self.kept(by: place, in: .partition(partition))
            }
        }
        return kept
    }

    private func kept(by place: OperationIndex, in scope: BarrierScope) -> [OperationIndex] {
        let row = table[place]
        var kept: [OperationIndex] = []
        for later in self[scope].list[self[scope].next(from: row.id)...] {
            let barrier = later.place
            let isInside = barrier == place || isAncestor(place, of: barrier)
            if !isInside, table[barrier].state == .pending { kept.append(barrier) }
            // What is behind a barrier that this one holds, or that has passed it, waits for both.
            if row.traits.contains(.barrier), isInside || hasPassed(barrier) {
                for id in later.behind {
                    guard let other = unfinished(OperationID(id)), self.barrier(before: other) == barrier,
                        !isAncestor(place, of: other), orders(place, table[other].partition)
                    else { continue }
                    kept.append(other)
                }
            }
            guard isInside || hasPassed(barrier) else { break }
        }
        return kept
    }
}
