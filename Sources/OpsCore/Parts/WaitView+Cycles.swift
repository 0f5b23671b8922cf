/// The search for cycles: of edges alone, and of edges and one category.
extension WaitView {
    /// Returns the path by which `node` waits for `goal`, both included; nil if it does not.
    func path(from node: WaitNode, to goal: WaitNode) -> [WaitNode]? { path(from: [node], to: [goal]) }

    /// Returns a path by which one of the nodes waits for one of the goals, both included; nil if none does. Each event
    /// is visited once.
    func path(from nodes: [WaitNode], to goals: Set<WaitNode>) -> [WaitNode]? {
        var cameFrom: [WaitNode: WaitNode] = [:]
        for node in nodes {
            if goals.contains(node) { return [node] }
            cameFrom[node] = node
        }
        var open = nodes
        while let next = open.popLast() {
            for other in waits(of: next) where cameFrom[other] == nil {
                cameFrom[other] = next
                guard goals.contains(other) else {
                    open.append(other)
                    continue
                }
                var path = [other]
                while let earlier = cameFrom[path[path.count - 1]], earlier != path[path.count - 1] {
                    path.append(earlier)
                }
                return path.reversed()
            }
        }
        return nil
    }

    /// Returns those of the events that a cycle keeps from happening: they are part of one, or wait for one.
    func blockedByCycles(_ nodes: [WaitNode]) -> [WaitNode] {
        var outstanding: [WaitNode: Int] = [:]
        var waiters: [WaitNode: [WaitNode]] = [:]
        var possible: [WaitNode] = []
        var open = nodes
        while let next = open.popLast() {
            guard outstanding[next] == nil else { continue }
            let others = waits(of: next)
            outstanding[next] = others.count
            if others.isEmpty { possible.append(next) }
            for other in others { waiters[other, default: []].append(next) }
            open += others
        }
        while let next = possible.popLast() {
            for waiter in waiters[next] ?? [] {
                outstanding[waiter, default: 0] -= 1
                if outstanding[waiter] == 0 { possible.append(waiter) }
            }
        }
        return nodes.filter { outstanding[$0] ?? 0 > 0 }
    }

    /// Returns the operations of a path, each once in a row, as they are named in a refusal.
    func name(_ nodes: [WaitNode]) -> [DraftEdge.Target] {
        var result: [DraftEdge.Target] = []
        for node in nodes {
            let target = target(node.operation)
            if result.last != target { result.append(target) }
        }
        if result.count == 1 { result.append(result[0]) }
        return result
    }

    /// Returns how a refusal names an operation: by its id, or by its offset in the refused submission.
    func target(_ operation: OperationIndex) -> DraftEdge.Target {
        let id = rows[operation].operationID
        guard let firstSubmitted, id >= firstSubmitted else { return .existing(id) }
        return .local(Int32(id.rawValue - firstSubmitted.rawValue))
    }

    /// Returns the shortest path from the end of a group to the start of an operation that can never execute beside it;
    /// nil when there is none.
    func shortestCycle(from group: OperationIndex, _ needs: [Need]) -> [WaitNode]? {
        var cameFrom: [WaitNode: WaitNode] = [:]
        var line = [WaitNode.end(group)]
        var next = 0
        while next < line.count {
            let node = line[next]
            next += 1
            if !node.isEnd, needs.contains(where: { excludes($0, node.operation) }) {
                var path = [node]
                while let earlier = cameFrom[path[path.count - 1]] { path.append(earlier) }
                return path.reversed()
            }
            for other in waits(of: node) + holdersInTheWay(of: node)
            where other != line[0] && other != .start(group) && cameFrom[other] == nil {
                cameFrom[other] = node
                line.append(other)
            }
        }
        return nil
    }

    /// Returns whether an operation waits and can never execute beside one that holds this.
    func excludes(_ need: Need, _ operation: OperationIndex) -> Bool { registry.excludes(need, operation, in: rows) }

    /// Returns the ends of groups and producers beside which an operation can never execute.
    private func holdersInTheWay(of node: WaitNode) -> [WaitNode] {
        guard !node.isEnd, rows[node.operation].state != .executing else { return [] }
        var result: [WaitNode] = []
        for need in presentNeeds(of: node.operation) {
            for holder in registry.categories[need.category].longHolders
            where holdsUntilChildrenFinish(holder) && registry.excludes(need, holder: holder, in: rows) {
                result.append(.end(holder))
            }
        }
        return result
    }

