/// Checks of a submission before anything of it is stored. (Cycles: see Scheduler+Cycles and Scheduler+Proposals.)
extension Scheduler {
    func checkSizes(_ submission: Submission) throws(Rejection) {
        if submission.operations.count > Limits.operationsPerSubmission {
            throw .tooMany(what: "operations", limit: Limits.operationsPerSubmission)
        }
        if submission.edges.count > Limits.edgesPerSubmission {
            throw .tooMany(what: "edges", limit: Limits.edgesPerSubmission)
        }
        for set in submission.categorySets where set.count > Limits.categoriesPerOperation {
            throw .tooMany(what: "categories", limit: Limits.categoriesPerOperation)
        }
        for policy in submission.policies where policy.conditions.count > Limits.conditionsPerOperation {
            throw .tooMany(what: "conditions", limit: Limits.conditionsPerOperation)
        }
    }

    /// Refuses what may need more partitions, or another graph, than there is room for in a row.
    func checkOrigins(_ more: Int) throws(Rejection) {
        if partitions.pool.count + more > OperationOrigin.partitions {
            throw .tooMany(what: "users in queues", limit: OperationOrigin.partitions)
        }
        if output.nextGraph > OperationOrigin.lastGraph {
            throw .tooMany(what: "graphs", limit: Int(OperationOrigin.lastGraph))
        }
    }

    /// Refuses what would give an ordinary user more unfinished operations than one may have.
    func checkRoom(for more: Int, of user: UInt32) throws(Rejection) {
        guard !privilegedUsers.contains(user), partitions.members(of: user) + more > registry.operationsPerUser else {
            return
        }
        // Operations that finish in this turn are still there.
        let finished = scratch.endings.count { ending in
            table[ending.operation].partition.map { partitions[$0].key.user } == user
        }
        let unfinished = partitions.members(of: user) - finished
        if unfinished + more > registry.operationsPerUser {
            throw .tooManyOfUser(user, unfinished: unfinished, more: more, limit: registry.operationsPerUser)
        }
    }

    /// Returns the producer. A child needs one that executes and is not about to end.
    func checkProducer(_ submission: Submission) throws(Rejection) -> OperationIndex? {
        guard let producer = submission.producer else { return nil }
        guard let operation = unfinished(producer) else {
            if submission.asChildren { throw .producerClosed(producer) }
            return nil
        }
        guard submission.asChildren else { return operation }
        guard table[operation].state == .executing, !isClosing(operation) else { throw .producerClosed(producer) }
        return operation
    }

    /// Its end, or that of a group above it, is decided: nothing new begins below it.
    func isClosing(_ operation: OperationIndex) -> Bool {
        table.chain(from: operation).contains { next in
            if table[next].traits.contains(.ending) { return true }
            guard let execution = table[next].execution else { return false }
            return executions[execution].isCancelling
        }
    }

    func indices(ofQueues names: [String]) throws(Rejection) -> [QueueIndex] {
        var result: [QueueIndex] = []
        for name in names {
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            result.append(queue)
        }
        return result
    }

    func checkEdges(_ submission: Submission) throws(Rejection) {
        for edge in submission.edges {
            guard case .existing(let id) = edge.on else { continue }
            let isKnown = table.index(of: id) != nil || submission.finished[id] != nil
            guard isKnown, id.rawValue < output.nextOperation else { throw .unknownOperation(id) }
        }
    }

    /// No set asks for more than there is, and no child for more than the group above it holds.
    func checkCategories(_ submission: Submission, under parent: OperationIndex?) throws(Rejection) {
        for (index, set) in submission.categorySets.enumerated() {
            guard let operation = submission.operations.firstIndex(where: { $0.categories == Int32(index) }) else {
                continue
            }
            try checkCapacity(CategoryUse.strictest(set), of: .local(Int32(operation)))
        }
        var depth: [Int32] = []
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) }
        guard hasGroups || parent != nil else { return }
        let base: Int32 = parent.map { registry.depth(of: $0) + 1 } ?? 0
        for (operation, draft) in submission.operations.enumerated() {
            depth.append(draft.group.map { depth[Int($0)] + 1 } ?? base)
            if depth[depth.count - 1] > Limits.groupDepth {
                throw .tooMany(what: "groups in one another", limit: Limits.groupDepth)
            }
            guard let set = draft.categories else { continue }
            for use in CategoryUse.strictest(submission.categorySets[Int(set)]) {
                var above = draft.group
                var share: CategoryUse?
                while let index = above, share == nil {
                    let group = submission.operations[Int(index)]
                    if let set = group.categories {
                        let held = CategoryUse.strictest(submission.categorySets[Int(set)])
                        share = held.first { $0.name == use.name }
                    }
                    above = group.group
                }
                try check(
                    use, of: .local(Int32(operation)),
                    fits: share ?? parent.flatMap { registry.use(of: use.name, atOrAbove: $0) })
            }
        }
    }

    func checkCapacity(_ uses: [CategoryUse], of operation: DraftEdge.Target) throws(Rejection) {
        for use in uses where use.mode == .units {
            let capacity = categories.capacity(of: use.name)
            if capacity > 0, use.units > capacity {
                throw .unitsExceedCapacity(use, operation, capacity: capacity)
            }
        }
    }

    func check(
        _ use: CategoryUse, of operation: DraftEdge.Target, fits share: CategoryUse?
    ) throws(Rejection) {
        guard let share else { return }
        switch share.mode {
        case .exclusive: return
        case .shared:
            // Sharing with outsiders leaves nothing that a child could have alone.
            if use.mode != .shared { throw .unitsExceedShare(use, operation, of: share) }
        case .units:
            if use.mode == .units, use.units > share.units { throw .unitsExceedShare(use, operation, of: share) }
        }
    }
}
