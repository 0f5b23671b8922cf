/// Invariants of the tables between two turns: every reference is counted, and no record stays without one.
extension Scheduler {
    /// Returns the invariants of tables that are broken. `rows`: all operations in the order of their ids.
    func checkTables(_ rows: [OperationIndex]) -> [String] {
        checkEdges(rows) + checkReferences(rows) + checkParkedLanes() + checkOrdersOfLanes()
            + checkReservations(rows) + checkLongHolders() + checkClocks(rows)
    }

    /// Every edge is in the list of the operation that waits, and until it is resolved in the list of the other.
    private func checkEdges(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var (all, unresolved, listed) = (0, 0, 0)
        for operation in rows {
            for edge in graph.dependencies(of: table[operation]) {
                all += 1
                if graph[edge].on != nil { unresolved += 1 }
            }
            for edge in graph.dependents(of: table[operation]) {
                listed += 1
                if graph[edge].on != operation { broken.append("edges: \(table[operation].id) lists another's edge") }
            }
        }
        if all != graph.count { broken.append("edges: \(graph.count) are counted, \(all) are there") }
        if unresolved != listed { broken.append("edges: \(unresolved) are unresolved, \(listed) are listed") }
        return broken
    }

    /// Values that operations share are counted by their users; a record of one operation is there as long as it.
    private func checkReferences(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var usersOfPolicies: [PolicyIndex: Int32] = [:]
        var usersOfSets: [CategorySetIndex: Int32] = [:]
        var setsOfUsers: [SetOfUser: Int32] = [:]
        for operation in rows {
            let row = table[operation]
            if let policy = row.policy { usersOfPolicies[policy, default: 0] += 1 }
            if let set = row.categories {
                usersOfSets[set, default: 0] += 1
                let user = row.partition.map { partitions[$0].key.user }
                if let user { setsOfUsers[SetOfUser(set: set, user: user), default: 0] += 1 }
            }
            if let group = row.group, groups[group].parent != operation { broken.append("groups: that of \(row.id)") }
            if let index = row.execution, executions[index].operation != operation {
                broken.append("executions: that of \(row.id)")
            }
            if row.traits.contains(.hasRun) != (runs[operation] != nil) { broken.append("runs: that of \(row.id)") }
        }
        broken += policies.checkInvariants(users: usersOfPolicies)
        broken += categories.checkInvariants(users: usersOfSets, operations: setsOfUsers)
        for (name, count, expected) in [
            ("groups", groups.count, rows.count { table[$0].group != nil }),
            ("executions", executions.count, rows.count { table[$0].state == .executing }),
            ("runs", runs.count, rows.count { table[$0].traits.contains(.hasRun) }),
            ("partitions", partitions.pool.count, Set(rows.compactMap { table[$0].partition }).count),
            ("operations", table.count, rows.count),
        ] where count != expected {
            broken.append("\(name): \(count) are kept for \(expected)")
        }
        return broken
    }

    // MARK: Lanes

    /// A lane that waits at a resource is counted there, and found there when the resource has room.
    private func checkParkedLanes() -> [String] {
        var broken: [String] = []
        var parked: [Resource: Int] = [:]
        for lane in lanes.indices {
            guard case .parked(let resource) = lanes[lane].status else { continue }
            parked[resource, default: 0] += 1
            let isThere = parkedEntries(at: resource, lane).contains {
                $0.lane == lane && $0.stamp == lanes[lane].stamp
            }
            if !isThere { broken.append("lanes: \(lane.rawValue) is parked at \(resource) and not found there") }
        }
        func check(_ resource: Resource, _ count: Int) {
            guard count != parked[resource] ?? 0 else { return }
            broken.append("lanes: \(count) are counted at \(resource), not \(parked[resource] ?? 0)")
        }
        for queue in queues.pool.indices { check(.queue(queue), queues[queue].parkedCount) }
        for group in groups.indices { check(.group(group), groups[group].parkedCount) }
        for category in categories.pool.indices {
            check(.category(category), categories[category].parkedCount)
            check(.rate(category), categories[category].parkedAtRateCount)
        }
        for executor in executors.loads.indices.map({ ExecutorIndex(rawValue: Int32($0)) }) {
            check(.executor(executor), executors[executor].parkedCount)
        }
        return broken
    }

    private func parkedEntries(at resource: Resource, _ lane: LaneIndex) -> [LaneEntry] {
        let needsSlot = lanes[lane].key.needsSlot
        switch resource {
        case .queue(let queue): return queues[queue].parked[needsSlot: needsSlot].entries
        case .group(let group): return groups[group].parked[needsSlot: needsSlot].entries
        case .category(let category):
            guard let need = lanes[lane].needs.first(where: { $0.category == category }) else { return [] }
            return categories[category].parked
                .filter { $0.mode == need.mode && $0.units == need.units }
                .flatMap { $0.lanes[needsSlot: needsSlot].entries }
        case .executor(let executor): return executors[executor].parked.entries
        case .rate(let category):
            return categories[category].parkedAtRate[needsSlot: needsSlot].entries
        case .reservations, .yielding: return lanes.blockedEntries
        case .evaluations:
            guard let first = lanes[lane].members.first else { return [] }
            return conditions.parked[evaluationUser(of: first.operation)]?.entries ?? []
        }
    }

