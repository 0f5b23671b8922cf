/// What is true between any two turns, whatever came before. The numbers are those of docs/ARCHITECTURE.md.
extension Scheduler {
    /// What does not hold, in words; empty when all is well. Looks at everything: for tests.
    public func checkInvariants() -> [String] {
        let rows = table.indicesByID
        return checkCounts(rows) + checkRoom() + checkCategories() + checkWaiting(rows) + checkLanes(rows)
            + checkNothingIdles() + checkPriorities(rows) + checkFamilies(rows) + checkBarriers(rows)
            + checkScratch(rows)
            + checkHand(rows)
    }

    /// 1. Every count of states is what counting gives, and every id is found where it stands.
    private func checkCounts(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var all = Counts()
        var inQueue: [QueueIndex: [OperationState: Int32]] = [:]
        for place in rows {
            let row = table[place]
            if table.index(of: row.operationID) != place { broken.append("1: \(row.id) is not found where it stands") }
            inQueue[row.queue, default: [:]][row.state, default: 0] += 1
            switch row.state {
            case .pending: all.pending += 1
            case .ready: all.ready += 1
            case .executing: all.executing += 1
            case .finished: broken.append("1: \(row.id) has finished and is still there")
            }
        }
        if all != counts { broken.append("1: counts are \(counts), not \(all)") }
        for queue in queues.pool.indices {
            let (now, counted) = (queues[queue], inQueue[queue] ?? [:])
            if (now.pending, now.ready, now.executing)
                != (counted[.pending] ?? 0, counted[.ready] ?? 0, counted[.executing] ?? 0)
            {
                broken.append("1: queue \(now.name) counts \(now.pending), \(now.ready), \(now.executing)")
            }
        }
        return broken
    }

    /// 2. No slot is shared, and pool, queues and groups count exactly the processes that execute in them.
    private func checkRoom() -> [String] {
        var broken: [String] = []
        var taken: Set<Int32> = []
        var inQueue: [QueueIndex: Int32] = [:]
        var inFamily: [FamilyIndex: Int32] = [:]
        for index in executions.indices {
            guard let slot = executions[index].slot else { continue }
            let row = table[executions[index].operation]
            if !taken.insert(slot).inserted { broken.append("2: slot \(slot) is shared by \(row.id)") }
            inQueue[row.queue, default: 0] += 1
            if let family = row.parent.flatMap({ table[$0].family }) { inFamily[family, default: 0] += 1 }
        }
        if Int(slots.used) != taken.count { broken.append("2: \(slots.used) slots used, \(taken.count) held") }
        for queue in queues.pool.indices where queues[queue].running != inQueue[queue] ?? 0 {
            broken.append("2: queue \(queues[queue].name) counts \(queues[queue].running) processes")
        }
        for family in families.indices where families[family].running != inFamily[family] ?? 0 {
            broken.append("2: the group \(table[families[family].parent].id) counts \(families[family].running)")
        }
        return broken
    }

    /// 3. What is taken of a category is what its holders took, and they can hold it together.
    private func checkCategories() -> [String] {
        var broken: [String] = []
        var taken: [CategoryIndex: Category] = [:]
        for index in executions.indices {
            for need in executions[index].holding {
                taken[need.category, default: Category(name: "", capacity: 0)].take(need.mode, need.units)
            }
        }
        for category in categories.pool.indices {
            let (now, held) = (categories[category], taken[category] ?? Category(name: "", capacity: 0))
            if (now.usedUnits, now.sharedHolders, now.exclusiveHolders)
                != (held.usedUnits, held.sharedHolders, held.exclusiveHolders)
            {
                broken.append("3: category \(now.name) counts other holders than it has")
            }
            let kinds = [now.usedUnits > 0, now.sharedHolders > 0, now.exclusiveHolders > 0].filter { $0 }.count
            if kinds > 1 || now.exclusiveHolders > 1 { broken.append("3: category \(now.name) is not exclusive") }
        }
        return broken
    }

