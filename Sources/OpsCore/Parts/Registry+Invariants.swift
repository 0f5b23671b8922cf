extension Registry {
    /// `rows`: all operations in the order of their ids.
    func checkInvariants(_ rows: [OperationIndex]) -> [String] {
        checkCounts(rows) + checkRunning() + checkCategories() + checkWaiting(rows) + checkGroups(rows)
    }

    /// 1. Every count of states is right, and every id is found at its row.
    private func checkCounts(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var all = Scheduler.Counts()
        var inQueue: [QueueIndex: [OperationState: Int32]] = [:]
        var apart: [QueueIndex: SetApart] = [:]
        for operation in rows {
            let row = table[operation]
            if table.index(of: row.operationID) != operation {
                broken.append("1: \(row.id) is not found where it stands")
            }
            inQueue[row.queue, default: [:]][row.state, default: 0] += 1
            switch row.state {
            case .pending: all.pending += 1
            case .ready: all.ready += 1
            case .executing: all.executing += 1
            case .finished: broken.append("1: \(row.id) has finished and is still there")
            }
            all.setApart.count(row, 1)
            apart[row.queue, default: SetApart()].count(row, 1)
        }
        if all != counts { broken.append("1: counts are \(counts), not \(all)") }
        for queue in queues.pool.indices {
            let (now, counted) = (queues[queue], inQueue[queue] ?? [:])
            if (now.pending, now.ready, now.executing)
                != (counted[.pending] ?? 0, counted[.ready] ?? 0, counted[.executing] ?? 0)
            {
                broken.append("1: queue \(now.name) counts \(now.pending), \(now.ready), \(now.executing)")
            }
            if now.setApart != apart[queue] ?? SetApart() {
                broken.append("1: queue \(now.name) sets apart \(now.setApart)")
            }
        }
        return broken
    }

    /// 2. Queues and groups count exactly the processes that execute in them.
    private func checkRunning() -> [String] {
        var broken: [String] = []
        var inQueue: [QueueIndex: Int32] = [:]
        var inGroup: [GroupIndex: Int32] = [:]
        for index in executions.indices where executions[index].countsForLimits {
            let row = table[executions[index].operation]
            inQueue[row.queue, default: 0] += 1
            if let group = row.parent.flatMap({ table[$0].group }) { inGroup[group, default: 0] += 1 }
        }
        for queue in queues.pool.indices where queues[queue].running != inQueue[queue] ?? 0 {
            broken.append("2: queue \(queues[queue].name) counts \(queues[queue].running) processes")
        }
        for group in groups.indices where groups[group].running != inGroup[group] ?? 0 {
            broken.append("2: group \(table[groups[group].parent].id) counts \(groups[group].running)")
        }
        return broken
    }

    /// 3. Every category counts the shares of its holders, and they can hold it together.
    private func checkCategories() -> [String] {
        var broken: [String] = []
        var taken: [CategoryIndex: CategoryRoom] = [:]
        var units: [CategoryIndex: [UnitIndex: Int32]] = [:]
        for index in executions.indices {
            for assignment in executions[index].assigned {
                for unit in assignment.taken { units[assignment.category, default: [:]][unit, default: 0] += 1 }
            }
            for need in executions[index].holding {
                taken[need.category, default: CategoryRoom(capacity: 0)].acquire(need.mode, units: need.units)
            }
        }
        for category in categories.pool.indices {
            let now = categories[category]
            var room = taken[category] ?? CategoryRoom(capacity: 0)
            room.capacity = now.room.capacity
            room.isSharedScope = now.room.isSharedScope
            room.surplus = now.units?.surplus ?? 0
            if now.room != room {
                broken.append("3: category \(now.name) counts other holders than it has")
            }
            let unconfirmed = executions.indices.count { executions[$0].uncountedRates.contains(category) }
            broken += now.rate?.checkInvariants(unconfirmed: Int32(unconfirmed)) ?? []
            broken += now.units?.checkInvariants(held: units[category] ?? [:]) ?? []
            let kinds = [room.usedUnits > 0, room.sharedHolders > 0, room.exclusiveHolders > 0].filter { $0 }.count
            if kinds > 1 || room.exclusiveHolders > 1 { broken.append("3: category \(now.name) is not exclusive") }
        }
        return broken
    }

    /// 4. An operation is pending exactly while something is outstanding, and that is counted right.
    private func checkWaiting(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        for operation in rows {
            let row = table[operation]
            guard row.state == .pending || row.state == .ready else { continue }
            var outstanding: Int32 = 0
            for edge in graph.dependencies(of: row) {
                if graph[edge].from != operation { broken.append("4: an edge of \(row.id) is another's") }
                if graph[edge].on != nil { outstanding += 1 }
            }
            for trait in [Traits.behindBarrier, .gathering, .groupNotStarted] where row.traits.contains(trait) {
                outstanding += 1
            }
            if outstanding != row.waiting { broken.append("4: \(row.id) counts \(row.waiting), not \(outstanding)") }
            if (row.state == .pending) != (row.waiting > 0) { broken.append("4: \(row.id) is \(row.state)") }
        }
        return broken
    }

    /// 8. A parent counts its unfinished children, and ends with the last.
    private func checkGroups(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var children: [OperationIndex: Int32] = [:]
        for operation in rows { if let parent = parent(of: operation) { children[parent, default: 0] += 1 } }
        for operation in rows {
            guard let group = table[operation].group.map({ groups[$0] }) else { continue }
            if group.unfinished != children[operation] ?? 0 {
                broken.append("8: \(table[operation].id) has lost a child")
            }
            if table[operation].isGroup, table[operation].state == .executing, group.unfinished == 0 {
                broken.append("8: \(table[operation].id) goes on without children")
            }
        }
        return broken
    }
}