    /// Each category has the lanes that name it, by their first members.
    private func checkOrdersOfLanes() -> [String] {
        var broken: [String] = []
        var expected: [CategoryIndex: [LaneIndex: UInt64]] = [:]
        for lane in lanes.indices {
            let isEmpty = lanes[lane].live == 0
            if lanes[lane].tickets.contains(where: { ($0 == nil) != isEmpty }) {
                broken.append("lanes: \(lane.rawValue) has \(lanes[lane].live) members and other tickets")
            }
            guard !isEmpty else { continue }
            for need in lanes[lane].needs { expected[need.category, default: [:]][lane] = lanes[lane].top }
        }
        for category in categories.pool.indices {
            let entries = categories[category].lanes.entries
            let known = Dictionary(entries.map { ($0.lane, $0.key) }) { first, _ in first }
            let areNeeds = entries.allSatisfy { lanes[$0.lane].needs[Int($0.need)].category == category }
            if entries.count != known.count || known != expected[category] ?? [:] || !areNeeds {
                broken.append("lanes: category \(categories[category].name) orders others than those that name it")
            }
        }
        return broken
    }

    /// The position of an operation is reserved in each category that it needs, in the order of all that reserve there.
    private func checkReservations(_ rows: [OperationIndex]) -> [String] {
        var broken: [String] = []
        var expected: [CategoryIndex: [OperationIndex]] = [:]
        for operation in rows where table[operation].traits.contains(.reserving) {
            guard let lane = table[operation].lane else {
                broken.append("reservations: \(table[operation].id) does not wait for its turn")
                continue
            }
            for need in lanes[lane].needs { expected[need.category, default: []].append(operation) }
        }
        for category in categories.pool.indices {
            let wanted = (expected[category] ?? []).sorted { table[$0].key < table[$1].key }
            if categories[category].reservations != wanted {
                broken.append(
                    "reservations: those in category \(categories[category].name) are out of order, or others'")
            }
        }
        return broken
    }

    // MARK: Categories and clocks

    /// A group or producer that holds categories lends them to its children, as long as it holds them.
    private func checkLongHolders() -> [String] {
        var broken: [String] = []
        var expected: [CategoryIndex: Set<OperationIndex>] = [:]
        var scopes = 0
        for index in executions.indices {
            let operation = executions[index].operation
            guard let group = group(of: operation) else { continue }
            for need in executions[index].holding { expected[need.category, default: []].insert(operation) }
            if groups[group].scopes.count != executions[index].holding.count {
                broken.append("scopes: \(table[operation].id) lends \(groups[group].scopes.count) categories")
            }
        }
        for group in groups.indices {
            scopes += groups[group].scopes.count
            if !groups[group].scopes.isEmpty, execution(of: groups[group].parent) == nil {
                broken.append("scopes: \(table[groups[group].parent].id) lends what it does not hold")
            }
        }
        for category in categories.pool.indices {
            let holders = categories[category].longHolders
            if Set(holders) != expected[category] ?? [] || Set(holders).count != holders.count {
                broken.append("scopes: category \(categories[category].name) has other long holders")
            }
        }
        let kept = categories.pool.indices.count { categories[$0].base != nil }
        if kept != scopes { broken.append("scopes: \(kept) are kept for \(scopes)") }
        return broken
    }

    /// Each operation that waits for an instant has a timer.
    private func checkClocks(_ rows: [OperationIndex]) -> [String] {
        let (monotonic, wall) = (Set(timers.monotonicEntries), Set(timers.wallEntries))
        var broken: [String] = []
        func expect<Kind>(
            _ kind: Kind, _ operation: OperationIndex, _ instant: Kind.Instant, in entries: Set<TimerHeap<Kind>.Entry>
        ) {
            guard !entries.contains(TimerHeap.Entry(at: instant, id: table[operation].id, kind: kind)) else { return }
            broken.append("timers: none for the \(kind) of \(table[operation].id)")
        }
        for operation in rows {
            let row = table[operation]
            let rest = runs[operation]?.restsUntil.monotonic ?? .zero
            if row.traits.contains(.backingOff) != (rest != .zero) { broken.append("timers: \(row.id) rests or not") }
            if rest != .zero { expect(.backoff, operation, rest, in: monotonic) }
            if let instant = conditions[operation]?.expiresAt {
                expect(.recheck, operation, instant, in: monotonic)
            }
            if let index = row.execution, let instant = executions[index].timeoutAt {
                expect(.timeout, operation, instant, in: monotonic)
            }
            if !row.traits.isDisjoint(with: .frozen), let index = row.execution,
                executions[index].timeoutAt != nil || executions[index].timeoutDue != nil
            {
                broken.append("timers: the timeout of \(row.id) goes on although it is frozen")
            }
            let policy = policy(of: operation)
            if row.traits.contains(.delayed) { expect(.notBefore, operation, policy?.notBefore ?? .zero, in: wall) }
            let isDecided = row.execution.map { executions[$0].resolution != nil || executions[$0].isCancelling }
            if let deadline = policy?.deadline, deadline > now.wall, isDecided != true {
                expect(.deadline, operation, deadline, in: wall)
            }
        }
        for operation in conditions.evaluated
        where table[operation].lane == nil || !table[operation].traits.contains(.hasConditions) {
            broken.append("conditions: those of \(table[operation].id) are evaluated although it has no turn")
        }
        return broken
    }
}
