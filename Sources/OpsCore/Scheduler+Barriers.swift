/// A barrier of a privileged user (root, or the daemon's own) starts after everything submitted earlier to its queue
/// has finished, whoever submitted it, and everything later there waits for it. A barrier of another user orders the
/// operations of that user alone: it starts after those submitted earlier to its queue, and those submitted later wait
/// for it. Groups that hold a barrier are not waited for, nor do its own children wait for it.
///
/// So an operation of an ordinary user has two scopes: its queue, for the barriers of privileged users, and its
/// partition, for those of its own user. Each scope counts for itself what its barriers wait for. An operation waits for
/// the last barrier before it in either scope; that one waits for those before it in turn.
enum BarrierScope {
    case queue(QueueIndex)
    case partition(PartitionIndex)
}

extension Scheduler {
    subscript(scope: BarrierScope) -> Barriers {
        _read {
            switch scope {
            case .queue(let queue): yield queues[queue].barriers
            case .partition(let partition): yield partitions[partition].barriers
            }
        }
        _modify {
            switch scope {
            case .queue(let queue): yield &queues[queue].barriers
            case .partition(let partition): yield &partitions[partition].barriers
            }
        }
    }

    /// Returns the partition for one more operation of a user; nil: the user is privileged.
    mutating func partition(in queue: QueueIndex, of user: UInt32) -> PartitionIndex? {
        privilegedUsers.contains(user) ? nil : partitions.retain(queue, user)
    }

    /// The scope that a barrier orders.
    func scope(ofBarrier place: OperationIndex) -> BarrierScope {
        table[place].partition.map { .partition($0) } ?? .queue(table[place].queue)
    }

    func isBarrier(_ place: OperationIndex, in scope: BarrierScope) -> Bool {
        let row = table[place]
        guard row.traits.contains(.barrier) else { return false }
        switch scope {
        case .queue: return row.partition == nil
        case .partition(let partition): return row.partition == partition
        }
    }

    func isMember(_ place: OperationIndex, of scope: BarrierScope) -> Bool {
        switch scope {
        case .queue(let queue): table[place].queue == queue
        case .partition(let partition): table[place].partition == partition
        }
    }

    // MARK: Coming and going

    /// Puts new operations, the latest of all, behind the barriers before them; barriers take their place among these.
    mutating func joinBarriers(_ places: [OperationIndex]) {
        for place in places {
            if let last = lastBarrier(before: place) {
                table[place].traits.insert(.behindBarrier)
                table[place].waiting += 1
                self[last.scope].list[last.index].behind.append(table[place].id)
            }
            count(place)
            if table[place].traits.contains(.barrier), awaited(by: place) > 0 {
                table[place].traits.insert(.gathering)
                table[place].waiting += 1
            }
        }
    }

    /// Counts an operation, the latest so far, in its scopes.
    private mutating func count(_ place: OperationIndex) {
        let row = table[place]
        count(place, in: .queue(row.queue))
        if let partition = row.partition { count(place, in: .partition(partition)) }
    }

    private mutating func count(_ place: OperationIndex, in scope: BarrierScope) {
        guard isBarrier(place, in: scope) else {
            self[scope].after += 1
            return
        }
        let above = groups(above: place, in: scope)
        let before = self[scope].after - above
        self[scope].list.append(Barriers.Barrier(place: place, id: table[place].id, before: before))
        self[scope].after = above
        if case .partition = scope { queues[table[place].queue].ordinaryBarriers += 1 }
    }

    /// How many operations a barrier waits for: those of its scope between the one before and it, and, where that one
    /// holds it and has passed, what a retry has brought back before that.
    private func awaited(by place: OperationIndex) -> Int32 {
        let scope = scope(ofBarrier: place)
        let index = self[scope].next(from: table[place].id)
        return awaited(by: self[scope].list[...index])
    }

    /// The same, for the last of these.
    func awaited(by list: ArraySlice<Barriers.Barrier>) -> Int32 {
        guard let last = list.last else { return 0 }
        let around = list.dropLast().reversed().prefix { isOpen($0.place, to: last.place) }
        return around.reduce(last.before) { $0 + $1.before }
    }

    /// Whether a barrier holds an operation and has passed: it keeps from it nothing that came before both.
    func isOpen(_ barrier: OperationIndex, to place: OperationIndex) -> Bool {
        isAncestor(barrier, of: place) && hasPassed(barrier)
    }

    /// A barrier waits for what is before it until it has started in this run.
    func hasPassed(_ barrier: OperationIndex) -> Bool {
        table[barrier].state == .executing || table[barrier].traits.contains(.hasStarted)
    }

