/// A finish that is decided and not recorded yet.
struct PendingFinish: Equatable, Codable {
    var operation: OperationIndex
    var outcome: Outcome
    var cause: Cause?
    /// Origin of the cascade; nil: the operation itself.
    var root: OperationID?
    var rootOutcome: Outcome
}

/// The status of an edge.
enum EdgeStatus { case met, outstanding, impossible }

extension EdgeCondition {
    /// Returns the status of an edge on a finished operation.
    func status(_ outcome: Outcome, hasStarted: Bool) -> EdgeStatus {
        switch self {
        case .succeeded: outcome == .succeeded ? .met : .impossible
        case .finished: .met
        case .failed: outcome == .succeeded ? .impossible : .met
        case .started: hasStarted ? .met : .impossible
        }
    }

    /// Returns the outcome of an operation whose edge is impossible now that its target has finished.
    func skip(after outcome: Outcome) -> Outcome {
        outcome == .notNeeded || self == .failed && outcome == .succeeded ? .notNeeded : .skipped
    }
}

/// The cause and the outcome of a skip.
struct Skip: Codable {
    var cause: Cause
    /// `skipped` or `notNeeded`.
    var outcome: Outcome
}

/// An edge that its finished target can never meet, of an operation that is new, returns or is assumed to have started.
struct ImpossibleEdge: Codable {
    var from: OperationIndex
    var skip: Skip
    var fact: FinishedFact
}

extension Scheduler {
    /// Decides the finish of an operation, unless it was decided before. `recordFinishes` records it.
    mutating func decide(
        _ operation: OperationIndex, _ outcome: Outcome, _ cause: Cause?, root: OperationID? = nil,
        rootOutcome: Outcome? = nil
    ) {
        guard !table[operation].traits.contains(.finishPending), table[operation].state != .finished else { return }
        leaveLane(operation)
        discardStaged(operation)
        table[operation].overtaken = 0
        table[operation].traits.insert(.finishPending)
        scratch.addPending(
            PendingFinish(
                operation: operation, outcome: outcome, cause: cause, root: root, rootOutcome: rootOutcome ?? outcome))
    }

    /// Decides the finish of a waiting operation and of everything below it, children first: a group finishes after its
    /// children.
    mutating func decideTree(
        _ operation: OperationIndex, _ end: Resolution, below: Resolution, root: OperationID? = nil,
        rootOutcome: Outcome? = nil
    ) {
        var cause = below.cause
        if case .groupSkipped(let group, _) = cause {
            cause = .groupSkipped(group, because: Cause.Root(root ?? group, rootOutcome ?? end.outcome))
        }
        // Most have no children, and the call copies the registry.
        let descendants = group(of: operation) == nil ? [] : registry.descendants(of: operation)
        for child in descendants.reversed() {
            decide(
                child, below.outcome, cause, root: root ?? table[operation].operationID,
                rootOutcome: rootOutcome ?? end.outcome)
        }
        decide(operation, end.outcome, end.cause, root: root, rootOutcome: rootOutcome)
    }

    /// Records every decided finish and all that follow from it, to any depth and without recursion.
    mutating func recordFinishes() {
        repeat {
            while let finish = scratch.popPending() { recordFinish(finish) }
            recountBarriers()
        } while scratch.hasPending
        scratch.forgetRecorded()
    }

    private mutating func recordFinish(_ finish: PendingFinish) {
        let operation = finish.operation
        let id = table[operation].operationID
        let old = table[operation].state
        var run: Int32 = 1
        var at = now.wall
        if let index = execution(of: operation) {
            run = executions[index].run
            // A parent finishes when its last child does.
            if table[operation].group == nil, let ended = executions[index].endedAt { at = ended }
            removeExecution(index)
        } else if table[operation].traits.contains(.hasRun) {
            run = runs[operation]?.number ?? 1
        }
        forgetRun(of: operation)
        invalidatePriorities(awaitedBy: operation)
        setState(operation, .finished)
        record(.finished(id, finish.outcome, finish.cause, at: at))
        publish(.finished, operation, old: old, new: .finished, outcome: finish.outcome)
        if isObserved(operation, finish.outcome) {
            record(.observerOwed(id, run: run))
            emit(.observeFinish(id, run: run))
        }
        let finished = FinishedOperation(
            operation: operation, outcome: finish.outcome, root: finish.root ?? id,
            rootOutcome: finish.rootOutcome, hasStarted: table[operation].traits.contains(.hasStarted))
        table[operation].link(to: scratch.add(finished))
        dropProvided(of: operation, finish)
        registry.dropDependencies(of: operation)
        registry.countCategories(of: operation, -1)
        resolveDependents(of: finished)
        leaveBarriers(operation)
        let (policy, parent) = (table[operation].policy, table[operation].parent)
        if let policy, policies[policy].deadline != nil { noteStaleTimer(.deadline) }
        if table[operation].traits.contains(.delayed) { noteStaleTimer(.notBefore) }
        if let parent { childEnded(parent, id, finish.outcome) }
    }

    /// Returns whether an observer of the operation, or one of all operations, is to run at this end.
    @inline(__always) private func isObserved(_ operation: OperationIndex, _ outcome: Outcome) -> Bool {
        let row = table[operation]
        if row.traits.contains(.hasObservers), let policy = row.policy, policies[policy].observers.observesEnd(outcome)
        {
            return true
        }
        return !row.isGroup && registry.observersOfAll.observesEnd(outcome)
    }

