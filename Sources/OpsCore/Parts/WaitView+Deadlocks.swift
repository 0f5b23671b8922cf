/// Operations that wait for one another in a cycle, and the category that closes it, if one does.
struct Deadlock {
    /// Each waits for the next; the first is repeated at the end.
    var cycle: [OperationIndex]
    var category: String?
    /// Events that never happen.
    var stuck: Set<WaitNode>
    /// The events of the cycle, where it was found without the solver.
    var path: [WaitNode] = []
}

/// The search for deadlocks. Groups (and producers) hold categories until their children have finished: an operation
/// that they wait for must not need those. Requests that would close such a cycle are refused, and starts wait.
extension WaitView {
    /// Returns the deadlock that the start of a group would close; nil when it may start.
    func deadlock(starting group: OperationIndex, _ needs: [Need]) -> Deadlock? {
        guard !needs.isEmpty, holdsUntilChildrenFinish(group) else { return nil }
        if let path = shortestCycle(from: group, needs), let last = path.last {
            let need = needs.first { excludes($0, last.operation) }
            var found = Deadlock(
                cycle: [], category: need.map { registry.categories[$0.category].name }, stuck: Set(path), path: path)
            for node in path + [.end(group)] where found.cycle.last != node.operation {
                found.cycle.append(node.operation)
            }
            return found
        }
        var supposed = self
        supposed.started = group
        let nodes = supposed.reach([.end(group)])
        guard needs.contains(where: { mayExceed($0, of: group, among: nodes) }) else { return nil }
        let found = supposed.deadlock(among: nodes)
        return found?.stuck.contains(.end(group)) == true ? found : nil
    }

    /// Returns a deadlock that an operation is part of already.
    func deadlock(around operation: OperationIndex) -> Deadlock? {
        let found = deadlock(among: reach([.start(operation), .end(operation)]))
        return found?.stuck.contains(.end(operation)) == true ? found : nil
    }

    /// Returns the deadlock that an edge would close.
    func deadlock(from: OperationIndex, waitingFor node: WaitNode) -> Deadlock? {
        // An edge closes no cycle if its target does not wait for its origin.
        guard reach([node]).contains(.start(from)) else { return nil }
        var supposed = self
        supposed.edge = (from, node)
        let nodes = supposed.reach([.start(from)])
        guard let found = supposed.deadlock(among: nodes) else { return nil }
        if deadlock(among: nodes) == nil { return found }
        // Beside a deadlock that exists, the edge may close one of its own.
        guard deadlock(among: nodes, through: [from]) == nil else { return nil }
        return supposed.deadlock(among: nodes, through: [from])
    }

    /// Returns the deadlock that a proposed request would close around these operations. `present`: without the request.
    func deadlock(around changed: [OperationIndex], notIn present: WaitView) -> Deadlock? {
        let nodes = reach(changed.flatMap { [WaitNode.start($0), .end($0)] })
        guard let found = deadlock(among: nodes) else { return nil }
        let groups = registry.groups
        let holders = groups.indices.map { groups[$0].parent }.filter { present.holdsUntilChildrenFinish($0) }
        let existing = present.deadlock(among: present.reach(holders.map { .end($0) }))
        // A deadlock that exists does not make the request fail, unless the request is part of one of its own.
        return existing == nil ? found : deadlock(among: nodes, through: changed)
    }

    func rejection(_ found: Deadlock) -> Rejection {
        let cycle = found.cycle.map { target($0) }
        return found.category.map { .deadlock(cycle, category: $0) } ?? .cycle(cycle)
    }

    // MARK: The problem to solve

    /// Returns these events and everything that must happen before them, directly or not; for an operation that holds
    /// categories until its children finish, also everything that must happen before its end.
    func reach(_ nodes: [WaitNode]) -> [WaitNode] {
        var seen: Set<WaitNode> = []
        var result: [WaitNode] = []
        var open = nodes
        while let node = open.popLast() {
            guard seen.insert(node).inserted else { continue }
            result.append(node)
            open += waits(of: node)
            if !node.isEnd {
                if holdsUntilChildrenFinish(node.operation) { open.append(.end(node.operation)) }
                // The group that has started has room beside the other holders of its categories.
                if node.operation != started, rows[node.operation].state != .executing,
                    rows[node.operation].categories != nil
                {
                    for need in resolvedNeeds(of: node.operation) {
                        open += holders(of: need.category).map { .end($0) }
                    }
                }
                if let edge, edge.from == node.operation { open.append(edge.node) }
            }
            if let holder = enclosingHolder(of: node.operation) { open.append(.end(holder)) }
        }
        return result
    }

    private func enclosingHolder(of operation: OperationIndex) -> OperationIndex? {
        rows.enclosing(operation).first { holdsUntilChildrenFinish($0) }
    }

    /// Returns a deadlock of these events; with `chosen`, one whose cycle goes through one of those operations.
    private func deadlock(among nodes: [WaitNode], through chosen: [OperationIndex]? = nil) -> Deadlock? {
        var index: [OperationIndex: Int32] = [:]
        var operations: [OperationIndex] = []
        for node in nodes where index[node.operation] == nil {
            index[node.operation] = Int32(operations.count)
            operations.append(node.operation)
        }
        func number(_ node: WaitNode) -> Int32 { 2 * (index[node.operation] ?? 0) + (node.isEnd ? 1 : 0) }
        var arcs: [DeadlockProblem.Arc] = []
        for node in nodes where node.isEnd || node.operation != started {
            var before = waits(of: node)
            if let edge, edge.from == node.operation, !node.isEnd { before.append(edge.node) }
            for other in before where index[other.operation] != nil {
                arcs.append(DeadlockProblem.Arc(before: number(other), after: number(node)))
            }
        }
        let members = operations.map { operation in
            DeadlockProblem.Member(
                enclosing: enclosingHolder(of: operation).flatMap { index[$0] }, uses: uses(of: operation),
                holdsUntilChildrenFinish: holdsUntilChildrenFinish(operation),
                isExecuting: rows[operation].state == .executing || operation == started)
        }
        var problem = DeadlockProblem(members, arcs)
        let solution = chosen.map { problem.deadlock(through: $0.compactMap { index[$0] }) } ?? problem.deadlock()
        guard let found = solution else { return nil }
        return Deadlock(
            cycle: found.cycle.map { operations[Int($0)] },
            category: found.category.map { registry.categories[$0].name },
            stuck: Set(nodes.filter { found.isStuck[Int(number($0))] }))
    }

    /// Returns the use of each category by an operation, and its domain: everything, or the group around it that holds
    /// the category.
    private func uses(of operation: OperationIndex) -> [DeadlockProblem.Use] {
        needs(of: operation).map { need in
            var (domain, capacity) = (OperationIndex?.none, registry.categories[need.category].room.capacity)
            for ancestor in rows.enclosing(operation) {
                guard let held = needs(of: ancestor).first(where: { $0.category == need.category }) else { continue }
                if domain == nil { domain = ancestor }
                if held.mode == .units { capacity = held.units }
                // A group that holds all of it has what the next group around it holds.
                if held.mode != .exclusive { break }
            }
            // A category that is closed now will be opened: it has no fewer than one unit then.
            return DeadlockProblem.Use(domain: domain?.rawValue, need: need, capacity: max(1, capacity))
        }
    }
}
