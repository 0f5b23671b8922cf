extension Scheduler {
    mutating func suspend(_ level: Level, freeze: Bool) throws(Rejection) -> Acceptance {
        var touched = 0
        switch level {
        case .daemon:
            if !isSuspended {
                capacity.isSuspended = true
                record(.daemonSuspended(isSuspended: true))
                publishLevel(.suspended, detail: nil)
                touched = 1
                stopEvaluating { _ in true }
            }
            if freeze { touched += freezeExecuting(.frozenByDaemon) { _ in true } }
        case .queue(let name):
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            if !queues[queue].isSuspended {
                queues[queue].isSuspended = true
                recordQueue(queue)
                publishLevel(.suspended, detail: name)
                touched = 1
                stopEvaluating { $0.queue == queue }
                reservations.requestReview()
            }
            if freeze { touched += freezeExecuting(.frozenByQueue) { $0.queue == queue } }
        case .graph(let id):
            guard id.rawValue >= 1, id.rawValue < output.nextGraph else { throw .unknownGraph(id) }
            if registry.suspendedGraphs.insert(id.rawValue).inserted {
                record(.graphSuspended(id, isSuspended: true))
                publishLevel(.suspended, graph: id, detail: nil)
                touched = 1
                for operation in operations(ofGraph: id) {
                    leaveLane(operation)
                    table[operation].traits.insert(.graphSuspended)
                }
            }
            if freeze { touched += freezeExecuting(.frozenByGraph) { $0.graph == id.rawValue } }
        case .operations(let ids): touched = try suspend(ids, freeze: freeze)
        }
        return .done(touched)
    }

    mutating func resume(_ level: Level) throws(Rejection) -> Acceptance {
        var touched = 0
        switch level {
        case .daemon:
            if isSuspended {
                capacity.isSuspended = false
                record(.daemonSuspended(isSuspended: false))
                publishLevel(.resumed, detail: nil)
                touched = 1
            }
            touched += thawExecuting(.frozenByDaemon) { _ in true }
        case .queue(let name):
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            if queues[queue].isSuspended {
                queues[queue].isSuspended = false
                recordQueue(queue)
                publishLevel(.resumed, detail: name)
                touched = 1
                wakeAll(queue)
            }
            touched += thawExecuting(.frozenByQueue) { $0.queue == queue }
        case .graph(let id):
            guard id.rawValue >= 1, id.rawValue < output.nextGraph else { throw .unknownGraph(id) }
            if registry.suspendedGraphs.remove(id.rawValue) != nil {
                record(.graphSuspended(id, isSuspended: false))
                publishLevel(.resumed, graph: id, detail: nil)
                touched = 1
                for operation in operations(ofGraph: id) {
                    table[operation].traits.remove(.graphSuspended)
                    enterLane(operation)
                }
            }
            touched += thawExecuting(.frozenByGraph) { $0.graph == id.rawValue }
        case .operations(let ids): touched = try resume(ids)
        }
        return .done(touched)
    }

    // MARK: Operations by their ids

    private mutating func suspend(_ ids: [OperationID], freeze: Bool) throws(Rejection) -> Int {
        let operations = try selection(ids)
        if !freeze {
            for id in ids {
                guard let operation = unfinished(id), table[operation].state == .executing, !table[operation].isGroup
                else {
                    continue
                }
                throw .needsFreeze(id)
            }
        }
        var touched: Set<OperationIndex> = []
        if freeze {
            // Groups after the processes below them.
            for isGroup in [false, true] {
                for operation in operations where table[operation].isGroup == isGroup {
                    if self.freeze(operation, .frozenItself) { touched.insert(operation) }
                }
            }
        }
        for operation in operations where mayBeHeld(operation, freeze: freeze) {
            guard !table[operation].traits.contains(.held) else { continue }
            leaveLane(operation)
            registry.setTraits(of: operation, inserting: .held)
            record(.held(table[operation].operationID, isHeld: true))
            if touched.insert(operation).inserted { publish(.suspended, operation) }
        }
        inheritHolds(below: ids)
        return touched.count
    }

    /// Returns whether a suspension holds an operation: one that waits, or one below which others may start later.
    private func mayBeHeld(_ operation: OperationIndex, freeze: Bool) -> Bool {
        table[operation].state != .executing || table[operation].isGroup
            || freeze && registry.hasUnfinishedChildren(operation)
    }

    private mutating func resume(_ ids: [OperationID]) throws(Rejection) -> Int {
        let operations = try selection(ids)
        var touched = 0
        for operation in operations {
            let wasThawed = thaw(operation, .frozenItself)
            let wasHeld = table[operation].traits.contains(.held)
            if wasHeld {
                registry.setTraits(of: operation, removing: .held)
                record(.held(table[operation].operationID, isHeld: false))
                if !wasThawed { publish(.resumed, operation) }
            }
            if wasThawed || wasHeld { touched += 1 }
        }
        inheritHolds(below: ids)
        for operation in operations { enterLane(operation) }
        return touched
    }

    /// Holds an executing operation, so that no other attempt of it, and nothing below it, starts before it is resumed.
    mutating func hold(_ operation: OperationIndex) {
        guard !table[operation].traits.contains(.held) else { return }
        registry.setTraits(of: operation, inserting: .held)
        record(.held(table[operation].operationID, isHeld: true))
        for child in registry.descendants(of: operation) {
            leaveLane(child)
            if let parent = table[child].parent { inheritHold(child, from: parent) }
        }
    }

    /// Lets everything below these operations inherit their holds, parents before their children.
    private mutating func inheritHolds(below ids: [OperationID]) {
        for case let operation? in ids.map(unfinished) {
            for child in registry.descendants(of: operation) {
                if let parent = table[child].parent { inheritHold(child, from: parent) }
            }
        }
    }

    /// Notes whether a group or a producer around an operation is held. An operation that is in a lane must not inherit a
    /// hold.
    mutating func inheritHold(_ operation: OperationIndex, from parent: OperationIndex) {
        if table[parent].traits.isDisjoint(with: [.held, .groupHeld]) {
            table[operation].traits.remove(.groupHeld)
        } else {
            table[operation].traits.insert(.groupHeld)
        }
    }

    /// Returns the unfinished operations that ids name, and all below them, each once.
    private mutating func selection(_ ids: [OperationID]) throws(Rejection) -> [OperationIndex] {
        var operations: [OperationIndex] = []
        for id in ids {
            guard let operation = unfinished(id) else {
                if ids.count == 1 { throw notFoundError(id) }
                continue
            }
            for operation in [operation] + registry.descendants(of: operation)
            where !table[operation].traits.contains(.visited) {
                table[operation].traits.insert(.visited)
                operations.append(operation)
            }
        }
        for operation in operations { table[operation].traits.remove(.visited) }
        return operations
    }

    private func operations(ofGraph id: GraphID) -> [OperationIndex] {
        table.indices.filter { table[$0].graph == id.rawValue && table[$0].state != .finished }
            .sorted { table[$0].id < table[$1].id }
    }

    // MARK: Freezing

    /// Returns the number of processes that it has frozen.
    private mutating func freezeExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        let operations = executions.indices.map { executions[$0].operation }.filter { matches(table[$0]) }
        var touched = 0
        for operation in operations where !table[operation].isGroup && freeze(operation, trait) { touched += 1 }
        for operation in operations where table[operation].isGroup { _ = freeze(operation, trait) }
        return touched
    }

    /// Returns the number of processes that it has thawed.
    private mutating func thawExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        let operations = executions.indices.map { executions[$0].operation }.filter { matches(table[$0]) }
        var touched = 0
        for operation in operations where !table[operation].isGroup && thaw(operation, trait) { touched += 1 }
        // Groups come last. The thaw of a process also thaws the groups around it, so the recorded changes would otherwise
        // depend on the order of executions, which a restart changes.
        for operation in operations where table[operation].isGroup { _ = thaw(operation, trait) }
        return touched
    }

    /// Freezes the process of an operation; of a group, only its clock, once all processes below it are frozen.
    private mutating func freeze(_ operation: OperationIndex, _ trait: Traits) -> Bool {
        guard let index = execution(of: operation), !executions[index].isGone, !executions[index].isCancelling,
            !table[operation].traits.contains(trait), !table[operation].isGroup || isAllFrozen(below: operation)
        else { return false }
        let wasFrozen = !table[operation].traits.isDisjoint(with: .frozen)
        table[operation].traits.insert(trait)
        if !wasFrozen { stopTimeout(index) }
        recordFreezing(of: operation)
        guard !wasFrozen else { return true }
        publish(.suspended, operation)
        if !table[operation].isGroup { emit(.freeze(registry.attemptID(index)), for: index) }
        return true
    }

    private func isAllFrozen(below group: OperationIndex) -> Bool {
        registry.descendants(of: group).allSatisfy { child in
            guard !table[child].isGroup, let index = execution(of: child) else { return true }
            return executions[index].isGone || executions[index].isCancelling
                || !table[child].traits.isDisjoint(with: .frozen)
        }
    }

    private mutating func thaw(_ operation: OperationIndex, _ traits: Traits) -> Bool {
        guard !table[operation].traits.isDisjoint(with: traits) else { return false }
        table[operation].traits.remove(traits)
        guard let index = execution(of: operation) else { return true }
        let isThawed = table[operation].traits.isDisjoint(with: .frozen)
        if isThawed { continueTimeout(index) }
        recordFreezing(of: operation)
        guard isThawed else { return true }
        publish(.resumed, operation)
        guard !table[operation].isGroup else { return true }
        emit(.thaw(registry.attemptID(index)), for: index)
        thawGroups(around: operation)
        return true
    }

    /// Records the levels that freeze an operation, because `resume` must find them after a restart.
    private mutating func recordFreezing(of operation: OperationIndex) {
        record(.frozen(table[operation].operationID, by: FreezingLevels(table[operation].traits)))
    }

    /// Lets the clocks of frozen groups continue, because a process below them runs.
    mutating func thawGroups(around operation: OperationIndex) {
        var upcoming = table[operation].parent
        while let ancestor = upcoming {
            upcoming = table[ancestor].parent
            if table[ancestor].isGroup { _ = thaw(ancestor, .frozen) }
        }
    }
}