    /// Resolves the edges on a finished operation: each is met, or its dependent is skipped.
    private mutating func resolveDependents(of finished: FinishedOperation) {
        guard table[finished.operation].firstDependent != nil else { return }
        var edges = scratch.borrowEdges()
        registry.graph.detachDependents(of: finished.operation, in: &registry.table, into: &edges)
        for edge in edges {
            let from = graph[edge].from
            noteWaiterLeft(from, of: finished.operation)
            switch graph[edge].when.status(finished.outcome, hasStarted: finished.hasStarted) {
            case .met: unblock(from)
            case .outstanding: break
            case .impossible:
                if let assumed = registry.assumedExecution(of: from) {
                    let id = table[finished.operation].operationID
                    noteMissed(assumed, on: id, when: graph[edge].when, FinishedFact(finished))
                } else {
                    skip(from, after: finished, when: graph[edge].when)
                }
            }
        }
        scratch.returnEdges(edges)
    }

    mutating func skip(_ operation: OperationIndex, after finished: FinishedOperation, when: EdgeCondition) {
        let cause = Cause.skip(
            when, table[finished.operation].operationID, root: finished.root, finished.rootOutcome)
        let skip = Skip(cause: cause, outcome: when.skip(after: finished.outcome))
        self.skip(operation, skip, root: finished.root, rootOutcome: finished.rootOutcome)
    }

    /// Decides the skip of a waiting operation and of all below it.
    mutating func skip(
        _ operation: OperationIndex, _ skip: Skip, root: OperationID? = nil, rootOutcome: Outcome? = nil
    ) {
        decideTree(
            operation, Resolution(outcome: skip.outcome, cause: skip.cause),
            below: Resolution(outcome: skip.outcome, cause: .groupSkipped(table[operation].operationID)), root: root,
            rootOutcome: rootOutcome)
    }

    /// Skips operations with edges on finished ones that can never be met. Of several skips of one operation, one that
    /// follows from a failure decides the outcome.
    mutating func skip(_ impossible: [ImpossibleEdge]) {
        for counts in [true, false] {
            for edge in impossible where edge.skip.outcome.isUnsuccessful == counts {
                skip(edge.from, edge.skip, root: edge.fact.root, rootOutcome: edge.fact.rootOutcome)
            }
        }
    }

    /// Removes an execution, and releases its slot and its categories.
    private mutating func removeExecution(_ index: ExecutionIndex) {
        let operation = executions[index].operation
        countConfirmedStart(of: index)
        vacate(index)
        let (holding, assigned) = (executions[index].holding, executions[index].assigned)
        if executions[index].timeoutAt != nil { noteStaleTimer(.timeout) }
        executions.remove(index)
        table[operation].unlink()
        closeScopes(of: operation, holding: holding)
        release(holding, assigned: assigned)
    }

    /// Handles an unfinished attempt without processes: frees its slot of the pool, but not of its queue and group.
    mutating func freeSlot(of index: ExecutionIndex) {
        let slot = executions[index].slot
        guard let slot else { return }
        capacity.release(slot)
        executions[index].slot = nil
        executions[index].hasFreedSlot = true
        record(.slotFreed(registry.attemptID(index)))
    }

    /// Frees the slot of an attempt without processes, and its part of the limits of queue and group. It keeps its
    /// categories.
    mutating func vacate(_ index: ExecutionIndex) {
        guard executions[index].countsForLimits else { return }
        let operation = executions[index].operation
        if let slot = executions[index].slot { capacity.release(slot) }
        executions[index].slot = nil
        executions[index].hasFreedSlot = false
        leaveExecutor(index)
        countRunning(operation, -1)
        countSlotTime(operation, -1)
        wake(.queue(table[operation].queue))
        if let parent = parent(of: operation), let group = group(of: parent) { wake(.group(group)) }
    }

    private mutating func forgetRun(of operation: OperationIndex) {
        guard table[operation].traits.contains(.hasRun) else { return }
        table[operation].traits.remove(.hasRun)
        if let run = runs.removeValue(forKey: operation), run.restsUntil.monotonic != .zero { noteStaleTimer(.backoff) }
    }

    /// Cancels operations that were provided for one that ends without them, unless they have started or others need them.
    private mutating func dropProvided(of operation: OperationIndex, _ finish: PendingFinish) {
        var upcoming = table[operation].firstDependency
        while let edge = upcoming {
            upcoming = graph.dependency(after: edge)
            guard let on = graph[edge].on, table[on].traits.contains(.provided), table[on].state != .executing,
                table[on].traits.isDisjoint(with: [.hasStarted, .finishPending]), !isNeeded(on, besides: operation)
            else {
                continue
            }
            let because = Cause.providedFor(table[operation].operationID, finish.outcome)
            if finish.outcome == .notNeeded {
                let end = Resolution(outcome: .notNeeded, cause: because)
                decideTree(on, end, below: end)
            } else {
                // Also after a cancel: a retry of the operation finds by this cause what was provided for it.
                decideTree(
                    on, Resolution(outcome: .cancelled, cause: because),
                    below: Resolution(outcome: .cancelled, cause: .groupCancelled(table[on].operationID)))
            }
        }
    }

    private func isNeeded(_ operation: OperationIndex, besides other: OperationIndex) -> Bool {
        graph.dependents(of: table[operation]).contains { edge in
            let from = graph[edge].from
            return from != other && !table[from].traits.contains(.finishPending)
        }
    }
}
