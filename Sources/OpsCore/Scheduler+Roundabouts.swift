/// The plain case of a lock-up, found without a solver and remembered: what the end of a group waits for comes round,
/// step by step, to the start of someone who could never be beside it.
extension Scheduler {
    /// Whether a group must not start yet, since what it waits for would wait for its end.
    mutating func letsOthersGoFirst(_ place: OperationIndex, _ needs: [Need]) -> Bool {
        guard !needs.isEmpty, isSpan(place) else { return false }
        if let way = knownDeadlocks[place] {
            if holds(way, from: place, needs) { return true }
            knownDeadlocks[place] = nil
        }
        guard let found = lockUp(starting: place, needs) else { return false }
        if !found.way.isEmpty { knownDeadlocks[place] = found.way }
        return true
    }

    /// The nearest way round, from the end of a group; nil when there is none so plain.
    func roundabout(from place: OperationIndex, _ needs: [Need]) -> [WaitNode]? {
        var cameFrom: [WaitNode: WaitNode] = [:]
        var line = [WaitNode.end(place)]
        var next = 0
        while next < line.count {
            let node = line[next]
            next += 1
            if !node.isEnd, needs.contains(where: { keepsOut($0, node.place) }) {
                var way = [node]
                while let earlier = cameFrom[way[way.count - 1]] { way.append(earlier) }
                return way.reversed()
            }
            for other in waits(of: node) + holdersInTheWay(of: node)
            where other != line[0] && other != .start(place) && cameFrom[other] == nil {
                cameFrom[other] = node
                line.append(other)
            }
        }
        return nil
    }

    /// Whether nothing of a way has moved since it was found.
    private func holds(_ way: [WaitNode], from place: OperationIndex, _ needs: [Need]) -> Bool {
        guard let last = way.last, way.first == .end(place), needs.contains(where: { keepsOut($0, last.place) }) else {
            return false
        }
        return zip(way, way.dropFirst()).allSatisfy { isPlainly($0, after: $1) }
    }

    /// Whether one node waits for another because of an edge, its group or who holds what it needs. Of barriers it
    /// knows nothing: a way through one is looked for anew.
    private func isPlainly(_ node: WaitNode, after other: WaitNode) -> Bool {
        guard isUnfinished(node.place), isUnfinished(other.place) else { return false }
        let row = table[node.place]
        if node.isEnd {
            if other == .start(node.place) { return row.state != .executing }
            return other.isEnd && table[other.place].parent == node.place
        }
        guard row.state != .executing else { return false }
        if let parent = row.parent, other == .start(parent) { return table[parent].state != .executing }
        for edge in graph.dependencies(of: row) {
            if graph[edge].on == other.place, other.isEnd == (graph[edge].when != .started) { return true }
        }
        return holdersInTheWay(of: node).contains(other)
    }

    private func isUnfinished(_ place: OperationIndex) -> Bool {
        table[place].id != 0 && table[place].state != .finished && !table[place].traits.contains(.ending)
    }

    /// Whether an operation waits, and could never be beside whoever holds this.
    func keepsOut(_ need: Need, _ place: OperationIndex) -> Bool {
        guard isUnfinished(place), table[place].state != .executing else { return false }
        return needsForNow(of: place).contains {
            $0.category == need.category && !categories[need.category].canShare($0, need)
        }
    }

    /// The ends of groups and producers that an operation could never be beside.
    private func holdersInTheWay(of node: WaitNode) -> [WaitNode] {
        guard !node.isEnd, table[node.place].state != .executing else { return [] }
        var result: [WaitNode] = []
        for need in needsForNow(of: node.place) {
            for holder in categories[need.category].familyHolders where isSpan(holder) {
                guard let index = table[holder].execution else { continue }
                let held = executions[index].holding.first { $0.category == need.category }
                if let held, !categories[need.category].canShare(need, held) { result.append(.end(holder)) }
            }
        }
        return result
    }

    /// What an operation takes where it takes it now: not what it will take of a group that has yet to start.
    private func needsForNow(of place: OperationIndex) -> [Need] {
        guard table[place].categories != nil else { return [] }
        let bases = categories.needs(of: table[place].categories)
        return zip(bases, registry.resolvedNeeds(of: place)).filter { base, _ in
            for parent in table.ancestors(of: place) {
                if table[parent].state == .executing { break }
                if categories.needs(of: table[parent].categories).contains(where: { $0.category == base.category }) {
                    return false
                }
            }
            return true
        }.map(\.1)
    }

    /// Whether all that is to come, with what is held, may be too much for a category beside a group that takes it.
    func mayTie(_ need: Need, of place: OperationIndex, among nodes: [WaitNode]) -> Bool {
        var units = need.mode == .units ? Int64(need.units) : 0
        var isAny = false
        for node in nodes where !node.isEnd && node.place != place && table[node.place].state != .executing {
            for other in needsForNow(of: node.place) where other.category == need.category {
                isAny = true
                if other.mode != need.mode || other.mode == .exclusive { return true }
                units += Int64(other.units)
            }
        }
        guard isAny, need.mode == .units else { return false }
        return units + Int64(categories[need.category].usedUnits) > Int64(max(1, categories[need.category].capacity))
    }
}
