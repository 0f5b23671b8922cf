extension Scheduler {
    /// The cycle that an edge of `from` on `target` would close, in order, its first repeated at the end.
    func cycle(closedBy from: OperationIndex, waitingFor node: WaitNode) -> [DraftEdge.Target]? {
        guard let path = path(from: node, to: .start(from)) else { return nil }
        return name([.start(from)] + path)
    }

    /// How `node` comes to wait for `goal`, both ends included; nil when it does not.
    func path(from node: WaitNode, to goal: WaitNode) -> [WaitNode]? {
        if node == goal { return [node] }
        var cameFrom: [WaitNode: WaitNode] = [node: node]
        var open = [node]
        while let next = open.popLast() {
            for other in waits(of: next) where cameFrom[other] == nil {
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
    func waits(of node: WaitNode) -> [WaitNode] {
        var result: [WaitNode] = []
        let row = table[node.place]
        if node.isEnd {
            if row.state != .executing { result.append(.start(node.place)) }
            if let family = row.family {
                for id in families[family].children {
                    if let child = unfinished(OperationID(id)) { result.append(.end(child)) }
                }
            }
            return result
        }
        guard row.state != .executing else { return [] }
        for edge in graph.dependencies(of: row) {
            if let on = graph[edge].on { result.append(graph[edge].when == .started ? .start(on) : .end(on)) }
        }
        if let parent = row.parent, table[parent].state != .executing { result.append(.start(parent)) }
        return result + registry.barriers.waits(of: node.place, in: table).map { .end($0) }
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
    func checkCycles(_ submission: Submission, _ queuePlaces: [QueueIndex]) throws(Rejection) {
        var isBackward = true
        for edge in submission.edges {
            if case .local(let on) = edge.on, on >= edge.from { isBackward = false }
        }
        // Edges that all point back cannot close a circle, unless a group waits for its children too.
        let hasGroups = submission.operations.contains { $0.group != nil }
        let hasBarriers = submission.operations.contains { $0.flags.contains(.barrier) }
        if !isBackward || (hasGroups && (hasBarriers || !submission.edges.isEmpty)) {
            let draft = DraftCycle(submission)
            if let cycle = draft.find() { throw .cycle(cycle) }
            // Of children more is to be said, once they are in the table.
            if !submission.asChildren, let refusal = draft.lockUp(capacity: categories.capacity(of:)) { throw refusal }
        }
        guard submission.asChildren, let producer = submission.producer else { return }
        try checkChildren(submission, queuePlaces, of: producer)
    }

    /// A producer finishes after its children: what waits for it cannot be what they wait for.
    private func checkChildren(
        _ submission: Submission, _ queuePlaces: [QueueIndex], of producer: OperationID
    ) throws(Rejection) {
        guard let parent = table.index(of: producer) else { return }
        let above = table.chain(from: parent).map { WaitNode.end($0) }
        var targets: [(from: Int32, node: WaitNode)] = []
        for edge in submission.edges {
            guard case .existing(let id) = edge.on, let place = unfinished(id) else { continue }
            targets.append((edge.from, edge.when == .started ? .start(place) : .end(place)))
        }
        for (i, draft) in submission.operations.enumerated() {
            let queue = queuePlaces[Int(draft.queue)]
            let isPrivileged = privilegedUsers.contains(submission.user)
            let waits = registry.barriers.waits(
                ofNewChildOf: parent, in: queue, isPrivileged ? nil : partitions.find(queue, submission.user),
                isBarrier: draft.flags.contains(.barrier), isPrivileged: isPrivileged, in: table)
            for other in waits { targets.append((Int32(i), .end(other))) }
        }
        var checked: Set<WaitNode> = []
        for (from, node) in targets where checked.insert(node).inserted {
            for goal in above {
                guard let path = path(from: node, to: goal) else { continue }
                if path.count == 1, goal == .end(parent) { throw .waitsForOwnProducer(producer) }
                throw .cycle([.local(from)] + name(path) + [.local(from)])
            }
        }
    }
}

/// The start or the end of an operation, as something to wait for.
struct WaitNode: Hashable {
    let place: OperationIndex
    let isEnd: Bool
    static func start(_ place: OperationIndex) -> WaitNode { WaitNode(place: place, isEnd: false) }
    static func end(_ place: OperationIndex) -> WaitNode { WaitNode(place: place, isEnd: true) }
}