    /// How many groups hold a barrier that are in its scope themselves: it does not wait for them, but the next
    /// barrier outside of them does.
    private func groups(above place: OperationIndex, in scope: BarrierScope) -> Int32 {
        table.ancestors(of: place).reduce(0) { count, parent in
            isMember(parent, of: scope) && !isBarrier(parent, in: scope) ? count + 1 : count
        }
    }

    /// What has finished is waited for no more.
    mutating func leaveBarriers(_ place: OperationIndex) {
        let (queue, partition) = (table[place].queue, table[place].partition)
        guard !queues[queue].barriersAreInDoubt else { return }
        leave(place, .queue(queue))
        guard let partition, !queues[queue].barriersAreInDoubt else { return }
        leave(place, .partition(partition))
    }

    private mutating func leave(_ place: OperationIndex, _ scope: BarrierScope) {
        guard !self[scope].list.isEmpty else {
            self[scope].after -= 1
            return
        }
        let row = table[place]
        let isBarrier = isBarrier(place, in: scope)
        var index = self[scope].next(from: row.id)
        if !isBarrier {
            while index < self[scope].list.count, isAncestor(place, of: self[scope].list[index].place) { index += 1 }
        }
        if isBarrier {
            let list = self[scope].list
            let isPlain =
                row.parent == nil && list[index].before == 0 && (index == 0 || !hasPassed(list[index - 1].place))
            // A barrier cancelled while it waited gives what it gathered to the next one: counted anew.
            if isPlain { openBarrier(index, of: scope) } else { doubtBarriers(row.queue) }
        } else if index == self[scope].list.count {
            self[scope].after -= 1
        } else {
            self[scope].list[index].before -= 1
            let barrier = self[scope].list[index].place
            if hasPassed(barrier) {
                // It came back: barriers that this one holds wait for it.
                doubtBarriers(row.queue)
            } else if table[barrier].traits.contains(.gathering), awaited(by: self[scope].list[...index]) == 0 {
                table[barrier].traits.remove(.gathering)
                release(barrier)
            }
        }
    }

    private mutating func openBarrier(_ index: Int, of scope: BarrierScope) {
        let opened = self[scope].list.remove(at: index)
        let queue = table[opened.place].queue
        if case .partition = scope { queues[queue].ordinaryBarriers -= 1 }
        for id in opened.behind {
            guard let place = unfinished(OperationID(id)), table[place].traits.contains(.behindBarrier),
                table[place].queue == queue
            else { continue }
            if let earlier = lastBarrier(before: place, notAfter: opened.id) {
                self[earlier.scope].list[earlier.index].behind.append(id)
                doubt(self[earlier.scope].list[earlier.index].place)
            } else {
                table[place].traits.remove(.behindBarrier)
                release(place)
            }
        }
    }

    // MARK: Counting anew

    mutating func doubtBarriers(_ queue: QueueIndex) {
        guard !queues[queue].barriersAreInDoubt else { return }
        queues[queue].barriersAreInDoubt = true
        doubtfulQueues.append(queue)
    }

    mutating func settleBarriers() {
        while let queue = doubtfulQueues.popLast() { rebuildBarriers(queue) }
    }

    mutating func rebuildAllBarriers() {
        for queue in Array(queues.pool.indices) {
            resetBarriers(of: queue)
            queues[queue].barriers.after = Int32(queues[queue].unfinished)
        }
        var found: Set<QueueIndex> = []
        for place in table.indices where table[place].state != .finished {
            let row = table[place]
            if let partition = row.partition { partitions[partition].barriers.after += 1 }
            if row.traits.contains(.barrier) { found.insert(row.queue) }
        }
        for queue in found.sorted() { rebuildBarriers(queue) }
    }

    private mutating func resetBarriers(of queue: QueueIndex) {
        queues[queue].barriers = Barriers()
        queues[queue].ordinaryBarriers = 0
        queues[queue].barriersAreInDoubt = false
        for partition in Array(partitions.pool.indices) where partitions[partition].key.queue == queue {
            partitions[partition].barriers = Barriers()
        }
    }

    private mutating func rebuildBarriers(_ queue: QueueIndex) {
        let members = table.indices.filter { table[$0].queue == queue && table[$0].state != .finished }
            .sorted { table[$0].id < table[$1].id }
        resetBarriers(of: queue)
        for place in members { count(place) }
        for place in members {
            let row = table[place]
            // What has started in this run has passed the barriers before it.
            let waits = row.state != .executing && row.traits.isDisjoint(with: [.ending, .hasStarted])
            let last = waits ? lastBarrier(before: place) : nil
            if let last { self[last.scope].list[last.index].behind.append(row.id) }
            set(.behindBarrier, last != nil, of: place)
            set(.gathering, waits && row.traits.contains(.barrier) && awaited(by: place) > 0, of: place)
        }
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
}
