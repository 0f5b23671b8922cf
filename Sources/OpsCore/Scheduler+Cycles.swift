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

    /// A producer finishes after its children: what waits for it cannot be what they wait for.
    private func checkChildren(
        _ submission: Submission, _ queueIndices: [QueueIndex], of producer: OperationID
    ) throws(Rejection) {
        guard let parent = table.index(of: producer) else { return }
        let above = table.chain(from: parent).map { WaitNode.end($0) }
        var targets: [(from: Int32, node: WaitNode)] = []
        for edge in submission.edges {
            guard case .existing(let id) = edge.on, let operation = unfinished(id) else { continue }
            targets.append((edge.from, edge.when.node(of: operation)))
        }
        for (i, draft) in submission.operations.enumerated() {
            let queue = queueIndices[Int(draft.queue)]
            let isPrivileged = privilegedUsers.contains(submission.user)
            let waits = registry.barriers.waits(
                ofNewChildOf: parent, in: queue, isPrivileged ? nil : partitions.find(queue, submission.user),
                isBarrier: draft.flags.contains(.barrier), isPrivileged: isPrivileged, in: table)
            for other in waits { targets.append((Int32(i), .end(other))) }
        }
        let view = WaitView(registry)
        var checked: Set<WaitNode> = []
        for (from, node) in targets where checked.insert(node).inserted {
            for goal in above {
                guard let path = view.path(from: node, to: goal) else { continue }
                if path.count == 1, goal == .end(parent) { throw .waitsForOwnProducer(producer) }
                throw .cycle([.local(from)] + view.name(path) + [.local(from)])
            }
        }
    }
}
