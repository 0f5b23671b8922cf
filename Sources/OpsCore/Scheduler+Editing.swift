extension Scheduler {
    /// Edits operations that wait: all of them or none.
    mutating func edit(_ groups: [EditedTogether]) throws(Rejection) -> Acceptance {
        var changed: [(operation: OperationIndex, group: Int)] = []
        var moves: [(operation: OperationIndex, queue: QueueIndex)] = []
        for (group, together) in groups.enumerated() {
            let operations = try checkEdit(together)
            if let name = together.edit.queue {
                guard let queue = queues.find(name) else { throw .unknownQueue(name) }
                moves += operations.map { ($0, queue) }
            }
            changed += operations.map { ($0, group) }
        }
        try checkOrigins(moves.count)
        try checkCategoryRoom(for: groups, changed)
        try checkDeadlock(groups, changed, moves)
        for (operation, group) in changed {
            let edit = groups[group].edit
            apply(edit, to: operation, edit.queue.flatMap { queues.find($0) })
        }
        recountBarriers()
        return .done(changed.count)
    }

    /// Checks one edit before any is applied, and returns its operations.
    private func checkEdit(_ together: EditedTogether) throws(Rejection) -> [OperationIndex] {
        let edit = together.edit
        var operations: [OperationIndex] = []
        for id in together.operations { operations.append(try editable(id, edit)) }
        if let uses = edit.categories {
            if uses.count > Limits.categoriesPerOperation {
                throw .tooMany(what: "categories", limit: Limits.categoriesPerOperation)
            }
            let uses = CategoryUse.strictest(uses)
            if let first = together.operations.first { try registry.checkCapacity(uses, of: .existing(first)) }
            for operation in operations { try checkGroup(operation, uses) }
        }
        if let policy = edit.policy, policy.conditions.count > Limits.conditionsPerOperation {
            throw .tooMany(what: "conditions", limit: Limits.conditionsPerOperation)
        }
        return operations
    }

    /// Refuses new categories beyond the limit of an ordinary user. Those that they replace still count.
    private func checkCategoryRoom(
        for groups: [EditedTogether], _ changed: [(operation: OperationIndex, group: Int)]
    ) throws(Rejection) {
        var sets: [UInt32: Set<[CategoryUse]>] = [:]
        for (operation, group) in changed {
            guard let uses = groups[group].edit.categories, let partition = table[operation].partition else { continue }
            sets[partitions[partition].key.user, default: []].insert(uses)
        }
        for (user, own) in sets.sorted(by: { $0.key < $1.key }) { try checkCategoryRoom(for: own, of: user) }
    }

    /// Records a note. No rule depends on it, so the core does not keep it; the event gives it its position in the
    /// stream.
    mutating func note(_ id: OperationID, _ graph: GraphID, _ text: String?) -> Acceptance {
        record(.noted(id, text: text))
        let now = now.wall
        output.publish {
            Report(sequence: $0, kind: .edited, operation: id, graph: graph, at: now, detail: "note")
        }
        return .done(1)
    }

    /// Returns an operation that waits, or a group that executes if only its limit of children changes.
    private func editable(_ id: OperationID, _ edit: Edit) throws(Rejection) -> OperationIndex {
        guard let operation = unfinished(id), table[operation].state == .executing, table[operation].isGroup,
            edit.priority == nil, edit.queue == nil, edit.categories == nil, edit.command == nil,
            var changed = edit.policy
        else { return try waiting(id) }
        let old = policy(of: operation) ?? Policy()
        changed.childLimit = old.childLimit
        guard changed == old else { throw .alreadyStarted(id) }
        return operation
    }

    private mutating func apply(_ edit: Edit, to operation: OperationIndex, _ queue: QueueIndex?) {
        if table[operation].state == .executing { return setChildLimit(of: operation, edit) }
        leaveLane(operation)
        let isReady = table[operation].state == .ready
        // Its timer is set again below.
        if isReady, queues[table[operation].queue].aging != nil { noteStaleTimer(.aging) }
        record(.edited(table[operation].operationID, edit))
        if let priority = edit.priority {
            if priority != 0 { beginPriorities() }
            table[operation].priority = priority
            publish(.edited, operation, detail: "priority")
        }
        if edit.command != nil { publish(.edited, operation, detail: "command") }
        if let policy = edit.policy {
            setPolicy(policy, of: operation)
            publish(.edited, operation, detail: "policy")
        }
        if let uses = edit.categories {
            let set = categories.retain(uses)
            registry.countCategories(of: operation, -1)
            categories.release(table[operation].categories)
            table[operation].categories = set
            registry.countCategories(of: operation, 1)
            publish(.edited, operation, detail: "categories")
        }
        if let queue, queue != table[operation].queue {
            move(operation, to: queue)
            publish(.edited, operation, detail: "queue")
        }
        invalidatePriority(of: operation)
        if isReady { startAging(operation) }
        enterLane(operation)
    }

    /// Changes the limit of an executing group. A higher limit lets more children start at once; a lower one stops
    /// none.
    private mutating func setChildLimit(of operation: OperationIndex, _ edit: Edit) {
        guard let policy = edit.policy else { return }
        record(.edited(table[operation].operationID, edit))
        setPolicy(policy, of: operation)
        publish(.edited, operation, detail: "policy")
        // A full group reserves no positions in categories.
        reservations.requestReview()
        if let group = group(of: operation) { wake(.group(group)) }
    }

    private mutating func setPolicy(_ policy: Policy, of operation: OperationIndex) {
        let old = table[operation].policy
        if let old, policies[old].deadline != nil { noteStaleTimer(.deadline) }
        if table[operation].traits.contains(.delayed) { noteStaleTimer(.notBefore) }
        let new = policy == Policy() ? nil : policies.retain(policy).index
        if let old { _ = policies.release(old) }
        table[operation].policy = new
        registry.setTraits(
            of: operation, inserting: Traits(policy), removing: [.hasConditions, .hasObservers, .delayed])
        if table[operation].isGroup, let group = group(of: operation) { groups[group].limit = policy.childLimit }
        armWallTimers(operation)
    }

    /// Moves an operation to another queue. Its id gives its position there.
    private mutating func move(_ operation: OperationIndex, to queue: QueueIndex) {
        let old = table[operation].queue
        registry.count(table[operation].state, -1, in: old)
        registry.count(table[operation].state, 1, in: queue)
        registry.countWaiting(operation, -1)
        table[operation].queue = queue
        registry.countWaiting(operation, 1)
        let partition = table[operation].partition
        if let partition {
            table[operation].origin.partition = partitions.retain(queue, partitions[partition].key.user)
        }
        let isOrdered = registry.barriers.hasBarriers(in: old) || registry.barriers.hasBarriers(in: queue)
        if table[operation].traits.contains(.barrier) || isOrdered {
            // All operations that the edit moves share one recount.
            registry.barriers.requestRecount(of: old)
            registry.barriers.requestRecount(of: queue)
        } else {
            registry.barriers.move(registry.table[operation], from: old, partition)
        }
        if let partition { partitions.release(partition) }
    }

    /// Refuses categories that exceed what a group around the operation holds, or that are too few for operations below
    /// it.
    private func checkGroup(_ operation: OperationIndex, _ uses: [CategoryUse]) throws(Rejection) {
        let parent = parent(of: operation)
        for use in uses {
            let share = parent.flatMap { registry.use(of: use.name, atOrAbove: $0) }
            try use.check(of: .existing(table[operation].operationID), fits: share)
        }
        for child in registry.descendants(of: operation) {
            for use in categories.uses(of: table[child].categories) {
                let share = uses.first { $0.name == use.name }
                try use.check(of: .existing(table[child].operationID), fits: share)
            }
        }
    }
}
