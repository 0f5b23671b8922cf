/// Invariants between two turns. The numbers are those of docs/CODEMAP.md.
extension Scheduler {
    /// Returns the invariants that are broken, in words. It looks at everything: for tests.
    public func checkInvariants() -> [String] {
        let rows = table.indicesByID
        return registry.checkInvariants(rows) + checkSlots() + checkLanes(rows) + checkNothingIdles()
            + checkPriorities(rows) + checkBarriers(rows) + checkScratch(rows) + checkStaged(rows) + checkParts(rows)
            + checkTables(rows)
    }

    /// Returns the invariants of parts that are broken.
    private func checkParts(_ rows: [OperationIndex]) -> [String] {
        lanes.checkInvariants() + timers.checkInvariants() + staging.checkInvariants() + capacity.checkInvariants()
            + conditions.checkInvariants() + deadlocks.checkInvariants { table[$0].lane != nil }
            + reservations.checkInvariants(reserving: rows.count { table[$0].traits.contains(.reserving) })
            + priorities.checkInvariants(held: categories.pool.indices.map { categories[$0].claim })
            + budget.checkInvariants() + checkExecutors()
            + slotTimes.checkInvariants(running: processesInFairQueues())
            + output.checkInvariants(
                lastOperation: rows.last.map { table[$0].id } ?? 0, lastGraph: rows.map { table[$0].graph }.max() ?? 0)
    }

    /// 2. No slot is shared, and the pool counts exactly the processes that execute.
    private func checkSlots() -> [String] {
        var taken: Set<Int32> = []
        var broken: [String] = []
        for index in executions.indices {
            guard let slot = executions[index].slot else { continue }
            let id = table[executions[index].operation].id
            if !taken.insert(slot).inserted { broken.append("2: slot \(slot) is shared by \(id)") }
        }
        if Int(capacity.used) != taken.count {
            broken.append("2: \(capacity.used) slots used, \(taken.count) held")
        }
        return broken
    }

