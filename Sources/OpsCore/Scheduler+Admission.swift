/// What a submission is refused for, before anything of it is there. (Circles: see Scheduler+Cycles and Scheduler+LockUps.)
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

    /// The producer's place. A child needs one that is executing and not about to end.
    func checkProducer(_ submission: Submission) throws(Rejection) -> Int32? {
        guard let producer = submission.producer else { return nil }
        guard let place = unfinished(producer) else {
            if submission.asChildren { throw .producerClosed(producer) }
            return nil
        }
        guard submission.asChildren else { return place }
        guard table[place].state == .executing, !isClosing(place) else { throw .producerClosed(producer) }
        return place
    }

    /// Its end, or that of a group above it, is decided: nothing new begins below it.
    func isClosing(_ place: Int32) -> Bool {
        var next = place
        while next >= 0 {
            if table[next].traits.contains(.ending) { return true }
            if table[next].state == .executing, executions[table[next].place].isCancelling { return true }
            next = table[next].parent
        }
        return false
    }

    func places(ofQueues names: [String]) throws(Rejection) -> [Int32] {
        var result: [Int32] = []
        for name in names {
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            result.append(queue)
        }
        return result
    }

    func checkEdges(_ submission: Submission) throws(Rejection) {
        for edge in submission.edges {
            guard case .existing(let id) = edge.on else { continue }
            let isKnown = table.place(of: id) >= 0 || submission.finished[id] != nil
            guard isKnown, id.rawValue < nextOperation else { throw .unknownOperation(id) }
        }
    }

    /// No set asks for more than there is, and no child for more than the group above it holds.
    func checkCategories(_ submission: Submission, under parent: Int32?) throws(Rejection) {
        for (index, set) in submission.categorySets.enumerated() {
            guard let place = submission.operations.firstIndex(where: { $0.categories == index }) else { continue }
            try checkCapacity(CategoryUse.strictest(set), of: .local(Int32(place)))
        }
        var depth: [Int32] = []
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) }
        guard hasGroups || parent != nil else { return }
        let base: Int32 = parent.map { self.depth(of: $0) + 1 } ?? 0
        for (place, draft) in submission.operations.enumerated() {
            depth.append(draft.group >= 0 ? depth[Int(draft.group)] + 1 : base)
            if depth[depth.count - 1] > Limits.groupDepth {
                throw .tooMany(what: "groups in one another", limit: Limits.groupDepth)
            }
            guard draft.categories >= 0 else { continue }
            for use in CategoryUse.strictest(submission.categorySets[Int(draft.categories)]) {
                var above = draft.group
                var share: CategoryUse?
                while above >= 0, share == nil {
                    let group = submission.operations[Int(above)]
                    if group.categories >= 0 {
                        let set = CategoryUse.strictest(submission.categorySets[Int(group.categories)])
                        share = set.first { $0.name == use.name }
                    }
                    above = group.group
                }
                try check(use, of: .local(Int32(place)), fits: share ?? parent.flatMap { heldAbove($0, use.name) })
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

    /// What the nearest of a parent and those above it takes of a category.
    func heldAbove(_ parent: Int32, _ name: String) -> CategoryUse? {
        var ancestor = parent
        while ancestor >= 0 {
            if let use = categories.uses(of: table[ancestor].categories).first(where: { $0.name == name }) {
                return use
            }
            ancestor = table[ancestor].parent
        }
        return nil
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

    func depth(of place: Int32) -> Int32 {
        var depth: Int32 = 0
        var parent = table[place].parent
        while parent >= 0 {
            depth += 1
            parent = table[parent].parent
        }
        return depth
    }

    /// Children that wait for something outside, or want a category, may close a circle with what is above them.
    func mayLockUp(_ submission: Submission) -> Bool {
        let waits = submission.edges.contains { edge in if case .existing = edge.on { true } else { false } }
        let isBehind =
            submission.queues.contains { queues.find($0).map { !queues[$0].barriers.list.isEmpty } ?? false }
            || submission.operations.contains { $0.flags.contains(.barrier) }
        guard waits || isBehind || submission.operations.contains(where: { $0.categories >= 0 }) else { return false }
        let hasGroups = submission.operations.contains { $0.flags.contains(.group) && $0.categories >= 0 }
        return hasGroups || hasSpans
            || submission.producer.flatMap(unfinished).map { table[$0].categories >= 0 } ?? false
    }
}
