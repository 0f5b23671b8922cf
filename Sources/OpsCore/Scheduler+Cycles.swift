extension Scheduler {
    /// The cycle that an edge of `from` on `target` would close, in order, its first repeated at the end.
    func cycle(closedBy from: Int32, waitingFor node: WaitNode) -> [DraftEdge.Target]? {
        guard let path = path(from: node, to: .start(from), throughCategories: true) else { return nil }
        return name([.start(from)] + path)
    }

    /// How `node` comes to wait for `goal`, both ends included; nil when it does not.
    func path(from node: WaitNode, to goal: WaitNode, throughCategories: Bool = false) -> [WaitNode]? {
        if node == goal { return [node] }
        var cameFrom: [WaitNode: WaitNode] = [node: node]
        var open = [node]
        while let next = open.popLast() {
            for other in waits(of: next, throughCategories: throughCategories) where cameFrom[other] == nil {
                cameFrom[other] = next
                guard other == goal else {
                    open.append(other)
                    continue
                }
                var path = [other]
                var back = other
                while back != node, let earlier = cameFrom[back] {
                    path.append(earlier)
                    back = earlier
                }
                return path.reversed()
            }
        }
        return nil
    }

    /// What must come first, one step away.
    func waits(of node: WaitNode, throughCategories: Bool = false) -> [WaitNode] {
        var result: [WaitNode] = []
        let row = table[node.place]
        if node.isEnd {
            if row.state != .executing { result.append(.start(node.place)) }
            if row.family >= 0 {
                for id in families[row.family].children {
                    if let child = unfinished(OperationID(id)) { result.append(.end(child)) }
                }
            }
            return result
        }
        guard row.state != .executing else { return [] }
        var edge = row.firstDependency
        while edge >= 0 {
            let on = graph[edge].on
            if on >= 0 { result.append(graph[edge].when == .started ? .start(on) : .end(on)) }
            edge = graph[edge].nextDependency
        }
        if row.parent >= 0, table[row.parent].state != .executing { result.append(.start(row.parent)) }
        result += barrierWaits(of: node.place)
        guard throughCategories else { return result }
        for need in resolvedNeeds(of: node.place) where !categories[need.category].fits(need.mode, need.units) {
            result += categories[need.category].familyHolders.map { .end($0) }
        }
        return result
    }

    /// What the groups above an operation hold must not be what it is to wait for.
    func checkLockUps(above place: Int32, waitingFor node: WaitNode) throws(Rejection) {
        var ancestor = table[place].parent
        while ancestor >= 0 {
            if table[ancestor].state == .executing {
                let holding = executions[table[ancestor].place].holding
                if let (other, _) = lockUp(ancestor, holding, [node]) {
                    throw .cycle(name([.start(place), .start(other), .end(ancestor), .start(place)]))
                }
            }
            ancestor = table[ancestor].parent
        }
    }

    func name(_ nodes: [WaitNode]) -> [DraftEdge.Target] {
        var result: [DraftEdge.Target] = []
        for node in nodes {
            let target = DraftEdge.Target.existing(table[node.place].operationID)
            if result.last != target { result.append(target) }
        }
        if result.count == 1 { result.append(result[0]) }
        return result
    }

    // MARK: Within a submission

    /// Refuses a submission whose operations wait for one another in a circle, or for their own producer.
    func checkCycles(_ submission: Submission, _ queuePlaces: [Int32]) throws(Rejection) {
        var isBackward = true
        for edge in submission.edges {
            if case .local(let on) = edge.on, on >= edge.from { isBackward = false }
        }
        // Edges that all point back cannot close a circle, unless a group waits for its children too.
        let hasGroups = submission.operations.contains { $0.group >= 0 }
        let hasBarriers = submission.operations.contains { $0.flags.contains(.barrier) }
        if !isBackward || (hasGroups && (hasBarriers || !submission.edges.isEmpty)) {
            if let cycle = DraftCycle(submission).find() { throw .cycle(cycle) }
        }
        guard submission.asChildren, let producer = submission.producer else { return }
        try checkChildren(submission, queuePlaces, of: producer)
    }

    /// A producer finishes after its children: what waits for it cannot be what they wait for.
    private func checkChildren(
        _ submission: Submission, _ queuePlaces: [Int32], of producer: OperationID
    ) throws(Rejection) {
        var above: [WaitNode] = []
        var ancestor = table.place(of: producer)
        while ancestor >= 0 {
            above.append(.end(ancestor))
            ancestor = table[ancestor].parent
        }
        var targets: [(from: Int32, node: WaitNode)] = []
        for edge in submission.edges {
            guard case .existing(let id) = edge.on, let place = unfinished(id) else { continue }
            targets.append((edge.from, edge.when == .started ? .start(place) : .end(place)))
        }
        for (i, draft) in submission.operations.enumerated() {
            for node in newcomerWaits(
                in: queuePlaces[Int(draft.queue)], isBarrier: draft.flags.contains(.barrier), under: above[0].place)
            {
                targets.append((Int32(i), node))
            }
        }
        for (i, draft) in submission.operations.enumerated() where draft.categories >= 0 {
            for node in holders(of: submission.categorySets[Int(draft.categories)], under: above[0].place) {
                targets.append((Int32(i), node))
            }
        }
        var checked: Set<WaitNode> = []
        for (from, node) in targets where checked.insert(node).inserted {
            for goal in above {
                guard let path = path(from: node, to: goal, throughCategories: true) else { continue }
                if path.count == 1, goal == above[0] { throw .waitsForOwnProducer(producer) }
                throw .cycle([.local(from)] + name(path) + [.local(from)])
            }
        }
        for goal in above {
            guard let (other, _) = lockUp(goal.place, executions[table[goal.place].place].holding, Array(checked))
            else {
                continue
            }
            throw .cycle([.local(0)] + name([.start(other), goal]) + [.local(0)])
        }
    }

    /// The groups and producers that hold what a new child of `parent` wants.
    func holders(of uses: [CategoryUse], under parent: Int32) -> [WaitNode] {
        var needs: [Need] = []
        for use in uses {
            guard let category = categories.find(use.name) else { continue }
            needs.append(Need(category: category, mode: use.mode, units: use.units))
        }
        return resolve(needs, under: parent).flatMap { need in
            categories[need.category].fits(need.mode, need.units)
                ? [] : categories[need.category].familyHolders.filter { $0 != parent }.map { WaitNode.end($0) }
        }
    }
}

/// The start or the end of an operation, as something to wait for.
struct WaitNode: Hashable {
    let place: Int32
    let isEnd: Bool
    static func start(_ place: Int32) -> WaitNode { WaitNode(place: place, isEnd: false) }
    static func end(_ place: Int32) -> WaitNode { WaitNode(place: place, isEnd: true) }
}
