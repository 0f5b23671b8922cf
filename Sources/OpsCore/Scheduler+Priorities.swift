/// Priority inheritance: the effective priority of an operation is the highest of its own and of those that wait for
/// it, through dependencies, barriers, groups and categories. All children of a group inherit from what waits for the
/// group. A group that has not started inherits from its children, but they do not inherit from one another.
extension Scheduler {
    // MARK: Raising, at once

    /// Raises the priorities behind an event for which an operation with this priority waits.
    mutating func raise(_ node: WaitNode, to priority: Int8) {
        guard priorities.isUsed else { return }
        raise([node], to: priority)
    }

    /// Lets an operation inherit from its group, and everything that it waits for from it.
    mutating func propagatePriority(of operation: OperationIndex) {
        if let inherited = registry.inheritedFromParent(operation) { raise([.end(operation)], to: inherited) }
        guard table[operation].state != .executing else { return }
        raise(registry.waits(of: .start(operation)), to: table[operation].effective)
    }

    private mutating func raise(_ nodes: [WaitNode], to priority: Int8) {
        var open = nodes
        while let node = open.popLast() {
            let operation = node.operation
            if node.isEnd, let group = group(of: operation), groups[group].inherited < priority {
                groups[group].inherited = priority
                for id in groups[group].children {
                    if let child = unfinished(OperationID(id)) { open.append(.end(child)) }
                }
            }
            guard table[operation].effective < priority else { continue }
            setEffective(operation, priority)
            if table[operation].state != .executing { open += registry.waits(of: .start(operation)) }
        }
    }

    mutating func setEffective(_ operation: OperationIndex, _ priority: Int8) {
        let isReserving = table[operation].traits.contains(.reserving)
        // Reservations are found by their keys.
        if isReserving { unreserve(operation) }
        table[operation].effective = priority
        guard table[operation].lane != nil else { return rankJob(of: operation) }
        moveInLane(operation)
        if isReserving {
            reserve(operation)
            reservations.requestReview()
        }
    }

    /// Propagates the priorities of new or returned operations.
    mutating func raiseAll(_ operations: [OperationIndex]) {
        if !priorities.isUsed {
            guard operations.contains(where: { table[$0].priority != 0 }) else { return }
            beginPriorities()
            for operation in operations { invalidatePriority(of: operation) }
        }
        for operation in operations { propagatePriority(of: operation) }
    }

    /// Starts counting priorities. Recounts that were requested before were ignored, so all are made now.
    mutating func beginPriorities() {
        guard !priorities.isUsed else { return }
        priorities.begin()
        let parents = table.indices.filter { table[$0].group != nil }
        for operation in parents.sorted(by: { table[$0].id < table[$1].id }) { invalidatePriority(of: operation) }
        for category in Array(categories.pool.indices) { invalidateClaim(on: category) }
    }

    // MARK: Lowering, before anything starts

    /// Has the priorities of everything that an operation waits for recounted: they may have been higher because of it.
    mutating func invalidatePriorities(awaitedBy operation: OperationIndex) {
        guard priorities.isUsed, table[operation].state != .executing else { return }
        for node in registry.waits(of: .start(operation)) {
            invalidatePriority(of: node.operation, unlessAbove: table[operation].effective)
        }
    }

    /// Has the priority of an operation recounted for which `waiter` no longer waits.
    mutating func noteWaiterLeft(_ waiter: OperationIndex, of operation: OperationIndex) {
        guard priorities.isUsed else { return }
        invalidatePriority(of: operation, unlessAbove: table[waiter].effective)
    }

    /// Has the priority of an operation recounted, unless it is above `priority` and so comes from elsewhere.
    mutating func invalidatePriority(of operation: OperationIndex, unlessAbove priority: Int8) {
        let inherited = table[operation].group.map { groups[$0].inherited } ?? .min
        guard table[operation].effective <= priority || inherited <= priority else { return }
        invalidatePriority(of: operation)
    }

    /// Has the priority of an operation recounted before anything starts.
    mutating func invalidatePriority(of operation: OperationIndex) {
        guard priorities.isUsed, !table[operation].traits.contains(.priorityInvalid),
            table[operation].state != .finished
        else {
            return
        }
        table[operation].traits.insert(.priorityInvalid)
        priorities.invalidate(operation)
    }

    /// Makes the requested recounts, as far as the budget of the turn allows.
    mutating func recountPriorities() {
        guard priorities.isUsed else { return }
        recountInvalidPriorities()
        if table.count == 0 { priorities.end() }
    }

    mutating func recountInvalidPriorities() {
        var proven: Set<WaitNode> = []
        while !priorities.isEmpty, budget.spend(1), let recount = priorities.popNext() {
            switch recount {
            case .claim(let category): recountClaim(on: category)
            case .operation(let operation):
                table[operation].traits.remove(.priorityInvalid)
                if table[operation].state != .finished { recountPriority(of: operation) }
            case .source(let node): trace(node, &proven)
            }
        }
    }

