/// A barrier starts after everything submitted earlier to its queue has finished, and everything later there
/// waits for it. Groups that hold a barrier are not waited for, nor do its own children wait for it.
extension Scheduler {
    /// New operations, the latest of all, take their places behind and as barriers.
    mutating func joinBarriers(_ places: [OperationIndex]) {
        for place in places {
            let queue = table[place].queue
            let isBarrier = table[place].traits.contains(.barrier)
            if let last = lastBarrier(in: queues[queue].barriers.list[...], outside: place) {
                table[place].traits.insert(.behindBarrier)
                table[place].waiting += 1
                queues[queue].barriers.list[last].behind.append(table[place].id)
            }
            guard isBarrier else {
                queues[queue].barriers.after += 1
                continue
            }
            let above = groups(above: place, in: queue)
            let before = queues[queue].barriers.after - above
            queues[queue].barriers.list.append(
                Barriers.Barrier(place: place, id: table[place].id, before: before))
            queues[queue].barriers.after = above
            if awaited(by: queues[queue].barriers.list[...]) > 0 {
                table[place].traits.insert(.gathering)
                table[place].waiting += 1
            }
        }
    }

    /// How many the last of these barriers waits for: those between it and the one before, and, where that one holds
    /// it and has passed, what a retry has brought back before that.
    func awaited(by list: ArraySlice<Barriers.Barrier>) -> Int32 {
        guard let last = list.last else { return 0 }
        let around = list.dropLast().reversed().prefix { isOpen($0.place, to: last.place) }
        return around.reduce(last.before) { $0 + $1.before }
    }

    /// Whether a barrier holds an operation and has passed: it keeps from it nothing that came before both.
    private func isOpen(_ barrier: OperationIndex, to place: OperationIndex) -> Bool {
        isAncestor(barrier, of: place) && hasPassed(barrier)
    }

    /// How many groups hold a barrier that are in its queue themselves: it does not wait for them, but the next
    /// barrier outside of them does.
    private func groups(above place: OperationIndex, in queue: QueueIndex) -> Int32 {
        table.ancestors(of: place).reduce(0) { count, parent in
            table[parent].queue == queue && !table[parent].traits.contains(.barrier) ? count + 1 : count
        }
    }

    /// What has finished is waited for no more.
    mutating func leaveBarriers(_ place: OperationIndex) {
        let row = table[place]
        guard !queues[row.queue].barriers.isInDoubt else { return }
        guard !queues[row.queue].barriers.list.isEmpty else {
            queues[row.queue].barriers.after -= 1
            return
        }
        var index = queues[row.queue].barriers.next(from: row.id)
        if !row.traits.contains(.barrier) {
            while index < queues[row.queue].barriers.list.count,
                isAncestor(place, of: queues[row.queue].barriers.list[index].place)
            { index += 1 }
        }
        if row.traits.contains(.barrier) {
            let list = queues[row.queue].barriers.list
            let isPlain =
                row.parent == nil && list[index].before == 0 && (index == 0 || !hasPassed(list[index - 1].place))
            // A barrier cancelled while it waited gives what it gathered to the next one: counted anew.
            if isPlain { openBarrier(index, of: row.queue) } else { doubtBarriers(row.queue) }
        } else if index == queues[row.queue].barriers.list.count {
            queues[row.queue].barriers.after -= 1
        } else {
            queues[row.queue].barriers.list[index].before -= 1
            let barrier = queues[row.queue].barriers.list[index].place
            if hasPassed(barrier) {
                // It came back: barriers that this one holds wait for it.
                doubtBarriers(row.queue)
            } else if table[barrier].traits.contains(.gathering),
                awaited(by: queues[row.queue].barriers.list[...index]) == 0
            {
                table[barrier].traits.remove(.gathering)
                release(barrier)
            }
        }
    }

