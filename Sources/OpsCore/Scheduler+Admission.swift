/// Checks of a submission before anything of it is stored. (Cycles: see Scheduler+Cycles and Scheduler+Proposals.)
extension Scheduler {

    /// Refuses a request that may need more partitions, or higher ids of graphs and operations, than a row can hold.
    func checkOrigins(_ more: Int, newOperations: Int = 0) throws(Rejection) {
        if output.nextOperation > OperationRow.lastID - Int64(newOperations) {
            throw .tooMany(what: "operations", limit: Int(OperationRow.lastID))
        }
        if partitions.pool.count + more > OperationOrigin.partitions {
            throw .tooMany(what: "users in queues", limit: OperationOrigin.partitions)
        }
        if output.nextGraph > OperationOrigin.lastGraph {
            throw .tooMany(what: "graphs", limit: Int(OperationOrigin.lastGraph))
        }
    }

    /// Refuses a request after which an ordinary user would have more unfinished operations than the limit.
    func checkRoom(for more: Int, of user: UInt32) throws(Rejection) {
        guard !privilegedUsers.contains(user), partitions.members(of: user) + more > registry.operationsPerUser else {
            return
        }
        // Operations that finish in this turn are still there.
        let finished = scratch.finished.count { finished in
            table[finished.operation].partition.map { partitions[$0].key.user } == user
        }
        let unfinished = partitions.members(of: user) - finished
        if unfinished + more > registry.operationsPerUser {
            throw .tooManyOfUser(user, unfinished: unfinished, more: more, limit: registry.operationsPerUser)
        }
    }

    /// Refuses a request after which an ordinary user would have more edges between unfinished operations than the limit.
    func checkEdgeRoom(for more: Int, of user: UInt32) throws(Rejection) {
        guard more > 0, !privilegedUsers.contains(user), partitions.edges(of: user) + more > registry.edgesPerUser
        else {
            return
        }
        throw .tooManyEdgesOfUser(user, limit: registry.edgesPerUser)
    }

    /// Refuses a request after which the unfinished operations of an ordinary user would have more categories in
    /// different sets than the limit.
    func checkCategoryRoom(for sets: some Collection<[CategoryUse]>, of user: UInt32) throws(Rejection) {
        guard !privilegedUsers.contains(user) else { return }
        let held = categories.count(ofUser: user)
        let most = sets.reduce(0) { $0 + $1.count }
        guard held + most > registry.categoriesPerUser else { return }
        let new = categories.newCategories(in: sets, of: user)
        if new > 0, held + new > registry.categoriesPerUser {
            throw .tooManyCategoriesOfUser(user, limit: registry.categoriesPerUser)
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
        guard table[operation].state == .executing, !registry.isClosing(operation) else {
            throw .producerClosed(producer)
        }
        return operation
    }

    func checkEdges(_ submission: Submission) throws(Rejection) {
        for edge in submission.edges {
            guard case .existing(let id) = edge.on else { continue }
            let isKnown = table.index(of: id) != nil || submission.finished[id] != nil
            guard isKnown, id.rawValue < output.nextOperation else { throw .unknownOperation(id) }
        }
    }

    /// Refuses a use of a category that exceeds its capacity, or the share of a group around the operation.
    func checkCategories(_ submission: Submission, under parent: OperationIndex?) throws(Rejection) {
        var firstUsers = [Int32?](repeating: nil, count: submission.categorySets.count)
        for (operation, draft) in submission.operations.enumerated() {
            guard let set = draft.categories, firstUsers[Int(set)] == nil else { continue }
            firstUsers[Int(set)] = Int32(operation)
        }
        let sets = submission.categorySets.map { CategoryUse.strictest($0) }
        for (uses, firstUser) in zip(sets, firstUsers) {
            guard let firstUser else { continue }
            try registry.checkCapacity(uses, of: .local(firstUser))
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
            for use in sets[Int(set)] {
                var above = draft.group
                var share: CategoryUse?
                while let index = above, share == nil {
                    let group = submission.operations[Int(index)]
                    if let set = group.categories {
                        share = sets[Int(set)].first { $0.name == use.name && $0.mode != .exclusive }
                    }
                    above = group.group
                }
                try use.check(
                    of: .local(Int32(operation)),
                    fits: share ?? parent.flatMap { registry.use(of: use.name, atOrAbove: $0) })
            }
        }
    }

}