    /// 4. An operation is pending exactly while something is outstanding, and that is counted right.
    private func checkWaiting(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        for place in rows {
            let row = table[place]
            guard row.state == .pending || row.state == .ready else { continue }
            var outstanding: Int32 = 0
            for edge in graph.dependencies(of: row) {
                if graph[edge].from != place { broken.append("4: an edge of \(row.id) is another's") }
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

    /// 5. What is eligible stands in exactly one lane, its own, and every lane knows its first member.
    private func checkLanes(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var members: [LaneIndex: Int32] = [:]
        var tops: [LaneIndex: UInt64] = [:]
        for place in rows where table[place].state != .executing {
            let row = table[place]
            let isEligible = row.state == .ready && row.traits.isDisjoint(with: .ineligible)
            if isEligible != row.isLinked { broken.append("5: \(row.id) is \(isEligible ? "not " : "")in a lane") }
            guard let lane = row.lane else { continue }
            members[lane, default: 0] += 1
            tops[lane] = min(tops[lane] ?? .max, row.key)
            let key = lanes[lane].key
            if key.queue != row.queue || key.categories != row.categories {
                broken.append("5: \(row.id) is in a lane of others")
            }
        }
        for lane in lanes.indices {
            if lanes[lane].live != members[lane] ?? 0 || lanes[lane].top != tops[lane] ?? .max {
                broken.append("5: lane \(lane.rawValue) has lost count")
            }
        }
        return broken
    }

    /// 6. At the end of a turn nothing that could start is left waiting.
    private func checkNothingIdles() -> [String] {
        guard mayStart else { return [] }
        var broken: [String] = []
        for lane in lanes.indices where lanes[lane].live > 0 && lanes[lane].status != .evaluating {
            if !lanes[lane].key.isGroup, slots.used >= workers { continue }
            if lanes[lane].status == .parked(.evaluations), evaluating >= Limits.evaluationsAtOnce { continue }
            guard let first = lanes[lane].members.first else { continue }
            if obstacle(to: first.place, in: lane) == nil, lockUp(starting: first.place, lanes[lane].needs) == nil {
                broken.append("6: \(table[first.place].id) could start, its lane is \(lanes[lane].status)")
            }
        }
        return broken
    }

    /// 7. Every effective priority is the highest of what waits for the operation and its own, and somebody's own.
    private func checkPriorities(_ rows: [OperationIndex]) -> [String] {
        guard usesPriorities else {
            return rows.filter { table[$0].effective != 0 }.map { "7: \(table[$0].id) has a priority" }
        }
        var broken: [String] = []
        for category in categories.pool.indices where !categories[category].familyHolders.isEmpty {
            let (now, claim) = (categories[category], claim(on: category))
            if now.claim != claim { broken.append("7: \(claim) waits for category \(now.name), not \(now.claim)") }
        }
        for place in rows {
            let (row, claims) = (table[place], claims(on: place))
            if claims.all != row.effective {
                broken.append("7: \(row.id) counts for \(row.effective), not \(claims.all)")
            }
            guard let inherited = row.family.map({ families[$0].inherited }), inherited != claims.whole else {
                continue
            }
            broken.append("7: the children of \(row.id) inherit \(inherited), not \(claims.whole)")
        }
        var proven: Set<WaitNode> = []
        for place in rows where !isFounded(.start(place), &proven) || !isFounded(.end(place), &proven) {
            broken.append("7: nobody has what \(table[place].id) counts for")
        }
        return broken
    }

    /// 8. A parent counts its unfinished children, and ends with the last.
    private func checkFamilies(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var children: [OperationIndex: Int32] = [:]
        for place in rows { if let parent = table[place].parent { children[parent, default: 0] += 1 } }
        for place in rows {
            guard let family = table[place].family.map({ families[$0] }) else { continue }
            if family.unfinished != children[place] ?? 0 { broken.append("8: \(table[place].id) has lost a child") }
            if table[place].isGroup, table[place].state == .executing, family.unfinished == 0 {
                broken.append("8: \(table[place].id) goes on without children")
            }
        }
        return broken
    }

    /// 9. Barriers stand in order, and count what they wait for.
    private func checkBarriers(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        let scopes =
            queues.pool.indices.map { BarrierScope.queue($0) } + partitions.pool.indices.map { .partition($0) }
        for scope in scopes {
            let barriers = self[scope]
            for (index, barrier) in barriers.list.enumerated() {
                guard unfinished(OperationID(barrier.id)) == barrier.place, isBarrier(barrier.place, in: scope) else {
                    broken.append("9: barrier \(barrier.id) is gone")
                    continue
                }
                let awaited = awaited(by: barriers.list[...index])
                if !hasPassed(barrier.place), awaited != Int32(gathered(by: barrier.place).count) {
                    broken.append("9: barrier \(barrier.id) counts \(awaited)")
                }
            }
            let members = rows.count { isMember($0, of: scope) }
            let barrierCount = barriers.list.count
            let counted = barriers.list.reduce(Int(barriers.after) + barrierCount) { $0 + Int($1.before) }
            if counted != members { broken.append("9: \(scope) counts \(counted) operations, not \(members)") }
        }
        for queue in queues.pool.indices {
            let ordinary = rows.count {
                table[$0].queue == queue && table[$0].partition != nil && table[$0].traits.contains(.barrier)
            }
            if queues[queue].ordinaryBarriers != ordinary {
                broken.append("9: queue \(queues[queue].name) counts \(queues[queue].ordinaryBarriers) barriers")
            }
            if queues[queue].hasBarriers { broken += checkOrder(rows.filter { table[$0].queue == queue }) }
        }
        for partition in partitions.pool.indices {
            let members = rows.count { table[$0].partition == partition }
            if Int(partitions[partition].members) != members {
                broken.append("9: user \(partitions[partition].key.user) counts \(partitions[partition].members)")
            }
        }
        return broken
    }

    /// Of two operations of a queue of which one is a barrier that orders the other, the later waits for the earlier,
    /// unless its group does.
    private func checkOrder(_ members: [OperationIndex]) -> [String] {
        var broken: [String] = []
        for (index, place) in members.enumerated()
        where table[place].state != .executing && !table[place].traits.contains(.hasStarted) {
            let isBehind = members[..<index].contains { areOrdered($0, place) && !isAncestor($0, of: place) }
            let traits = table[place].traits
            if isBehind, traits.isDisjoint(with: [.behindBarrier, .gathering, .groupNotStarted]) {
                broken.append("9: \(table[place].id) passes a barrier")
            } else if !isBehind, !traits.isDisjoint(with: [.behindBarrier, .gathering]) {
                broken.append("9: \(table[place].id) waits for a barrier that does not order it")
            }
        }
        return broken
    }

    /// 10. Nothing of a turn outlives it.
    private func checkScratch(_ rows: [OperationIndex]) -> [String] {
        var broken = rows.filter { !table[$0].traits.isDisjoint(with: [.ending, .visited, .priorityInDoubt]) }.map {
            "10: \(table[$0].id) carries \(table[$0].traits.rawValue) over"
        }
        if !decided.isEmpty || !endings.isEmpty || !inDoubt.isEmpty || !doubtfulClaims.isEmpty
            || !doubtfulQueues.isEmpty || !suspects.isEmpty
        {
            broken.append("10: something is decided and not told")
        }
        return broken
    }

    /// 11. Who is in hand would start next, in this order, once it is ready, and nobody else may.
    private func checkHand(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        for place in rows where table[place].traits.contains(.inHand) != hand.contains(place) {
            broken.append("11: \(table[place].id) is in hand, or is not")
        }
        guard case let last?? = hand.last else { return broken }
        let hand = hand.compactMap { $0 }
        let waiting = hand.filter { table[$0].state == .pending }
        let mayRest = slots.used == workers || slots.used < workers && waiting.count == hand.count
        if hand.count > Limits.hand || !mayRest || !mayStart || !handIsFree || !waiting.isEmpty && !handWaits {
            broken.append("11: a hand of \(hand.count) with \(slots.used) of \(workers) slots used")
        }
        for place in hand where table[place].isLinked {
            broken.append("11: \(table[place].id) is in hand and \(table[place].state)")
        }
        for place in waiting where !waitsForSuccess(place) {
            broken.append("11: \(table[place].id) is in hand and waits for more than what executes")
        }
        if zip(hand, hand.dropFirst()).contains(where: { table[$0].key >= table[$1].key }) {
            broken.append("11: the hand is out of order")
        }
        for lane in lanes.indices where lanes[lane].live > 0 && !lanes[lane].key.isGroup {
            guard let first = lanes[lane].members.first, lanes[lane].top < table[last].key,
                lanes[lane].status != .evaluating, lanes[lane].status != .parked(.evaluations)
            else { continue }
            if obstacle(to: first.place, in: lane) == nil {
                broken.append("11: \(table[first.place].id) comes before the hand")
            }
        }
        return broken
    }

    private func waitsForSuccess(_ place: OperationIndex) -> Bool {
        var count: Int32 = 0
        for edge in graph.dependencies(of: table[place]) {
            guard let on = graph[edge].on else { continue }
            guard graph[edge].when == .succeeded, table[on].state == .executing else { return false }
            count += 1
        }
        return count == table[place].waiting
    }
}
