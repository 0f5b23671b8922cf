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
        case .operations(let ids):
            let operations = try selection(ids)
            for operation in operations where resumeOne(operation) { touched += 1 }
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
        var touched = 0
        for operation in operations {
            if table[operation].state == .executing {
                if freeze, self.freeze(operation, .frozenItself) { touched += 1 }
            } else if !table[operation].traits.contains(.held) {
                leaveLane(operation)
                registry.setTraits(of: operation, inserting: .held)
                record(.held(table[operation].operationID, isHeld: true))
                publish(.suspended, operation)
                touched += 1
            }
        }
        return touched
    }

    private mutating func resumeOne(_ operation: OperationIndex) -> Bool {
        if table[operation].traits.contains(.frozenItself) { return thaw(operation, .frozenItself) }
        guard table[operation].traits.contains(.held) else { return false }
        registry.setTraits(of: operation, removing: .held)
        record(.held(table[operation].operationID, isHeld: false))
        publish(.resumed, operation)
        enterLane(operation)
        return true
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

    private mutating func freezeExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        var touched = 0
        for index in Array(executions.indices) {
            let operation = executions[index].operation
            if matches(table[operation]), freeze(operation, trait) { touched += 1 }
        }
        return touched
    }

    private mutating func thawExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        var touched = 0
        for index in Array(executions.indices) {
            let operation = executions[index].operation
            if matches(table[operation]), thaw(operation, trait) { touched += 1 }
        }
        return touched
    }

    private mutating func freeze(_ operation: OperationIndex, _ trait: Traits) -> Bool {
        guard let index = execution(of: operation), !table[operation].isGroup, !executions[index].isGone,
            !executions[index].isCancelling,
            !table[operation].traits.contains(trait)
        else { return false }
        let wasFrozen = !table[operation].traits.isDisjoint(with: .frozen)
        table[operation].traits.insert(trait)
        guard !wasFrozen else { return true }
        stopTimeout(index)
        record(.frozen(table[operation].operationID, isFrozen: true))
        publish(.suspended, operation)
        emit(.freeze(registry.attemptID(index)), for: index)
        return true
    }

    private mutating func thaw(_ operation: OperationIndex, _ trait: Traits) -> Bool {
        guard table[operation].traits.contains(trait) else { return false }
        table[operation].traits.remove(trait)
        guard table[operation].traits.isDisjoint(with: .frozen) else { return true }
        guard let index = execution(of: operation) else { return true }
        continueTimeout(index)
        record(.frozen(table[operation].operationID, isFrozen: false))
        publish(.resumed, operation)
        emit(.thaw(registry.attemptID(index)), for: index)
        return true
    }
}