    /// Recounts the priority of one operation, and requests recounts of those that have inherited it.
    private mutating func recountPriority(of operation: OperationIndex) {
        let (all, whole) = claims(on: operation)
        let old = table[operation].effective
        if let group = group(of: operation), groups[group].inherited == whole {
            requestTrace(of: .end(operation))
        } else if let group = group(of: operation) {
            let isLower = whole < groups[group].inherited
            groups[group].inherited = whole
            for id in groups[group].children {
                guard let child = unfinished(OperationID(id)) else { continue }
                if isLower { invalidatePriority(of: child) } else { raise([.end(child)], to: whole) }
            }
        }
        guard old != all else {
            // An executing operation waits for nothing: only its children may be part of a cycle.
            if table[operation].state != .executing, all > ownPriority(of: operation) {
                requestTrace(of: .start(operation))
            }
            return
        }
        setEffective(operation, all)
        guard table[operation].state != .executing else { return }
        if all < old {
            for node in registry.waits(of: .start(operation)) {
                invalidatePriority(of: node.operation, unlessAbove: old)
            }
        } else {
            raise(registry.waits(of: .start(operation)), to: all)
        }
    }

    /// Returns the highest priority of an operation and of everything that waits for it; and, as `whole`, that of what
    /// waits for its end.
    func claims(on operation: OperationIndex) -> (all: Int8, whole: Int8) {
        var start = ownPriority(of: operation)
        var whole = Int8.min
        for edge in graph.dependents(of: table[operation]) {
            let from = graph[edge].from
            let priority = registry.isAssumed(from) ? .min : table[from].effective
            if graph[edge].when == .started { start = max(start, priority) } else { whole = max(whole, priority) }
        }
        for other in registry.barriers.kept(by: operation, in: table, partitions) {
            whole = max(whole, table[other].effective)
        }
        if let inherited = registry.inheritedFromParent(operation) { whole = max(whole, inherited) }
        guard let group = group(of: operation) else { return (max(start, whole), whole) }
        if let index = execution(of: operation) {
            for need in executions[index].holding { whole = max(whole, categories[need.category].claim) }
        } else {
            for id in groups[group].children {
                if let child = unfinished(OperationID(id)) { start = max(start, table[child].effective) }
            }
        }
        return (max(start, whole), whole)
    }

    // MARK: Categories

    /// Returns the highest effective priority of ready operations without room in a category. Lanes after one without
    /// room in the order of lanes cannot have a higher one.
    func claim(on category: CategoryIndex) -> Int8 {
        var claim = Int8.min
        categories[category].lanes.forEach(below: .max) { entry in
            let need = lanes[entry.lane].needs[Int(entry.need)]
            let effective = OperationRow.effective(ofKey: entry.key)
            guard effective > claim else { return false }
            guard categories[category].room.fits(need.mode, need.units) else {
                claim = effective
                return false
            }
            return true
        }
        return claim
    }

    /// Has the claim on a category recounted: more or less may wait now for the groups and producers that hold it.
    mutating func invalidateClaim(on category: CategoryIndex) {
        guard priorities.isUsed, !categories[category].longHolders.isEmpty, !categories[category].mustRecountClaim
        else {
            return
        }
        categories[category].mustRecountClaim = true
        priorities.invalidate(category)
    }

    /// Recounts the claim on a category, and has the priorities of its holders recounted if the claim has changed.
    private mutating func recountClaim(on category: CategoryIndex) {
        categories[category].mustRecountClaim = false
        let claim = categories[category].longHolders.isEmpty ? .min : claim(on: category)
        guard categories[category].claim != claim else {
            // A holder may have the same priority from elsewhere, so the trace starts where the claim comes from.
            if let claimant = firstClaimant(on: category) { requestTrace(of: claimant) }
            return
        }
        setClaim(on: category, claim)
        for holder in categories[category].longHolders { invalidatePriority(of: holder) }
    }

    mutating func setClaim(on category: CategoryIndex, _ claim: Int8) {
        priorities.replaceClaim(categories[category].claim, by: claim)
        categories[category].claim = claim
    }

    /// Returns the effective priority that users see: an executing process inherits from what waits for its categories,
    /// too.
    func reportedPriority(of operation: OperationIndex) -> Int8 {
        guard let index = execution(of: operation) else { return table[operation].effective }
        return executions[index].holding.reduce(table[operation].effective) { max($0, claim(on: $1.category)) }
    }

    // MARK: Ageing

    /// Returns the own priority of an operation with one step for each `aging` of its queue during which it has been
    /// ready.
    func ownPriority(of operation: OperationIndex) -> Int8 {
        let row = table[operation]
        guard row.state == .ready, let aging = queues[row.queue].aging else { return row.priority }
        let steps = min(Int64(Limits.agingSteps), max(.zero, now.wall - row.readyAt) / aging)
        return Int8(min(127, Int64(row.priority) + steps))
    }

    mutating func startAging(_ operation: OperationIndex) {
        guard let aging = queues[table[operation].queue].aging else { return }
        beginPriorities()
        let steps = max(.zero, now.wall - table[operation].readyAt) / aging
        guard steps < Int64(Limits.agingSteps) else { return invalidatePriority(of: operation) }
        timers.set(.aging, of: table[operation].id, at: table[operation].readyAt + aging * (steps + 1))
        if steps > 0 { invalidatePriority(of: operation) }
    }

    /// Adds a step of ageing.
    mutating func age(_ operation: OperationIndex) {
        startAging(operation)
        invalidatePriority(of: operation)
    }

    /// Lets the ready operations of a queue age as it is set now. `hadTimers`: they have aged until now.
    mutating func restartAging(_ queue: QueueIndex, hadTimers: Bool) {
        for operation in table.indicesByID where table[operation].queue == queue && table[operation].state == .ready {
            if hadTimers { noteStaleTimer(.aging) }
            startAging(operation)
            invalidatePriority(of: operation)
        }
    }
}
