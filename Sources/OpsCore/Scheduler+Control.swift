extension Scheduler {
    /// Cancels a selection of operations in one step: the finish of each is decided before any consequence is handled.
    mutating func cancel(
        _ ids: [OperationID], by: String, reason: String?, force: Bool
    ) throws(Rejection) -> Acceptance {
        var operations: [OperationIndex] = []
        operations.reserveCapacity(ids.count)
        for id in ids {
            if let operation = unfinished(id), !table[operation].traits.contains(.finishPending) {
                operations.append(operation)
            } else if ids.count == 1 {
                // It does not exist, or an earlier event of this turn has finished it.
                throw notFoundError(id)
            }
        }
        let end = Resolution(outcome: .cancelled, cause: .cancelledBy(by, reason: reason))
        var touched = 0
        for operation in operations {
            if force, table[operation].state == .executing, !table[operation].isGroup {
                abandon(operation, by: by, reason)
                touched += 1
            } else if cancelOne(operation, end, by: by, reason: reason)
                || table[operation].traits.contains(.finishPending)
            {
                // Decided now, or with its group just before.
                touched += 1
            }
        }
        for operation in operations where table[operation].group != nil {
            let below = Resolution(outcome: .cancelled, cause: .groupCancelled(table[operation].operationID))
            for child in registry.descendants(of: operation).reversed() {
                if force, table[child].state == .executing, !table[child].isGroup {
                    abandon(child, by: by, reason)
                } else {
                    _ = cancelOne(child, below, by: by, reason: reason)
                }
            }
        }
        return .done(touched)
    }

    /// Decides the end of one operation, but not of its children. Returns false if the end is not open any more.
    private mutating func cancelOne(_ operation: OperationIndex, _ end: Resolution, by: String, reason: String?) -> Bool
    {
        guard !table[operation].traits.contains(.finishPending) else { return false }
        guard let index = execution(of: operation) else {
            // A waiting group finishes after its children, which are cancelled in the same step.
            if table[operation].group != nil {
                let below = Resolution(outcome: .cancelled, cause: .groupCancelled(table[operation].operationID))
                decideTree(operation, end, below: below)
            } else {
                decide(operation, end.outcome, end.cause)
            }
            return true
        }
        let isOpen = isEndOpen(operation, index)
        if !isOpen, registry.leavesProcesses(index), !executions[index].isOver, !executions[index].isCancelling {
            // The first resolution remains. The processes that it would have waited for are terminated now.
            executions[index].isCancelling = true
            if let stored = executions[index].resolution {
                // A restart repeats the termination.
                let by = by.isEmpty ? "opsd" : by
                let id = table[operation].operationID
                record(.cancelling(id, by: by, reason: reason, outcome: stored.outcome, stored.cause))
            }
            terminate(index)
            return true
        }
        guard isOpen else { return false }
        executions[index].resolution = end
        disarmTimeout(index)
        recordCancelling(index, by: by, reason: reason)
        if table[operation].isGroup { unfreeze(index) } else { terminate(index) }
        // No process is left whose end could be reported: it waited for a message that it no longer needs.
        if executions[index].isGone, !executions[index].isOver { endAttempt(index) }
        return true
    }

    /// Returns whether the end of an executing operation is open: its attempt goes on, another attempt may follow, or
    /// its children decide.
    private func isEndOpen(_ operation: OperationIndex, _ index: ExecutionIndex) -> Bool {
        guard let end = executions[index].resolution else { return true }
        if end.outcome == .cancelled { return false }
        // A deadline or the end of its group prevents the attempt that its policy has, and so decides instead.
        if executions[index].isRefused || allowsRetry(operation, index, end) { return true }
        return !end.endsChildren && registry.hasUnfinishedChildren(operation)
    }

    /// Ends an executing operation and everything below it.
    mutating func endExecuting(
        _ operation: OperationIndex, _ end: Resolution, below: Resolution, by: String, reason: String?
    ) {
        guard cancelOne(operation, end, by: by, reason: reason) else { return }
        for child in registry.descendants(of: operation).reversed() {
            _ = cancelOne(child, below, by: by, reason: reason)
        }
    }

    /// Finishes an operation by force, although its processes are not proven gone.
    private mutating func abandon(_ operation: OperationIndex, by: String, _ reason: String?) {
        guard let index = execution(of: operation), !table[operation].traits.contains(.finishPending) else { return }
        confirmStart(index, nil)
        let cause = Cause.abandoned(by: by, reason: reason)
        executions[index].resolution = Resolution(outcome: .cancelled, cause: cause)
        // A launch of this same turn would start a process without an operation.
        dropLaunch(index)
        // Nobody waits for the processes: those that can be killed are killed now.
        terminate(index, grace: .zero)
        if !executions[index].isOver {
            if executions[index].isGone { emit(.acknowledge(registry.attemptID(index)), for: index) }
            record(.attemptEnded(registry.attemptID(index), .cancelled, cause, at: now.wall))
        }
        executions[index].isOver = true
        executions[index].isCancelling = true
        countConfirmedStart(of: index)
        if !registry.hasUnfinishedChildren(operation) { decide(operation, .cancelled, cause) }
    }

    // MARK: Edges

    mutating func addDependency(
        _ id: OperationID, on: OperationID, when: EdgeCondition, fact: FinishedFact?
    ) throws(Rejection) -> Acceptance {
        let from = try waiting(id)
        let target = table.index(of: on)
        if let fact = self.fact(about: on, target, fact.map { [on: $0] } ?? [:]) {
            record(.edgeAdded(id, on: on, when))
            if let impossible = fact.impossibility(of: when, on: on) {
                skip(from, impossible, root: fact.root, rootOutcome: fact.rootOutcome)
            }
            return .done(1)
        }
        guard let target else { throw .unknownOperation(on) }
        for edge in graph.dependencies(of: table[from]) where graph[edge].on == target && graph[edge].when == when {
            return .done(0)
        }
        let node = when.node(of: target)
        let view = WaitView(registry)
        if let path = view.path(from: node, to: .start(from)) { throw .cycle(view.name([.start(from)] + path)) }
        if registry.hasLongHolders, let found = view.deadlock(from: from, waitingFor: node) {
            throw view.rejection(found)
        }
        if let partition = table[from].partition { try checkEdgeRoom(for: 1, of: partitions[partition].key.user) }
        record(.edgeAdded(id, on: on, when))
        publish(.edited, from, detail: "after")
        if when == .started, table[target].traits.contains(.hasStarted) { return .done(1) }
        block(from)
        table[from].waiting -= 1
        registry.addEdge(from: from, on: target, when: when)
        raise(node, to: table[from].effective)
        return .done(1)
    }

    mutating func removeDependency(_ id: OperationID, on: OperationID, isMet: Bool) throws(Rejection) -> Acceptance {
        let from = try waiting(id)
        let target = table.index(of: on)
        let found = target.map { target in graph.dependencies(of: table[from]).filter { graph[$0].on == target } } ?? []
        guard !found.isEmpty || isMet else { throw .noSuchEdge(id, on: on) }
        for edge in found { registry.removeEdge(edge) }
        record(.edgeRemoved(id, on: on))
        publish(.edited, from, detail: "after")
        if let target, !found.isEmpty { noteWaiterLeft(from, of: target) }
        for _ in found { unblock(from) }
        return .done(1)
    }

    /// Returns an unfinished operation that does not execute.
    func waiting(_ id: OperationID) throws(Rejection) -> OperationIndex {
        guard let operation = unfinished(id) else { throw notFoundError(id) }
        guard table[operation].state != .executing else { throw .alreadyStarted(id) }
        return operation
    }

    // MARK: Bounds

    mutating func setQueue(_ name: String, _ edit: QueueEdit) throws(Rejection) -> Acceptance {
        let queue: QueueIndex
        if let found = queues.find(name) {
            if edit.target == .new { throw .queueExists(name) }
            queue = found
        } else {
            if edit.target == .existing { throw .unknownQueue(name) }
            queue = queues.add(Queue(name: name))
        }
        if edit.limit != .keep {
            if name == "main", edit.limit != .set(1) { throw .builtInQueue(name) }
            queues[queue].limit = edit.limit.value(insteadOf: queues[queue].limit).map { max(0, $0) }
            reservations.requestReview()
        }
        if edit.aging != .keep {
            let old = queues[queue].aging
            queues[queue].aging = edit.aging.value(insteadOf: old).flatMap { $0 > .zero ? $0 : nil }
            restartAging(queue, hadTimers: old != nil)
        }
        if let order = edit.order { queues[queue].order = order }
        recordQueue(queue)
        if let isFair = edit.isFair { setFairness(of: queue, isFair) }
        if edit.executor != .keep {
            queues[queue].executor = edit.executor.value(insteadOf: queues[queue].executor)
            record(.queueExecutorSet(name, executor: queues[queue].executor))
        }
        wake(.queue(queue))
        return .done(1)
    }

    mutating func recordQueue(_ queue: QueueIndex) {
        let now = queues[queue]
        record(.queueSet(now.name, limit: now.limit, aging: now.aging, suspended: now.isSuspended, order: now.order))
    }

    mutating func removeQueue(_ name: String) throws(Rejection) -> Acceptance {
        if name == "default" || name == "main" { throw .builtInQueue(name) }
        guard let queue = queues.find(name) else { throw .unknownQueue(name) }
        let unfinished = queues[queue].unfinished
        guard unfinished == 0 else { throw .queueNotEmpty(name, unfinished: unfinished) }
        for isGroup in [false, true] {
            if let lane = lanes.find(plainLane(queue, isGroup: isGroup)) { lanes.remove(lane) }
        }
        slotTimes.forget(queue)
        queues.remove(queue)
        record(.queueRemoved(name))
        return .done(1)
    }

    private func plainLane(_ queue: QueueIndex, isGroup: Bool) -> Lane.Key {
        Lane.Key(queue: queue, parent: 0, categories: nil, isGroup: isGroup, only: 0)
    }

    mutating func setCategory(_ name: String, _ edit: CategoryEdit) throws(Rejection) -> Acceptance {
        var settings = categories.find(name).map { categories[$0].settings } ?? CategorySettings(name: name)
        if let capacity = edit.capacity { (settings.capacity, settings.units) = (max(0, capacity), []) }
        if let units = edit.units { settings.units = units }
        if let share = edit.share { settings.share = max(1, share) }
        if settings.units.isEmpty { settings.share = 1 }
        settings.export = edit.export.value(insteadOf: settings.export)
        settings.rate = edit.rate.value(insteadOf: settings.rate)
        if settings.rate != nil, categories.find(name).map({ categories[$0].rate == nil }) ?? true {
            guard categories.rated.count < Limits.ratedCategories else {
                throw .tooMany(what: "categories with a rate", limit: Limits.ratedCategories)
            }
        }
        let hadRate = categories.find(name).flatMap { categories[$0].rate } != nil
        let category = categories.set(settings)
        if !hadRate, settings.rate != nil { countStartsUnderWay(of: category) }
        if hadRate, settings.rate == nil { forgetStartsUnderWay(of: category) }
        wakeAllAtRate(category)
        record(.categorySet(categories[category].settings))
        invalidateClaim(on: category)
        resizeScopes(of: category)
        wake(.category(category))
        reservations.requestReview()
        return .done(1)
    }

    mutating func setWorkers(_ count: Int32, insteadOf configured: Int32?) -> Acceptance {
        capacity.workers = min(max(0, count), Limits.workers)
        record(.workersSet(workers, insteadOf: configured))
        return .done(1)
    }
}
