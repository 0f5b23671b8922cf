extension Scheduler {
    mutating func suspend(_ level: Level, freeze: Bool) throws(Rejection) -> Acceptance {
        var touched = 0
        switch level {
        case .daemon:
            if !isSuspended {
                capacity.isSuspended = true
                tell(.daemonSuspended(true))
                reportLevel(.suspended, detail: nil)
                touched = 1
                stopAsking { _ in true }
            }
            if freeze { touched += freezeExecuting(.frozenByDaemon) { _ in true } }
        case .queue(let name):
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            if !queues[queue].isSuspended {
                queues[queue].isSuspended = true
                tellQueue(queue)
                reportLevel(.suspended, detail: name)
                touched = 1
                stopAsking { $0.queue == queue }
                reservations.doubt()
            }
            if freeze { touched += freezeExecuting(.frozenByQueue) { $0.queue == queue } }
        case .graph(let id):
            guard id.rawValue >= 1, id.rawValue < output.nextGraph else { throw .unknownGraph(id) }
            if registry.suspendedGraphs.insert(id.rawValue).inserted {
                tell(.graphSuspended(id, true))
                reportLevel(.suspended, graph: id, detail: nil)
                touched = 1
                for place in placesOfGraph(id) {
                    leaveLane(place)
                    table[place].traits.insert(.graphSuspended)
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
                tell(.daemonSuspended(false))
                reportLevel(.resumed, detail: nil)
                touched = 1
            }
            touched += thawExecuting(.frozenByDaemon) { _ in true }
        case .queue(let name):
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            if queues[queue].isSuspended {
                queues[queue].isSuspended = false
                tellQueue(queue)
                reportLevel(.resumed, detail: name)
                touched = 1
                wakeAll(queue)
            }
            touched += thawExecuting(.frozenByQueue) { $0.queue == queue }
        case .graph(let id):
            guard id.rawValue >= 1, id.rawValue < output.nextGraph else { throw .unknownGraph(id) }
            if registry.suspendedGraphs.remove(id.rawValue) != nil {
                tell(.graphSuspended(id, false))
                reportLevel(.resumed, graph: id, detail: nil)
                touched = 1
                for place in placesOfGraph(id) {
                    table[place].traits.remove(.graphSuspended)
                    enterLane(place)
                }
            }
            touched += thawExecuting(.frozenByGraph) { $0.graph == id.rawValue }
        case .operations(let ids):
            let places = try selection(ids)
            for place in places where resumeOne(place) { touched += 1 }
        }
        return .done(touched)
    }

    // MARK: Operations by their ids

    private mutating func suspend(_ ids: [OperationID], freeze: Bool) throws(Rejection) -> Int {
        let places = try selection(ids)
        if !freeze {
            for id in ids {
                guard let place = unfinished(id), table[place].state == .executing, !table[place].isGroup else {
                    continue
                }
                throw .needsFreeze(id)
            }
        }
        var touched = 0
        for place in places {
            if table[place].state == .executing {
                if freeze, self.freeze(place, .frozenItself) { touched += 1 }
            } else if !table[place].traits.contains(.held) {
                leaveLane(place)
                table[place].traits.insert(.held)
                tell(.held(table[place].operationID, true))
                report(.suspended, place)
                touched += 1
            }
        }
        return touched
    }

    private mutating func resumeOne(_ place: OperationIndex) -> Bool {
        if table[place].traits.contains(.frozenItself) { return thaw(place, .frozenItself) }
        guard table[place].traits.contains(.held) else { return false }
        table[place].traits.remove(.held)
        tell(.held(table[place].operationID, false))
        report(.resumed, place)
        enterLane(place)
        return true
    }

    /// The unfinished operations that ids name, and all below them, each once.
    private mutating func selection(_ ids: [OperationID]) throws(Rejection) -> [OperationIndex] {
        var places: [OperationIndex] = []
        for id in ids {
            guard let place = unfinished(id) else {
                if ids.count == 1 { throw absence(of: id) }
                continue
            }
            for place in [place] + registry.descendants(of: place) where !table[place].traits.contains(.visited) {
                table[place].traits.insert(.visited)
                places.append(place)
            }
        }
        for place in places { table[place].traits.remove(.visited) }
        return places
    }

    private func placesOfGraph(_ id: GraphID) -> [OperationIndex] {
        table.indices.filter { table[$0].graph == id.rawValue && table[$0].state != .finished }
            .sorted { table[$0].id < table[$1].id }
    }

    // MARK: Freezing

    private mutating func freezeExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        var touched = 0
        for index in Array(executions.indices) {
            let place = executions[index].operation
            if matches(table[place]), freeze(place, trait) { touched += 1 }
        }
        return touched
    }

    private mutating func thawExecuting(_ trait: Traits, where matches: (OperationRow) -> Bool) -> Int {
        var touched = 0
        for index in Array(executions.indices) {
            let place = executions[index].operation
            if matches(table[place]), thaw(place, trait) { touched += 1 }
        }
        return touched
    }

    private mutating func freeze(_ place: OperationIndex, _ trait: Traits) -> Bool {
        guard let index = table[place].execution, !table[place].isGroup, !executions[index].isGone,
            !executions[index].isCancelling,
            !table[place].traits.contains(trait)
        else { return false }
        let wasFrozen = !table[place].traits.isDisjoint(with: .frozen)
        table[place].traits.insert(trait)
        guard !wasFrozen else { return true }
        stopTimeout(index)
        tell(.frozen(table[place].operationID, true))
        report(.suspended, place)
        order(.freeze(attemptID(index)))
        return true
    }

    private mutating func thaw(_ place: OperationIndex, _ trait: Traits) -> Bool {
        guard table[place].traits.contains(trait) else { return false }
        table[place].traits.remove(trait)
        guard table[place].traits.isDisjoint(with: .frozen) else { return true }
        guard let index = table[place].execution else { return true }
        continueTimeout(index)
        tell(.frozen(table[place].operationID, false))
        report(.resumed, place)
        order(.thaw(attemptID(index)))
        return true
    }
}
