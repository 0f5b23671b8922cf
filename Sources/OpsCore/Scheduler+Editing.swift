extension Scheduler {
    /// Changes what waits; all of them or none.
    mutating func edit(_ groups: [EditedTogether]) throws(Rejection) -> Acceptance {
        var changed: [(place: OperationIndex, group: Int)] = []
        var moves: [(place: OperationIndex, queue: QueueIndex)] = []
        for (group, together) in groups.enumerated() {
            let places = try checkEdit(together)
            if let name = together.edit.queue {
                guard let queue = queues.find(name) else { throw .unknownQueue(name) }
                moves += places.map { ($0, queue) }
            }
            changed += places.map { ($0, group) }
        }
        try checkOrigins(moves.count)
        try checkDeadlock(groups, changed, moves)
        for (place, group) in changed {
            let edit = groups[group].edit
            apply(edit, to: place, edit.queue.flatMap { queues.find($0) })
        }
        settleBarriers()
        return .done(changed.count)
    }

    /// What can be said of an edit before any is made: the places that it is for.
    private func checkEdit(_ together: EditedTogether) throws(Rejection) -> [OperationIndex] {
        let edit = together.edit
        var places: [OperationIndex] = []
        for id in together.operations { places.append(try editable(id, edit)) }
        if let uses = edit.categories {
            if uses.count > Limits.categoriesPerOperation {
                throw .tooMany(what: "categories", limit: Limits.categoriesPerOperation)
            }
            let uses = CategoryUse.strictest(uses)
            if let first = together.operations.first { try checkCapacity(uses, of: .existing(first)) }
            for place in places { try checkFamily(place, uses) }
        }
        if let policy = edit.policy, policy.conditions.count > Limits.conditionsPerOperation {
            throw .tooMany(what: "conditions", limit: Limits.conditionsPerOperation)
        }
        return places
    }

    /// Decides nothing, so it needs no row here; it has its place in the turn and in the event stream.
    mutating func note(_ id: OperationID, _ graph: GraphID, _ text: String?) -> Acceptance {
        tell(.noted(id, text))
        let now = now.wall
        output.publish {
            Report(sequence: $0, kind: .edited, operation: id, graph: graph, at: now, detail: "note")
        }
        return .done(1)
    }

    /// The place of what waits; of a group that executes when all that changes is how many of its children may.
    private func editable(_ id: OperationID, _ edit: Edit) throws(Rejection) -> OperationIndex {
        guard let place = unfinished(id), table[place].state == .executing, table[place].isGroup,
            edit.priority == nil, edit.queue == nil, edit.categories == nil, var changed = edit.policy
        else { return try waiting(id) }
        let old = policy(of: place) ?? Policy()
        changed.childLimit = old.childLimit
        guard changed == old else { throw .alreadyStarted(id) }
        return place
    }

    private mutating func apply(_ edit: Edit, to place: OperationIndex, _ queue: QueueIndex?) {
        if table[place].state == .executing { return bound(place, edit) }
        leaveLane(place)
        tell(.edited(table[place].operationID, edit))
        if let priority = edit.priority {
            if priority != 0 { beginPriorities() }
            table[place].priority = priority
            report(.edited, place, detail: "priority")
        }
        if let policy = edit.policy {
            setPolicy(policy, of: place)
            report(.edited, place, detail: "policy")
        }
        if let uses = edit.categories {
            let set = categories.retain(uses)
            categories.release(table[place].categories)
            table[place].categories = set
            report(.edited, place, detail: "categories")
        }
        if let queue, queue != table[place].queue {
            move(place, to: queue)
            report(.edited, place, detail: "queue")
        }
        doubt(place)
        startAging(place)
        enterLane(place)
    }

    /// Another limit for an executing group: raised it starts more at once, lowered it stops nothing.
    private mutating func bound(_ place: OperationIndex, _ edit: Edit) {
        guard let policy = edit.policy else { return }
        tell(.edited(table[place].operationID, edit))
        setPolicy(policy, of: place)
        report(.edited, place, detail: "policy")
        if let family = table[place].family { wake(.group(family)) }
    }

    private mutating func setPolicy(_ policy: Policy, of place: OperationIndex) {
        let old = table[place].policy
        if let old, policies[old].deadline != nil { noteStaleTimer(.deadline) }
        let new = policy == Policy() ? nil : policies.retain(policy).index
        if let old { _ = policies.release(old) }
        table[place].policy = new
        table[place].traits.subtract([.hasConditions, .hasObservers, .delayed])
        table[place].traits.formUnion(Self.traits(of: policy))
        if table[place].isGroup, let family = table[place].family { families[family].limit = policy.childLimit }
        armWallTimers(place)
    }

    /// By its id it takes its place among what is in that queue.
    private mutating func move(_ place: OperationIndex, to queue: QueueIndex) {
        let old = table[place].queue
        registry.count(table[place].state, -1, in: old)
        registry.count(table[place].state, 1, in: queue)
        table[place].queue = queue
        let partition = table[place].partition
        if let partition {
            table[place].origin.partition = partitions.retain(queue, partitions[partition].key.user)
        }
        let isOrdered = registry.barriers.hasBarriers(in: old) || registry.barriers.hasBarriers(in: queue)
        if table[place].traits.contains(.barrier) || isOrdered {
            // Once for all that an edit moves.
            registry.barriers.doubt(old)
            registry.barriers.doubt(queue)
        } else {
            registry.barriers.move(registry.table[place], from: old, partition)
        }
        if let partition { partitions.release(partition) }
    }

    /// The group above it holds enough, and what is below it asks for no more than it would hold.
    private func checkFamily(_ place: OperationIndex, _ uses: [CategoryUse]) throws(Rejection) {
        let parent = table[place].parent
        for use in uses {
            let share = parent.flatMap { registry.use(of: use.name, atOrAbove: $0) }
            try check(use, of: .existing(table[place].operationID), fits: share)
        }
        for child in registry.descendants(of: place) {
            for use in categories.uses(of: table[child].categories) {
                let share = uses.first { $0.name == use.name }
                try check(use, of: .existing(table[child].operationID), fits: share)
            }
        }
    }
}