    private mutating func openBarrier(_ index: Int, of queue: QueueIndex) {
        let behind = queues[queue].barriers.list.remove(at: index).behind
        for id in behind {
            guard let place = unfinished(OperationID(id)), table[place].traits.contains(.behindBarrier),
                table[place].queue == queue
            else { continue }
            if let earlier = lastBarrier(in: queues[queue].barriers.list[..<index], outside: place) {
                queues[queue].barriers.list[earlier].behind.append(id)
                doubt(queues[queue].barriers.list[earlier].place)
            } else {
                table[place].traits.remove(.behindBarrier)
                release(place)
            }
        }
    }

    // MARK: Counting anew

    mutating func doubtBarriers(_ queue: QueueIndex) {
        guard !queues[queue].barriers.isInDoubt else { return }
        queues[queue].barriers.isInDoubt = true
        doubtfulQueues.append(queue)
    }

    mutating func settleBarriers() {
        while let queue = doubtfulQueues.popLast() { rebuildBarriers(queue) }
    }

    mutating func rebuildAllBarriers() {
        for queue in Array(queues.pool.indices) {
            queues[queue].barriers = Barriers()
            queues[queue].barriers.after = Int32(queues[queue].unfinished)
        }
        var found: [QueueIndex] = []
        for place in table.indices where table[place].traits.contains(.barrier) && table[place].state != .finished {
            if !found.contains(table[place].queue) { found.append(table[place].queue) }
        }
        for queue in found { rebuildBarriers(queue) }
    }

    mutating func rebuildBarriers(_ queue: QueueIndex) {
        var barriers = Barriers()
        let members = table.indices.filter { table[$0].queue == queue && table[$0].state != .finished }
            .sorted { table[$0].id < table[$1].id }
        for place in members {
            let row = table[place]
            // What has started in this run has passed the barriers before it.
            let waits = row.state != .executing && row.traits.isDisjoint(with: [.ending, .hasStarted])
            let last = waits ? lastBarrier(in: barriers.list[...], outside: place) : nil
            if let last { barriers.list[last].behind.append(row.id) }
            set(.behindBarrier, last != nil, of: place)
            guard row.traits.contains(.barrier) else {
                set(.gathering, false, of: place)
                barriers.after += 1
                continue
            }
            let above = groups(above: place, in: queue)
            let before = barriers.after - above
            barriers.list.append(Barriers.Barrier(place: place, id: row.id, before: before))
            barriers.after = above
            set(.gathering, waits && awaited(by: barriers.list[...]) > 0, of: place)
        }
        queues[queue].barriers = barriers
        for place in members { doubt(place) }
    }

    /// Makes one of the reasons to be pending hold or not.
    private mutating func set(_ trait: Traits, _ holds: Bool, of place: OperationIndex) {
        guard table[place].traits.contains(trait) != holds else { return }
        if holds {
            table[place].traits.insert(trait)
            hold(back: place)
        } else {
            table[place].traits.remove(trait)
            release(place)
        }
    }

    // MARK: Looking

    /// The barrier that keeps an operation pending.
    func barrier(before place: OperationIndex) -> OperationIndex? {
        guard table[place].traits.contains(.behindBarrier) else { return nil }
        let barriers = queues[table[place].queue].barriers
        let earlier = barriers.list[..<barriers.next(from: table[place].id)]
        return lastBarrier(in: earlier, outside: place).map { barriers.list[$0].place }
    }

    /// Which of these an operation is behind: the last that does not hold it. What holds it may have passed another
    /// that has come back since.
    private func lastBarrier(in list: ArraySlice<Barriers.Barrier>, outside place: OperationIndex) -> Int? {
        list.lastIndex { !isAncestor($0.place, of: place) }
    }

    /// What a barrier waits for, in the order of ids.
    func gathered(by place: OperationIndex) -> [OperationIndex] {
        guard table[place].traits.contains(.gathering) else { return [] }
        let row = table[place]
        let barriers = queues[row.queue].barriers
        let last = barriers.list[..<barriers.next(from: row.id)].last { !isOpen($0.place, to: place) }
        return table.indices.filter { other in
            let id = table[other].id
            guard table[other].queue == row.queue, id < row.id, table[other].state != .finished,
                !isAncestor(other, of: place)
            else { return false }
            guard let last, id <= last.id else { return true }
            return !table[other].traits.contains(.barrier) && isAncestor(other, of: last.place)
        }.sorted { table[$0].id < table[$1].id }
    }

