/// Groups (and producers) hold categories until their children have ended: whoever those wait for must not want them.
/// Requests after which the order of things closes a circle are refused; a start that would close one waits.
extension Scheduler {
    /// Operations that wait for one another in a circle, and the category that ties it, if one does.
    struct LockUp {
        /// Each waits for the next; the first is repeated at the end.
        var circle: [OperationIndex]
        var category: String?
        /// Nodes that never come to pass.
        var stuck: Set<WaitNode>
        /// The nodes of the circle, where it is a plain one.
        var way: [WaitNode] = []
    }

    /// What is to be supposed beside what there is.
    struct Supposition {
        /// It has just started.
        var started: OperationIndex?
        /// `from` waits for `node` too.
        var edge: (from: OperationIndex, node: WaitNode)?
    }

    /// Whether an operation holds, or once started will hold, its categories until its children have ended.
    func isSpan(_ place: OperationIndex) -> Bool {
        let row = table[place]
        guard let family = row.family, row.categories != nil, row.state != .finished else { return false }
        return row.isGroup || families[family].unfinished > 0
    }

    var hasSpans: Bool { families.count > 0 && families.indices.contains { isSpan(families[$0].parent) } }

    /// What would wait for the end of a group for ever if it started now: nil when it may. Such a group lets the
    /// others go first.
    func lockUp(starting place: OperationIndex, _ needs: [Need]) -> LockUp? {
        guard !needs.isEmpty, isSpan(place) else { return nil }
        if let way = roundabout(from: place, needs), let last = way.last {
            let tie = needs.first { keepsOut($0, last.place) }
            var found = LockUp(
                circle: [], category: tie.map { categories[$0.category].name }, stuck: Set(way), way: way)
            for node in way + [.end(place)] where found.circle.last != node.place { found.circle.append(node.place) }
            return found
        }
        let nodes = reach([.end(place)], Supposition())
        guard needs.contains(where: { mayTie($0, of: place, among: nodes) }) else { return nil }
        let found = lockUp(among: nodes, Supposition(started: place))
        return found?.stuck.contains(.end(place)) == true ? found : nil
    }

    /// What is locked up already around an operation.
    func lockUp(around place: OperationIndex) -> LockUp? {
        guard hasSpans else { return nil }
        let found = lockUp(among: reach([.start(place), .end(place)], Supposition()), Supposition())
        return found?.stuck.contains(.end(place)) == true ? found : nil
    }

    // MARK: Requests

    /// Refuses an edge after which nothing of some circle could ever go on.
    func checkLockUp(_ from: OperationIndex, waitingFor node: WaitNode) throws(Rejection) {
        guard hasSpans else { return }
        // What does not come back to where it began closes no circle.
        guard reach([node], Supposition()).contains(.start(from)) else { return }
        let edge = Supposition(edge: (from, node))
        let nodes = reach([.start(from)], edge)
        if let found = lockUp(among: nodes, edge), lockUp(among: nodes, Supposition()) == nil { throw refusal(found) }
    }

    /// Makes a change, unless something could never go on after it that could before.
    mutating func unlessLockedUp(
        _ isPossible: Bool, _ change: (inout Scheduler) throws(Rejection) -> [OperationIndex]
    ) throws(Rejection) -> [OperationIndex] {
        guard isPossible else { return try change(&self) }
        let before = self
        let changed = try change(&self)
        let nodes = reach(changed.flatMap { [WaitNode.start($0), .end($0)] }, Supposition())
        guard let found = lockUp(among: nodes, Supposition()) else { return changed }
        let spans = before.families.indices.map { before.families[$0].parent }.filter { before.isSpan($0) }
        let wasLockedUp = before.lockUp(among: before.reach(spans.map { .end($0) }, Supposition()), Supposition())
        // Who was locked up before is let be, but what comes with this change makes no circle of its own.
        guard wasLockedUp == nil || found.circle.contains(where: { changed.contains($0) }) else { return changed }
        let refusal = refusal(found)
        self = before
        throw refusal
    }

    private func refusal(_ found: LockUp) -> Rejection {
        let circle = found.circle.map { DraftEdge.Target.existing(table[$0].operationID) }
        return found.category.map { .lockUp(circle, category: $0) } ?? .cycle(circle)
    }

    // MARK: What is to be looked at

    /// All that must come to pass before these, however indirectly, these included, and more than that: whatever
    /// holds categories until its end is looked at as a whole.
    func reach(_ nodes: [WaitNode], _ supposed: Supposition) -> [WaitNode] {
        var seen: Set<WaitNode> = []
        var result: [WaitNode] = []
        var open = nodes
        while let node = open.popLast() {
            guard seen.insert(node).inserted else { continue }
            result.append(node)
            open += waits(of: node)
            if !node.isEnd {
                if isSpan(node.place) { open.append(.end(node.place)) }
                if table[node.place].state != .executing, table[node.place].categories != nil {
                    for need in registry.resolvedNeeds(of: node.place) {
                        open += categories[need.category].familyHolders.map { .end($0) }
                    }
                }
                if let edge = supposed.edge, edge.from == node.place { open.append(edge.node) }
            }
            if let span = enclosingSpan(of: node.place) { open.append(.end(span)) }
        }
        return result
    }

    private func enclosingSpan(of place: OperationIndex) -> OperationIndex? {
        table.ancestors(of: place).first { isSpan($0) }
    }

    private func lockUp(among nodes: [WaitNode], _ supposed: Supposition) -> LockUp? {
        var index: [OperationIndex: Int32] = [:]
        var places: [OperationIndex] = []
        for node in nodes where index[node.place] == nil {
            index[node.place] = Int32(places.count)
            places.append(node.place)
        }
        func number(_ node: WaitNode) -> Int32 { 2 * (index[node.place] ?? 0) + (node.isEnd ? 1 : 0) }
        var arcs: [Entanglement.Arc] = []
        for node in nodes where node.isEnd || node.place != supposed.started {
            var before = waits(of: node)
            if let edge = supposed.edge, edge.from == node.place, !node.isEnd { before.append(edge.node) }
            for other in before where index[other.place] != nil {
                arcs.append(Entanglement.Arc(before: number(other), after: number(node)))
            }
        }
        let members = places.map { place in
            Entanglement.Member(
                enclosing: enclosingSpan(of: place).flatMap { index[$0] }, uses: uses(of: place),
                isSpan: isSpan(place), isExecuting: table[place].state == .executing || place == supposed.started)
        }
        var problem = Entanglement(members, arcs)
        guard let knot = problem.knot() else { return nil }
        let name = knot.category.map { categories[$0].name }
        return LockUp(
            circle: knot.circle.map { places[Int($0)] }, category: name,
            stuck: Set(nodes.filter { knot.isStuck[Int(number($0))] }))
    }

    /// What an operation wants of each category, among whom: all, or what is in the group around it that holds it.
    private func uses(of place: OperationIndex) -> [Entanglement.Use] {
        categories.needs(of: table[place].categories).map { need in
            var (domain, capacity) = (OperationIndex?.none, categories[need.category].capacity)
            for ancestor in table.ancestors(of: place) {
                let held = categories.needs(of: table[ancestor].categories).first { $0.category == need.category }
                guard let held else { continue }
                domain = ancestor
                if held.mode == .units { capacity = held.units }
                break
            }
            // One that is closed now will be opened: it has no fewer than one then.
            return Entanglement.Use(domain: domain?.rawValue, need: need, capacity: max(1, capacity))
        }
    }
}
