/// Requests that might close a cycle or a deadlock are tried on a view, and refused before anything is changed.
extension Scheduler {
    /// Refuses a request that would close a deadlock. `sets`: the categories that the request names. `propose` gets
    /// their indices, changes the view, and returns the affected operations.
    private mutating func refuseDeadlock(
        _ sets: [[CategoryUse]],
        _ propose: (_ view: inout WaitView, _ sets: [CategorySetIndex?]) throws(Rejection) -> [OperationIndex]
    ) throws(Rejection) {
        var retained: [CategorySetIndex?] = []
        for set in sets { retained.append(categories.retain(set)) }
        let rejection = rejection(retained, propose)
        for set in retained { categories.release(set) }
        if let rejection { throw rejection }
    }

    private func rejection(
        _ sets: [CategorySetIndex?],
        _ propose: (inout WaitView, [CategorySetIndex?]) throws(Rejection) -> [OperationIndex]
    ) -> Rejection? {
        let present = WaitView(registry)
        var proposed = present
        do throws(Rejection) {
            let affected = try propose(&proposed, sets)
            return proposed.deadlock(around: affected, notIn: present).map { proposed.rejection($0) }
        } catch {
            return error
        }
    }

    // MARK: Children

    /// Refuses children that would wait for their own parent, through an edge, a barrier or a category.
    mutating func checkDeadlock(
        _ submission: Submission, _ first: OperationID, _ queues: [QueueIndex], under parent: OperationIndex
    ) throws(Rejection) {
        let (registry, graph) = (registry, table[parent].graph)
        try refuseDeadlock(submission.categorySets) { view, sets throws(Rejection) in
            view.firstSubmitted = first
            var added: [OperationIndex] = []
            added.reserveCapacity(submission.operations.count)
            for (offset, draft) in submission.operations.enumerated() {
                let queue = queues[Int(draft.queue)]
                let isPrivileged = registry.privilegedUsers.contains(submission.user)
                let partition = isPrivileged ? nil : view.partition(in: queue, of: submission.user)
                let row = OperationRow(
                    id: first.rawValue + Int64(offset), origin: OperationOrigin(graph: graph, partition: partition),
                    parent: draft.group.map { added[Int($0)] } ?? parent, queue: queue,
                    categories: draft.categories.flatMap { sets[Int($0)] }, policy: nil, traits: Traits(draft.flags),
                    priority: 0)
                added.append(view.add(row))
            }
            for edge in submission.edges {
                switch edge.on {
                case .local(let offset):
                    view.addEdge(from: added[Int(edge.from)], on: added[Int(offset)], when: edge.when)
                case .existing(let id):
                    guard let on = registry.unfinished(id) else { continue }
                    view.addEdge(from: added[Int(edge.from)], on: on, when: edge.when)
                }
            }
            view.joinBarriers(added)
            return added
        }
    }

    /// Returns whether children may close a deadlock: they wait for others, or need a category.
    func mayDeadlock(_ submission: Submission) -> Bool {
        let waits = submission.edges.contains { edge in if case .existing = edge.on { true } else { false } }
        let isOrdered =
            submission.queues.contains { queues.find($0).map { registry.barriers.hasBarriers(in: $0) } ?? false }
            || submission.operations.contains { $0.flags.contains(.barrier) }
        guard waits || isOrdered || submission.operations.contains(where: { $0.categories != nil }) else {
            return false
        }
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) && $0.categories != nil }
        return hasGroups || registry.hasLongHolders
            || submission.producer.flatMap(unfinished).map { table[$0].categories != nil } ?? false
    }

    // MARK: Operations that come back

    /// Refuses a retry of operations that would wait for operations that wait for them.
    mutating func checkDeadlock(
        _ rows: [Snapshot.Row], _ revived: Revival, _ queues: [QueueIndex]
    ) throws(Rejection) {
        let registry = registry
        try refuseDeadlock(revived.categorySets) { view, sets throws(Rejection) in
            var added: [OperationIndex] = []
            var ordered: Set<QueueIndex> = []
            for stored in rows {
                let queue = queues[Int(stored.queue)]
                let isPrivileged = registry.privilegedUsers.contains(stored.user)
                let partition = isPrivileged ? nil : view.partition(in: queue, of: stored.user)
                let row = OperationRow(
                    id: stored.id.rawValue, origin: OperationOrigin(graph: stored.graph.rawValue, partition: partition),
                    parent: view.rows.index(of: stored.parent), queue: queue,
                    categories: stored.categories.flatMap { sets[Int($0)] }, policy: nil,
                    traits: Traits(stored.flags), priority: 0)
                added.append(view.add(row))
                if row.traits.contains(.barrier) || view.hasBarriers(in: queue) { ordered.insert(queue) }
            }
            for edge in revived.edges where revived.contains(edge.from) {
                guard let from = view.rows.unfinished(edge.from), let on = view.rows.unfinished(edge.on) else {
                    continue
                }
                view.addEdge(from: from, on: on, when: edge.when)
            }
            view.rebuildBarriers(of: ordered)
            return added
        }
    }

    // MARK: Edits

    /// Refuses moves after which operations would wait for one another because of barriers, and moves and categories
    /// after which they would do so because of categories that groups hold.
    mutating func checkDeadlock(
        _ groups: [EditedTogether], _ changed: [(operation: OperationIndex, group: Int)],
        _ moves: [(operation: OperationIndex, queue: QueueIndex)]
    ) throws(Rejection) {
        let isOrdered = moves.contains {
            registry.barriers.hasBarriers(in: $0.queue) || table[$0.operation].traits.contains(.barrier)
        }
        let mayWaitMore = !moves.isEmpty || groups.contains { $0.edit.categories?.isEmpty == false }
        let hasLongHolders = registry.hasLongHolders || changed.contains { table[$0.operation].group != nil }
        guard isOrdered || mayWaitMore && hasLongHolders else { return }
        try refuseDeadlock(groups.map { $0.edit.categories ?? [] }) { view, sets throws(Rejection) in
            var ordered: Set<QueueIndex> = []
            for (operation, queue) in moves where view.rows[operation].queue != queue {
                let old = view.rows[operation].queue
                if view.rows[operation].traits.contains(.barrier) || view.hasBarriers(in: old)
                    || view.hasBarriers(in: queue)
                {
                    ordered.formUnion([old, queue])
                }
                view.move(operation, to: queue)
            }
            view.rebuildBarriers(of: ordered)
            if isOrdered {
                for node in view.blockedByCycles(moves.flatMap { [WaitNode.start($0.operation), .end($0.operation)] }) {
                    guard let path = view.path(from: view.waits(of: node), to: [node]) else { continue }
                    throw .cycle(view.name([node] + path))
                }
            }
            guard mayWaitMore, hasLongHolders else { return [] }
            for (operation, group) in changed where groups[group].edit.categories != nil {
                view.setCategories(sets[group], of: operation)
            }
            return changed.map(\.operation)
        }
    }
}

extension Revival {
    /// Returns whether an operation is among those that return.
    func contains(_ id: OperationID) -> Bool { row(of: id) != nil }

    /// Returns an operation if it is among those that return.
    func row(of id: OperationID) -> Snapshot.Row? {
        var (low, high) = (0, operations.count)
        while low < high {
            let middle = (low + high) / 2
            if operations[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < operations.count && operations[low].id == id ? operations[low] : nil
    }
}