    /// What came back before a barrier that executes: that one waits for it no more, but what is behind it does.
    private func cameBack(before barrier: OperationIndex, of place: OperationIndex) -> [OperationIndex] {
        let list = queues[table[barrier].queue].barriers.list
        let index = list.firstIndex { $0.place == barrier } ?? 0
        guard hasPassed(barrier), index > 0 || list[index].before > 0 else { return [] }
        return table.indices.filter { other in
            let row = table[other]
            return row.queue == table[barrier].queue && row.id < table[barrier].id && row.state != .finished
                && (row.traits.contains(.barrier) || table[place].traits.contains(.barrier))
                && !isAncestor(other, of: place)
        }.sorted { table[$0].id < table[$1].id }
    }

    /// A barrier waits for what is before it until it has started in this run.
    private func hasPassed(_ barrier: OperationIndex) -> Bool {
        table[barrier].state == .executing || table[barrier].traits.contains(.hasStarted)
    }

    func barrierReasons(_ place: OperationIndex) -> [OperationID] {
        let before = barrier(before: place).map { cameBack(before: $0, of: place) + [$0] } ?? []
        return (before + gathered(by: place)).map { table[$0].operationID }
    }

    func barrierWaits(of place: OperationIndex) -> [WaitNode] {
        let before =
            barrier(before: place).map {
                cameBack(before: $0, of: place) + [$0] + barriers(above: $0, notAbove: place)
            } ?? []
        return (before + gathered(by: place)).map { .end($0) }
    }

    /// The highest effective priority of what a barrier, or its being one, keeps waiting for an operation.
    func barrierClaim(on place: OperationIndex) -> Int8 {
        keptByBarriers(of: place).reduce(.min) { max($0, table[$1].effective) }
    }

    /// What a barrier, or its being one, keeps waiting for an operation.
    func keptByBarriers(of place: OperationIndex) -> [OperationIndex] {
        let row = table[place]
        let list = queues[row.queue].barriers.list
        var kept: [OperationIndex] = []
        var index = queues[row.queue].barriers.next(from: row.id)
        while index < list.count {
            let barrier = list[index].place
            index += 1
            let isInside = barrier == place || isAncestor(place, of: barrier)
            if !isInside, table[barrier].state == .pending { kept.append(barrier) }
            // What is behind a barrier that this one holds, or that has passed it, waits for both.
            if row.traits.contains(.barrier), isInside || hasPassed(barrier) {
                for id in list[index - 1].behind {
                    guard let other = unfinished(OperationID(id)), self.barrier(before: other) == barrier,
                        !isAncestor(place, of: other)
                    else { continue }
                    kept.append(other)
                }
            }
            guard isInside || hasPassed(barrier) else { break }
        }
        return kept
    }

    /// The barriers that hold a barrier: what comes after it waits for them in turn, unless it is held by them too.
    private func barriers(above barrier: OperationIndex, notAbove place: OperationIndex) -> [OperationIndex] {
        table.ancestors(of: barrier).filter { parent in
            table[parent].traits.contains(.barrier) && table[parent].queue == table[barrier].queue
                && parent != place && !isAncestor(parent, of: place)
        }
    }

    /// What a new child of `parent` would wait for in a queue because of barriers.
    func newcomerWaits(in queue: QueueIndex, isBarrier: Bool, under parent: OperationIndex) -> [WaitNode] {
        func holds(_ place: OperationIndex) -> Bool { place == parent || isAncestor(place, of: parent) }
        var result: [WaitNode] = []
        if let last = queues[queue].barriers.list.last(where: { !holds($0.place) })?.place {
            result.append(.end(last))
            result += barriers(above: last, notAbove: parent).map { .end($0) }
        }
        guard isBarrier else { return result }
        for place in table.indices where table[place].queue == queue && table[place].state != .finished && !holds(place)
        {
            result.append(.end(place))
        }
        return result
    }
}
