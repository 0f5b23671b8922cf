extension Scheduler {
    // MARK: Becoming ready

    /// Removes one of the reasons for which an operation is pending; without any it becomes ready.
    mutating func unblock(_ operation: OperationIndex) {
        table[operation].waiting -= 1
        if table[operation].waiting == 0, table[operation].state == .pending,
            !table[operation].traits.contains(.finishPending)
        {
            becomeReady(operation)
        }
    }

    /// Adds a reason for which an operation is pending; a ready operation becomes pending again.
    mutating func block(_ operation: OperationIndex) {
        table[operation].waiting += 1
        guard table[operation].state == .ready else { return }
        leaveLane(operation)
        setState(operation, .pending)
        record(.becamePending(table[operation].operationID))
        // Only ready operations age.
        if queues[table[operation].queue].aging != nil { invalidatePriority(of: operation) }
        publish(.edited, operation, old: .ready, new: .pending)
    }

    mutating func becomeReady(_ operation: OperationIndex) {
        setState(operation, .ready)
        registry.dropDependencies(of: operation)
        table[operation].readyAt = now.wall
        record(.becameReady(table[operation].operationID, at: now.wall))
        publish(.ready, operation, old: .pending, new: .ready)
        startAging(operation)
        enterLane(operation)
    }

    // MARK: Lanes

    /// Adds a ready operation to its lane, where it waits for its turn, unless one of its traits makes it ineligible.
    mutating func enterLane(_ operation: OperationIndex) {
        guard table[operation].state == .ready, !table[operation].isLinked,
            table[operation].traits.isDisjoint(with: .ineligible)
        else { return }
        let lane = lane(for: operation)
        let key = table[operation].key
        table[operation].link(to: lane)
        lanes[lane].members.add(key, operation)
        lanes[lane].live += 1
        if table[operation].overtaken == Limits.overtakes { reserve(operation) }
        guard key < lanes[lane].top else { return }
        lanes[lane].top = key
        makeCandidate(lane)
        updateOrder(of: lane)
    }

    /// Removes an operation from its lane. Its number of overtakings stays until it starts or ends, so that an edit does not
    /// make it wait for longer.
    mutating func leaveLane(_ operation: OperationIndex) {
        guard let lane = lane(of: operation) else { return }
        table[operation].unlink()
        clearReservation(of: operation, in: lane)
        stopEvaluating(operation)
        deadlocks.forget(operation)
        lanes[lane].live -= 1
        if lanes[lane].live == 0 {
            // The lane may stay: a stale entry would be mistaken for its next first member.
            lanes[lane].members.removeAll()
            lanes[lane].top = .max
            updateOrder(of: lane)
            dropLane(lane)
        } else {
            refreshTop(of: lane)
        }
    }

    /// Moves a member of a lane whose effective priority has changed. Its old entry becomes stale.
    mutating func moveInLane(_ operation: OperationIndex) {
        guard let lane = lane(of: operation) else { return }
        let key = table[operation].key
        lanes[lane].members.add(key, operation)
        if key < lanes[lane].top {
            lanes[lane].top = key
            makeCandidate(lane)
            updateOrder(of: lane)
        } else {
            refreshTop(of: lane)
        }
    }

    private mutating func refreshTop(of lane: LaneIndex) {
        while let first = lanes[lane].members.first, !isMember(first, of: lane) {
            lanes[lane].members.removeFirst()
        }
        if lanes[lane].members.entries > 64, lanes[lane].members.entries > 2 * Int(lanes[lane].live) {
            let table = table
            lanes[lane].members.sweep { entry in
                let row = table[entry.operation]
                return row.lane == lane && row.key == entry.key
            }
        }
        let top = lanes[lane].members.first?.key ?? .max
        guard top != lanes[lane].top else { return }
        lanes[lane].top = top
        updateOrder(of: lane)
        // It was woken for the member that has left: now another lane may come first.
        if let resource = lanes[lane].wokenBy {
            lanes[lane].wokenBy = nil
            wake(resource)
        }
    }

    func isMember(_ entry: ReadyMembers.Entry, of lane: LaneIndex) -> Bool {
        let row = table.rows[entry.operation.offset]
        return row.lane == lane && row.key == entry.key
    }

    /// Returns the members whose keys are lower than `bound`, in order. A member that left and returned has two valid
    /// entries.
    func members(of lane: LaneIndex, below bound: UInt64) -> [OperationIndex] {
        var entries: [ReadyMembers.Entry] = []
        lanes[lane].members.forEach(below: bound) { if isMember($0, of: lane) { entries.append($0) } }
        entries.sort { $0.key < $1.key }
        var result: [OperationIndex] = []
        result.reserveCapacity(entries.count)
        for entry in entries where result.last != entry.operation { result.append(entry.operation) }
        return result
    }

    private mutating func lane(for operation: OperationIndex) -> LaneIndex {
        let row = table[operation]
        let parent = row.parent
        // Conditions belong to one operation, and the deadlocks that a group may close to one group.
        let isAlone = row.traits.contains(.hasConditions) || row.group != nil && row.categories != nil
        let key = Lane.Key(
            queue: row.queue, parent: parent.map { table[$0].id } ?? 0, categories: row.categories,
            isGroup: row.isGroup, only: isAlone ? row.id : 0,
            executor: row.traits.contains(.external) ? findExecutor(of: operation) : nil,
            account: account(of: operation))
        if let lane = lanes.find(key) { return lane }
        let needs = registry.resolve(categories.needs(of: row.categories), under: parent)
        return lanes.add(
            Lane(
                key: key, group: parent.flatMap { table[$0].group }, needs: needs,
                tickets: [LaneTicket?](repeating: nil, count: needs.count)))
    }

    /// Removes an empty lane, unless it is a plain lane of its queue.
    private mutating func dropLane(_ lane: LaneIndex) {
        unpark(lane)
        let resource = lanes[lane].wokenBy
        lanes[lane].wokenBy = nil
        lanes[lane].status = .idle
        if !lanes[lane].key.isPlain { lanes.remove(lane) }
        if let resource { wake(resource) }
    }
}
