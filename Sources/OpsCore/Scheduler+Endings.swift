/// An end that is decided and about to be told.
struct Decision: Equatable {
    var place: OperationIndex
    var outcome: Outcome
    var cause: Cause?
    /// Of a cascade; nil: the operation itself.
    var root: OperationID?
    var rootOutcome: Outcome
}

/// What an edge comes to.
enum Verdict { case met, outstanding, impossible }

extension When {
    /// What this asks, of an operation that has finished.
    func verdict(_ outcome: Outcome, hasStarted: Bool) -> Verdict {
        switch self {
        case .succeeded: outcome == .succeeded ? .met : .impossible
        case .finished: .met
        case .failed: outcome == .succeeded ? .impossible : .met
        case .started: hasStarted ? .met : .impossible
        }
    }
}

extension Scheduler {
    /// Decides an end; the first decision stands. It is told by `settleEnds`.
    mutating func decide(
        _ place: OperationIndex, _ outcome: Outcome, _ cause: Cause?, root: OperationID? = nil,
        rootOutcome: Outcome? = nil
    ) {
        guard !table[place].traits.contains(.ending), table[place].state != .finished else { return }
        leaveLane(place)
        discardStaged(place)
        table[place].overtaken = 0
        table[place].traits.insert(.ending)
        scratch.decide(
            Decision(place: place, outcome: outcome, cause: cause, root: root, rootOutcome: rootOutcome ?? outcome))
    }

    /// Decides the end of a waiting operation and, when it is a group, of all below it: children first, since a
    /// group finishes when they have.
    mutating func decideTree(
        _ place: OperationIndex, _ end: Ended, below: Ended, root: OperationID? = nil, rootOutcome: Outcome? = nil
    ) {
        var cause = below.cause
        if case .groupSkipped(let group, _) = cause, let root {
            cause = .groupSkipped(group, because: Cause.Root(root, rootOutcome ?? end.outcome))
        }
        for child in registry.descendants(of: place).reversed() {
            decide(
                child, below.outcome, cause, root: root ?? table[place].operationID,
                rootOutcome: rootOutcome ?? end.outcome)
        }
        decide(place, end.outcome, end.cause, root: root, rootOutcome: rootOutcome)
    }

    /// Tells every decided end, and those that follow from it, through any depth and without recursion.
    mutating func settleEnds() {
        repeat {
            while let decision = scratch.nextDecision() { conclude(decision) }
            settleBarriers()
        } while scratch.hasDecision
        scratch.forgetDecisions()
    }

    private mutating func conclude(_ decision: Decision) {
        let place = decision.place
        let id = table[place].operationID
        let old = table[place].state
        var run: Int32 = 1
        var at = now.wall
        if let index = table[place].execution {
            run = executions[index].run
            // With children the end is theirs.
            if table[place].family == nil, let ended = executions[index].endedAt { at = ended }
            endExecution(index)
        } else {
            run = lives[place]?.run ?? 1
        }
        forgetLife(of: place)
        doubtWaits(of: place)
        setState(place, .finished)
        tell(.finished(id, decision.outcome, decision.cause, at: at))
        report(.finished, place, old: old, new: .finished, outcome: decision.outcome)
        if table[place].traits.contains(.hasObservers), policy(of: place)?.observers.contains(.finish) == true {
            tell(.observerOwed(id, run: run))
            order(.observeFinish(id, run: run))
        }
        let ending = Ending(
            place: place, outcome: decision.outcome, root: decision.root ?? id,
            rootOutcome: decision.rootOutcome, hasStarted: table[place].traits.contains(.hasStarted))
        table[place].link(to: scratch.add(ending))
        dropProvided(of: place, decision)
        registry.graph.dropDependencies(of: place, in: &registry.table)
        settleDependents(of: ending)
        leaveBarriers(place)
        if let policy = table[place].policy, policies[policy].deadline != nil { noteStaleTimer(.deadline) }
        if let parent = table[place].parent { childEnded(parent, id, decision.outcome) }
    }

    /// Each edge on what has finished is met now, or never.
    private mutating func settleDependents(of ending: Ending) {
        guard table[ending.place].firstDependent != nil else { return }
        var edges = scratch.takeEdges()
        registry.graph.settleDependents(of: ending.place, in: &registry.table, into: &edges)
        for edge in edges {
            let from = graph[edge].from
            noteWaiterLeft(ending.place, from)
            switch graph[edge].when.verdict(ending.outcome, hasStarted: ending.hasStarted) {
            case .met: release(from)
            case .outstanding: break
            case .impossible:
                if let presumed = presumedExecution(of: from) {
                    executions[presumed].missed = Missed(ending: ending, when: graph[edge].when)
                } else {
                    skip(from, after: ending, when: graph[edge].when)
                }
            }
        }
        scratch.keep(edges)
    }

    mutating func skip(_ place: OperationIndex, after ending: Ending, when: When) {
        let cause = Self.blame(
            when, table[ending.place].operationID, root: ending.root, ending.rootOutcome)
        decideTree(
            place, Ended(outcome: .skipped, cause: cause),
            below: Ended(outcome: .skipped, cause: .groupSkipped(table[place].operationID)), root: ending.root,
            rootOutcome: ending.rootOutcome)
    }

    /// Takes an executing operation's slot, room and categories away.
    private mutating func endExecution(_ index: ExecutionIndex) {
        let place = executions[index].operation
        vacate(index)
        let holding = executions[index].holding
        if executions[index].timeoutAt != nil { noteStaleTimer(.timeout) }
        executions.remove(index)
        table[place].unlink()
        closeScopes(of: place, holding: holding)
        giveBack(holding)
    }

    /// Its process tree is gone: slot, queue and group have room again; what it holds stays held.
    mutating func vacate(_ index: ExecutionIndex) {
        guard let slot = executions[index].slot else { return }
        let place = executions[index].operation
        capacity.release(slot)
        executions[index].slot = nil
        countRunning(place, -1)
        wake(.queue(table[place].queue))
        if let group = table[place].parent, let family = table[group].family { wake(.group(family)) }
    }

    mutating func forgetLife(of place: OperationIndex) {
        guard table[place].traits.contains(.hasLife) else { return }
        table[place].traits.remove(.hasLife)
        if let life = lives.removeValue(forKey: place), life.restsUntil.monotonic != 0 { noteStaleTimer(.backoff) }
    }

    /// What was provided for an operation that ends without it goes too, unless it has started or others need it.
    private mutating func dropProvided(of place: OperationIndex, _ decision: Decision) {
        for edge in graph.dependencies(of: table[place]) {
            guard let on = graph[edge].on, table[on].traits.contains(.provided), table[on].state != .executing else {
                continue
            }
            guard !isNeeded(on, besides: place) else { continue }
            let wanted = Cause.dependency(root: table[place].operationID, decision.outcome)
            decide(on, .cancelled, decision.outcome == .cancelled ? decision.cause : wanted)
        }
    }

    private func isNeeded(_ place: OperationIndex, besides other: OperationIndex) -> Bool {
        graph.dependents(of: table[place]).contains { edge in
            let from = graph[edge].from
            return from != other && !table[from].traits.contains(.ending)
        }
    }
}
