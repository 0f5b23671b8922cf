/// Inherited priorities can form a cycle: a group holds a category, a ready operation waits for the category, and a
/// child of the group waits for that operation. When the operation from which the priority comes leaves, the members of
/// the cycle would keep the priority because of one another. So a priority that a recount leaves as it was is traced
/// back to an operation with that priority of its own. If there is none, all operations on the path are lowered to
/// their own priorities, and raised again by those that still wait. Only a claim on a category can close a cycle, so
/// nothing is traced while no claim is as high. Without a cycle the trace is short as a rule, and where it is long the
/// search in the other direction is short.
extension Scheduler {
    /// Requests a trace of the source of a priority that a recount did not change.
    mutating func requestTrace(of node: WaitNode) {
        priorities.requestTrace(of: node, at: priority(of: node))
    }

    /// Lowers the priority of a node, and of those that it inherits from, if none of them has it as its own. `proven`:
    /// nodes with a source.
    mutating func trace(_ node: WaitNode, _ proven: inout Set<WaitNode>) {
        guard table[node.operation].state != .finished, priorities.mayCycle(at: priority(of: node)) else { return }
        if reachesSource(from: node, &proven) { return }
        for node in nodesWithoutSource(from: node) { lower(node) }
    }

    /// Returns whether the priority of a node is some operation's own priority.
    func hasSource(_ node: WaitNode, _ proven: inout Set<WaitNode>) -> Bool {
        priority(of: node) == .min || reachesSource(from: node, &proven) || nodesWithoutSource(from: node).isEmpty
    }

    /// Returns the priority of a node: for the end of a group, the one that its children inherit.
    private func priority(of node: WaitNode) -> Int8 {
        guard node.isEnd else { return table[node.operation].effective }
        return table[node.operation].group.map { groups[$0].inherited } ?? .min
    }

    private func hasOwnPriority(_ node: WaitNode) -> Bool {
        !node.isEnd && ownPriority(of: node.operation) >= table[node.operation].effective
    }

    /// Follows sources from node to node, up to one that has the priority as its own. Returns false if the path closes
    /// a cycle. Only long paths are stored, and only where they may close a cycle.
    private func reachesSource(from start: WaitNode, _ proven: inout Set<WaitNode>) -> Bool {
        var path: [WaitNode] = []
        var steps = 0
        // A path in a cycle meets the last milestone again. Milestones are at doubling distances.
        var milestone = start
        var next: WaitNode? = start
        while let node = next {
            if hasOwnPriority(node) || proven.contains(node) {
                proven.formUnion(path)
                return true
            }
            if steps > 0, node == milestone { return false }
            steps += 1
            if steps & (steps - 1) == 0 { milestone = node }
            if steps == Self.fewSteps, reachesNoCategory(from: start) { return true }
            if steps > Self.fewSteps { path.append(node) }
            next = nil
            forEachSource(of: node) { source in
                next = source
                return false
            }
        }
        return false
    }

    private static let fewSteps = 16

    /// Returns whether the priority of a node reaches no category within a few steps. Then the node is in no cycle.
    private func reachesNoCategory(from start: WaitNode) -> Bool {
        var seen: Set<WaitNode> = [start]
        var open = [start]
        while let node = open.popLast() {
            let row = table[node.operation]
            if node.isEnd, let group = row.group, groups[group].children.count > 4 * Self.fewSteps { return false }
            if !node.isEnd, row.state == .ready, row.categories != nil { return false }
            for other in registry.waits(of: node) where seen.insert(other).inserted { open.append(other) }
            if seen.count > 4 * Self.fewSteps { return false }
        }
        return true
    }

    /// Returns a node with all its direct and indirect sources; nothing if one of them has the priority as its own.
    private func nodesWithoutSource(from node: WaitNode) -> [WaitNode] {
        var seen: Set<WaitNode> = [node]
        var line = [node]
        var next = 0
        var isSourceFound = hasOwnPriority(node)
        while next < line.count, !isSourceFound {
            forEachSource(of: line[next]) { source in
                isSourceFound = hasOwnPriority(source)
                if seen.insert(source).inserted { line.append(source) }
                return !isSourceFound
            }
            next += 1
        }
        return isSourceFound ? [] : line
    }

    /// Lowers a node to its own priority. A recount finds what else it still inherits.
    private mutating func lower(_ node: WaitNode) {
        let old = priority(of: node)
        let operation = node.operation
        invalidatePriority(of: operation)
        if node.isEnd {
            guard let group = group(of: operation) else { return }
            groups[group].inherited = .min
            for id in groups[group].children {
                if let child = unfinished(OperationID(id)) { invalidatePriority(of: child) }
            }
        } else {
            setEffective(operation, ownPriority(of: operation))
            guard table[operation].state != .executing else { return }
            for node in registry.waits(of: .start(operation)) {
                invalidatePriority(of: node.operation, unlessAbove: old)
            }
        }
    }

    /// Calls `body` with each node from which a node directly inherits its priority, until `body` returns false.
    private func forEachSource(of node: WaitNode, _ body: (WaitNode) -> Bool) {
        let priority = priority(of: node)
        let row = table[node.operation]
        if let parent = row.parent, registry.inheritedFromParent(node.operation) == priority, !body(.end(parent)) {
            return
        }
        for edge in graph.dependents(of: row) {
            let from = graph[edge].from
            if table[from].effective == priority, !node.isEnd || graph[edge].when != .started, !body(.start(from)) {
                return
            }
        }
        for other in registry.barriers.kept(by: node.operation, in: table, partitions)
        where table[other].effective == priority {
            guard body(.start(other)) else { return }
        }
        guard let group = row.group else { return }
        if let index = row.execution {
            for need in executions[index].holding where categories[need.category].claim == priority {
                guard forEachClaimant(on: need.category, body) else { return }
            }
        } else if !node.isEnd {
            for id in groups[group].children {
                guard let child = unfinished(OperationID(id)), table[child].effective == priority else { continue }
                guard body(.start(child)) else { return }
            }
        }
    }

    /// Returns one of the operations whose priority is the claim on a category.
    func firstClaimant(on category: CategoryIndex) -> WaitNode? {
        guard categories[category].claim > .min else { return nil }
        var first: WaitNode?
        _ = forEachClaimant(on: category) { claimant in
            first = claimant
            return false
        }
        return first
    }

    /// Calls `body` with each ready operation without room in a category whose priority is the claim on it, until
    /// `body` returns false. Returns whether it never did.
    private func forEachClaimant(on category: CategoryIndex, _ body: (WaitNode) -> Bool) -> Bool {
        let bound = OperationRow.firstKey(effective: categories[category].claim - 1)
        var continues = true
        categories[category].lanes.forEach(below: bound) { entry in
            let need = lanes[entry.lane].needs[Int(entry.need)]
            guard continues, !categories[category].room.fits(need.mode, need.units) else { return continues }
            // The first member of a lane is usually enough.
            if let first = lanes[entry.lane].members.first { continues = body(.start(first.operation)) }
            guard continues else { return false }
            for member in members(of: entry.lane, below: bound) where continues { continues = body(.start(member)) }
            return continues
        }
        return continues
    }
}
