extension Scheduler {
    /// Opens a new run of finished operations: same ids, same edges.
    mutating func retry(_ ids: [OperationID], _ revived: Revival) throws(Rejection) -> Acceptance {
        if ids.count == 1, table.index(of: ids[0]) != nil { throw .notFinished(ids[0]) }
        var queueIndices: [QueueIndex] = []
        for name in revived.queues {
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            queueIndices.append(queue)
        }
        try checkOrigins(revived.operations.count)
        var rows: [Snapshot.Row] = []
        for var row in revived.operations where table.index(of: row.id) == nil {
            row.state = .pending
            row.run += 1
            row.attemptsInRun = 0
            row.hasStarted = false
            row.notBefore = .zero
            row.frozenBy = []
            rows.append(row)
        }
        let edges = revived.edges.reduce(into: [UInt32: Int]()) { count, edge in
            if let row = revived.row(of: edge.from) { count[row.user, default: 0] += 1 }
        }
        for (user, own) in Dictionary(grouping: rows, by: \.user).sorted(by: { $0.key < $1.key }) {
            try checkRoom(for: own.count, of: user)
            try checkEdgeRoom(for: edges[user] ?? 0, of: user)
            let sets = Set(own.compactMap(\.categories)).map { revived.categorySets[Int($0)] }
            try checkCategoryRoom(for: sets, of: user)
        }
        for row in rows where row.parent.rawValue != 0 && !revived.contains(row.parent) {
            guard let parent = unfinished(row.parent), !registry.isClosing(parent) else {
                throw .producerClosed(row.parent)
            }
        }
        try checkShares(rows, revived)
        if mayDeadlock(rows, revived, queueIndices) { try checkDeadlock(rows, revived, queueIndices) }
        leaveLanes(rows.map(\.parent))
        let operations = restore(
            rows, queues: queueIndices, categorySets: revived.categorySets, policies: revived.policies,
            endedChildren: revived.endedChildren)
        countEndedSince(revived.endedChildren)
        let impossible = restoreEdges(revived)
        rebuildAllBarriers()
        for row in rows { if let parent = unfinished(row.parent) { enterLane(parent) } }
        for operation in operations where table[operation].waiting == 0 { setState(operation, .ready) }
        for (operation, row) in zip(operations, rows) {
            let state = table[operation].state
            if state == .ready { table[operation].readyAt = now.wall }
            record(.reopened(row.id, run: row.run, state))
            publish(.retrying, operation, old: .finished, new: state)
            if state == .ready { publish(.ready, operation, new: .ready) }
        }
        raiseAll(operations)
        for operation in operations where table[operation].state == .ready {
            startAging(operation)
            enterLane(operation)
        }
        skip(impossible)
        return .done(operations.count)
    }

    /// Refuses categories that exceed what a group around the operation has: it may have been edited since.
    private func checkShares(_ rows: [Snapshot.Row], _ revived: Revival) throws(Rejection) {
        let sets = revived.categorySets.map { CategoryUse.strictest($0) }
        for row in rows where row.parent.rawValue != 0 {
            guard let set = row.categories else { continue }
            for use in sets[Int(set)] {
                var (above, share) = (row.parent, CategoryUse?.none)
                while share == nil, unfinished(above) == nil, let group = revived.row(of: above) {
                    if let set = group.categories {
                        share = sets[Int(set)].first { $0.name == use.name && $0.mode != .exclusive }
                    }
                    above = group.parent
                }
                share = share ?? unfinished(above).flatMap { registry.use(of: use.name, atOrAbove: $0) }
                try use.check(of: .existing(row.id), fits: share)
            }
        }
    }

    /// Returns whether returning operations may wait for operations that wait for them: through a barrier, a parent or
    /// a category.
    private func mayDeadlock(_ rows: [Snapshot.Row], _ revived: Revival, _ queueIndices: [QueueIndex]) -> Bool {
        let hasBarriers = queueIndices.contains { registry.barriers.hasBarriers(in: $0) }
        let hasParents = rows.contains { $0.parent.rawValue != 0 }
        if !revived.categorySets.isEmpty, hasParents || registry.hasLongHolders { return true }
        // An edge on a finished operation was accepted without an examination of what that operation had waited for.
        if revived.edges.contains(where: { $0.on >= $0.from }) { return true }
        // A barrier that returns orders the operations behind it again.
        if rows.contains(where: { $0.flags.contains(.barrier) }) { return true }
        return (hasBarriers || hasParents)
            && revived.edges.contains { unfinished($0.on) != nil && !revived.contains($0.on) }
    }

    /// Removes waiting operations that get children again from their lanes: they wait in lanes of their own.
    private mutating func leaveLanes(_ parents: [OperationID]) {
        for id in parents { if let parent = unfinished(id), table[parent].group == nil { leaveLane(parent) } }
    }

    /// Counts unsuccessful children that finished in this very turn; the caller has counted the earlier ones.
    private mutating func countEndedSince(_ counted: [Snapshot.EndedChildren]) {
        guard !counted.isEmpty else { return }
        let parents = Set(counted.compactMap { unfinished($0.parent) })
        for finished in scratch.finished where finished.outcome.isUnsuccessful {
            guard let parent = parent(of: finished.operation), parents.contains(parent) else { continue }
            registry.countUnsuccessful(table[finished.operation].operationID, below: parent)
        }
    }

    private mutating func restoreEdges(_ revived: Revival) -> [ImpossibleEdge] {
        var impossible: [ImpossibleEdge] = []
        for edge in revived.edges {
            // A waiting operation that is not among those that return keeps its met edges.
            guard let from = unfinished(edge.from), revived.contains(edge.from) else { continue }
            let on = table.index(of: edge.on)
            if let fact = fact(about: edge.on, on, revived.finished) {
                if let skip = fact.impossibility(of: edge.when, on: edge.on) {
                    impossible.append(ImpossibleEdge(from: from, skip: skip, fact: fact))
                }
            } else if let on {
                registry.addEdge(from: from, on: on, when: edge.when)
            }
        }
        return impossible
    }
}