    /// 5. Every eligible operation is in exactly one lane, its own, and every lane knows its first member.
    private func checkLanes(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var members: [LaneIndex: Int32] = [:]
        var tops: [LaneIndex: UInt64] = [:]
        for operation in rows where table[operation].state != .executing {
            let row = table[operation]
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
        for operation in rows {
            let isHeld = table.ancestors(of: operation).contains { table[$0].traits.contains(.held) }
            if isHeld != table[operation].traits.contains(.groupHeld) {
                broken.append("5: \(table[operation].id) is \(isHeld ? "not " : "")held with a group")
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
            if lanes[lane].key.needsSlot, !capacity.hasFreeSlot { continue }
            guard let first = lanes[lane].members.first else { continue }
            let user = evaluationUser(of: first.operation)
            if lanes[lane].status == .parked(.evaluations), !conditions.hasFreeEvaluation(for: user) { continue }
            if obstacle(to: first.operation, in: lane) == nil,
                WaitView(registry).deadlock(starting: first.operation, lanes[lane].needs) == nil
            {
                broken.append("6: \(table[first.operation].id) could start, its lane is \(lanes[lane].status)")
            }
        }
        return broken
    }

    /// 7. An effective priority is the maximum of its own and its waiters', and is some operation's own.
    private func checkPriorities(_ rows: [OperationIndex]) -> [String] {
        guard priorities.isUsed else {
            return rows.filter { table[$0].effective != 0 }.map { "7: \(table[$0].id) has a priority" }
        }
        var broken: [String] = []
        for category in categories.pool.indices where !categories[category].longHolders.isEmpty {
            let (now, claim) = (categories[category], claim(on: category))
            if now.claim != claim { broken.append("7: \(claim) waits for category \(now.name), not \(now.claim)") }
        }
        for operation in rows {
            let (row, claims) = (table[operation], claims(on: operation))
            if claims.all != row.effective {
                broken.append("7: \(row.id) counts for \(row.effective), not \(claims.all)")
            }
            guard let inherited = row.group.map({ groups[$0].inherited }), inherited != claims.whole else {
                continue
            }
            broken.append("7: the children of \(row.id) inherit \(inherited), not \(claims.whole)")
        }
        var proven: Set<WaitNode> = []
        for operation in rows where !hasSource(.start(operation), &proven) || !hasSource(.end(operation), &proven) {
            broken.append("7: the priority of \(table[operation].id) has no source")
        }
        return broken
    }

    /// 9. Barriers are counted right, and every operation with a user is counted in the partition of that user.
    private func checkBarriers(_ rows: [OperationIndex]) -> [String] {
        var broken = registry.barriers.checkInvariants(rows, queues, partitions, in: table)
        var (ofUsers, edges) = ([UInt32: Int](), [UInt32: Int]())
        for row in rows.map({ table[$0] }) {
            guard let partition = row.partition else { continue }
            let user = partitions[partition].key.user
            ofUsers[user, default: 0] += 1
            let count = graph.dependencies(of: row).reduce(0) { count, _ in count + 1 }
            if count > 0 { edges[user, default: 0] += count }
        }
        broken += partitions.checkInvariants(ofUsers, edges: edges)
        for partition in partitions.pool.indices {
            let members = rows.count { table[$0].partition == partition }
            if Int(partitions[partition].members) != members {
                broken.append("9: user \(partitions[partition].key.user) counts \(partitions[partition].members)")
            }
        }
        return broken
    }

    /// 10. No data of a turn remains after it.
    private func checkScratch(_ rows: [OperationIndex]) -> [String] {
        let broken = rows.filter { !table[$0].traits.isDisjoint(with: [.finishPending, .visited, .priorityInvalid]) }
            .map {
                "10: \(table[$0].id) carries \(table[$0].traits.rawValue) over"
            }
        return broken + scratch.checkInvariants()
    }

    /// 11. Staged operations would start next, in this order, once they are ready, and no other may before them.
    private func checkStaged(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        for operation in rows where table[operation].traits.contains(.staged) != staging.launches.contains(operation) {
            broken.append("11: operation \(table[operation].id): staged flag and staged list disagree")
        }
        guard case let last?? = staging.launches.last else { return broken }
        let staged = staging.operations
        let waiting = staged.filter { table[$0].state == .pending }
        let mayRest = capacity.isExactlyFull || capacity.hasFreeSlot && waiting.count == staged.count
        if !mayRest || !mayStart || !waiting.isEmpty && !staging.acceptsWaiting {
            broken.append("11: \(staged.count) launches are staged with \(capacity.used) of \(workers) slots used")
        }
        for operation in staged where table[operation].isLinked {
            broken.append("11: \(table[operation].id) is staged and \(table[operation].state)")
        }
        for operation in waiting where !waitsForSuccess(operation) {
            broken.append("11: \(table[operation].id) is staged and waits for more than executing operations")
        }
        if zip(staged, staged.dropFirst()).contains(where: { table[$0].key >= table[$1].key }) {
            broken.append("11: staged launches are out of order")
        }
        for lane in lanes.indices where lanes[lane].live > 0 && lanes[lane].key.needsSlot {
            guard let first = lanes[lane].members.first, lanes[lane].top < table[last].key,
                lanes[lane].status != .evaluating, lanes[lane].status != .parked(.evaluations)
            else { continue }
            if obstacle(to: first.operation, in: lane) == nil {
                broken.append("11: \(table[first.operation].id) comes before the staged launches")
            }
        }
        return broken
    }

    /// 12. Each executor counts the attempts that are in flight there.
    private func checkExecutors() -> [String] { executors.checkInvariants(inFlight: executionsInFlight()) }

    private func waitsForSuccess(_ operation: OperationIndex) -> Bool {
        var count: Int32 = 0
        for edge in graph.dependencies(of: table[operation]) {
            guard let on = graph[edge].on else { continue }
            guard graph[edge].when == .succeeded, table[on].state == .executing else { return false }
            count += 1
        }
        return count == table[operation].waiting
    }
}
