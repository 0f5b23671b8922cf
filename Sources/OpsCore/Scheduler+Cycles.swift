extension Scheduler {
    // MARK: Within a submission

    /// Refuses a submission whose operations wait for one another in a cycle, or for their own producer.
    func checkCycles(_ submission: Submission, _ queueIndices: [QueueIndex]) throws(Rejection) {
        var isBackward = true
        for edge in submission.edges {
            if case .local(let on) = edge.on, on >= edge.from { isBackward = false }
        }
        // Edges that all point back cannot close a cycle, unless a group waits for its children too.
        let hasGroups = submission.operations.contains { $0.group != nil }
        let hasBarriers = submission.operations.contains { $0.flags.contains(.barrier) }
        if !isBackward || (hasGroups && (hasBarriers || !submission.edges.isEmpty)) {
            let draft = DraftCycle(submission)
            if let cycle = draft.find() { throw .cycle(cycle) }
            // Children are checked again once they are in the table.
            if !submission.asChildren, let refusal = draft.deadlock(capacity: categories.capacity(of:)) {
                throw refusal
            }
        }
        guard submission.asChildren, let producer = submission.producer else { return }
        try checkChildren(submission, queueIndices, of: producer)
    }

    /// Refuses children that wait for an operation that waits for their producer, which finishes after them.
    private func checkChildren(
        _ submission: Submission, _ queueIndices: [QueueIndex], of producer: OperationID
    ) throws(Rejection) {
        guard let parent = table.index(of: producer) else { return }
        let above = table.chain(from: parent).map { WaitNode.end($0) }
        let view = WaitView(registry)
        // Events that children wait for, in the order of the children, and the first child that waits for each.
        var nodes: [WaitNode] = []
        var children: [WaitNode: Int32] = [:]
        func add(_ node: WaitNode, of child: Int32) {
            guard children[node] == nil else { return }
            children[node] = child
            nodes.append(node)
        }
        for edge in submission.edges {
            guard case .existing(let id) = edge.on, let operation = unfinished(id) else { continue }
            add(edge.when.node(of: operation), of: edge.from)
        }
        let isPrivileged = privilegedUsers.contains(submission.user)
        // Children of one queue wait for the same barriers, and its barriers for the same operations.
        var checkedRoles: Set<BarrierRole> = []
        for (i, draft) in submission.operations.enumerated() {
            let queue = queueIndices[Int(draft.queue)]
            let isBarrier = draft.flags.contains(.barrier)
            guard checkedRoles.insert(BarrierRole(queue: queue, isBarrier: isBarrier)).inserted else { continue }
            let waits = registry.barriers.waits(
                ofNewChildOf: parent, in: queue, isPrivileged ? nil : partitions.find(queue, submission.user),
                isBarrier: isBarrier, isPrivileged: isPrivileged, in: table)
            for other in waits { add(.end(other), of: Int32(i)) }
        }
        guard let path = view.path(from: nodes, to: Set(above)), let child = children[path[0]] else { return }
        if path == [.end(parent)] { throw .waitsForOwnProducer(producer) }
        throw .cycle([.local(child)] + view.name(path) + [.local(child)])
    }
}

/// Properties of a new operation that decide which others the operation waits for because of barriers.
private struct BarrierRole: Hashable {
    var queue: QueueIndex
    var isBarrier: Bool
}