    private func presentNeeds(of operation: OperationIndex) -> [Need] {
        registry.presentNeeds(of: operation, in: rows)
    }

    /// Returns whether all present and future holders may be too many for a category beside a group with this need.
    func mayExceed(_ need: Need, of group: OperationIndex, among nodes: [WaitNode]) -> Bool {
        var units = need.mode == .units ? Int64(need.units) : 0
        var isAny = false
        for node in nodes where !node.isEnd && node.operation != group && rows[node.operation].state != .executing {
            for other in presentNeeds(of: node.operation) where other.category == need.category {
                isAny = true
                if other.mode != need.mode || other.mode == .exclusive { return true }
                units += Int64(other.units)
            }
        }
        guard isAny, need.mode == .units else { return false }
        let category = registry.categories[need.category]
        return units + Int64(category.room.usedUnits) - Int64(category.room.surplus)
            > Int64(max(1, category.room.capacity))
    }
}

/// The check of a cycle that was found before. It reads the registry itself and not a view: it is made before each
/// start.
extension Registry {
    /// Returns whether a cycle that was found before still exists. A wait for a barrier is not recognised: then the
    /// cycle is searched again.
    func stands(_ cycle: [WaitNode], from group: OperationIndex, _ needs: [Need]) -> Bool {
        guard let last = cycle.last, cycle.first == .end(group),
            needs.contains(where: { excludes($0, last.operation, in: table) })
        else { return false }
        for next in 1..<cycle.count where !waitsPlainly(cycle[next - 1], for: cycle[next]) { return false }
        return true
    }

    /// Returns whether one event waits for another because of an edge, its group or an operation that holds what it needs.
    private func waitsPlainly(_ node: WaitNode, for other: WaitNode) -> Bool {
        guard isUnfinished(node.operation, in: table), isUnfinished(other.operation, in: table) else { return false }
        let row = table[node.operation]
        if node.isEnd {
            if other == .start(node.operation) { return row.state != .executing }
            return other.isEnd && table[other.operation].parent == node.operation
        }
        guard row.state != .executing else { return false }
        if let parent = row.parent, other == .start(parent) { return table[parent].state != .executing }
        for edge in graph.dependencies(of: row) {
            if let on = graph[edge].on, graph[edge].when.node(of: on) == other { return true }
        }
        guard other.isEnd, holdsUntilChildrenFinish(other.operation) else { return false }
        return presentNeeds(of: node.operation, in: table).contains {
            categories[$0.category].longHolders.contains(other.operation)
                && excludes($0, holder: other.operation, in: table)
        }
    }

    private func isUnfinished(_ operation: OperationIndex, in rows: some OperationRows) -> Bool {
        let row = rows[operation]
        return row.id != 0 && row.state != .finished && !row.traits.contains(.finishPending)
    }

    /// Returns whether an operation waits and can never execute beside one that holds this.
    func excludes(_ need: Need, _ operation: OperationIndex, in rows: some OperationRows) -> Bool {
        guard isUnfinished(operation, in: rows), rows[operation].state != .executing else { return false }
        return presentNeeds(of: operation, in: rows).contains {
            $0.category == need.category && !categories[need.category].room.canShare($0, need)
        }
    }

    /// Returns whether a need can never be held beside the share of an executing operation.
    func excludes(_ need: Need, holder: OperationIndex, in rows: some OperationRows) -> Bool {
        guard let execution = rows[holder].execution else { return false }
        let held = executions[execution].holding.first { $0.category == need.category }
        return held.map { !categories[need.category].room.canShare(need, $0) } ?? false
    }

    /// Returns the needs of an operation without those that it will have of a group that has not started.
    func presentNeeds(of operation: OperationIndex, in rows: some OperationRows) -> [Need] {
        let row = rows[operation]
        guard row.categories != nil else { return [] }
        let needs = categories.needs(of: row.categories)
        guard row.parent != nil else { return needs }
        return zip(needs, resolve(needs, under: row.parent, in: rows)).filter { base, _ in
            for parent in rows.enclosing(operation) {
                if rows[parent].state == .executing { break }
                if categories.needs(of: rows[parent].categories).contains(where: { $0.category == base.category }) {
                    return false
                }
            }
            return true
        }.map(\.1)
    }
}
