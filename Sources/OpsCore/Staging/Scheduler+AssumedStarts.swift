/// Starts that are assumed. A launch that was staged when opsd, or its connection to the runner, ended may have
/// started. It counts as executing, in an additional slot, until a runner has reported what it knows.
extension Scheduler {
    /// Restores an assumed start that no runner has confirmed since.
    mutating func restoreAssumedStart(_ staged: Snapshot.StagedLaunch) {
        guard let operation = unfinished(staged.attempt.operation), let index = execution(of: operation),
            !table[operation].isGroup, table[operation].attempt == staged.attempt.number
        else { return }
        executions[index].isAssumed = true
        if !staged.hasStarted { table[operation].traits.remove(.hasStarted) }
    }

    mutating func assumeStarted(_ staged: Snapshot.StagedLaunch) {
        guard let operation = unfinished(staged.attempt.operation), table[operation].state != .executing,
            table[operation].attempt + 1 == staged.attempt.number
        else { return }
        assumeStarted(operation, runner: staged.runner, boot: staged.boot)
    }

    /// Counts a staged operation as started. It keeps its edges, since it may turn out not to have started.
    mutating func assumeStarted(_ operation: OperationIndex, runner: String, boot: String) {
        if table[operation].state == .pending { invalidatePriorities(awaitedBy: operation) }
        let run = registry.popRun(of: operation)
        table[operation].attempt += 1
        let slot = capacity.allocate()
        var execution = Execution(
            operation: operation, attempt: table[operation].attempt, run: run.number, attemptsInRun: run.attempts + 1,
            slot: slot, runner: runner, boot: boot, startedAt: now, holding: [])
        execution.isAssumed = true
        execution.isConfirmed = false
        execution.timeoutDue = policy(of: operation)?.timeout(inAttempt: execution.attemptsInRun).map {
            now.monotonic + $0
        }
        setState(operation, .executing)
        let index = executions.insert(execution)
        table[operation].link(to: index)
        countRunning(operation, 1)
        record(.assumedStarted(registry.attemptID(index), run: execution.run, slot: slot, at: now))
    }

    /// Notes that a dependency of an assumed start has failed. The operation is skipped if it turns out not to have
    /// started.
    mutating func noteMissed(_ index: ExecutionIndex, on id: OperationID, when: EdgeCondition, _ fact: FinishedFact) {
        guard let skip = fact.impossibility(of: when, on: id) else { return }
        let operation = executions[index].operation
        executions[index].missed = ImpossibleEdge(from: operation, skip: skip, fact: fact)
    }

    /// Unstages an operation if its own runner does not list its attempt. Returns whether it still counts as started.
    mutating func confirmOrUnstage(_ index: ExecutionIndex, _ inventory: Inventory) -> Bool {
        let boot = executions[index].boot
        let isSameRunner = executions[index].runner == inventory.runner && (boot.isEmpty || boot == inventory.boot)
        if isSameRunner, inventory.entries[registry.attemptID(index)] == nil, mayUnstage(index) {
            unstage(index)
            return false
        }
        return true
    }

    /// Returns whether an assumed start has had no consequences yet, so that it can be undone.
    private func mayUnstage(_ index: ExecutionIndex) -> Bool {
        executions[index].resolution == nil && table[executions[index].operation].group == nil
    }

    /// Unstages an operation that its runner has not started. If it was resolved meanwhile, it ends; if it has
    /// children, it is launched.
    mutating func unstageOrLaunch(_ index: ExecutionIndex) {
        guard !mayUnstage(index) else { return unstage(index) }
        confirmStart(index, nil)
        if executions[index].resolution != nil {
            endAttempt(index)
        } else if let slot = executions[index].slot {
            emit(.launch(registry.attemptID(index), slot: slot))
        }
    }

    /// Confirms an assumed start. `begun`: its slot and instant, if a runner has reported them.
    mutating func confirmStart(_ index: ExecutionIndex, _ begun: SlotStart?) {
        guard executions[index].isAssumed, var slot = executions[index].slot else { return }
        executions[index].isAssumed = false
        if let begun {
            executions[index].startedAt = begun.at
            if executions[index].timeoutDue != nil {
                executions[index].timeoutDue = timeout(of: index).map { begun.at.monotonic + $0 }
            }
            capacity.release(slot)
            slot = capacity.occupy(begun.slot)
            executions[index].slot = slot
        }
        let operation = executions[index].operation
        if table[operation].firstDependency != nil {
            registry.dropDependencies(of: operation)
            table[operation].waiting = 0
            publish(.ready, operation, old: .pending, new: .ready)
        }
        table[operation].traits.insert(.hasStarted)
        record(.startConfirmed(registry.attemptID(index), SlotStart(slot: slot, at: executions[index].startedAt)))
        publish(.started, operation, old: .ready, new: .executing, detail: String(executions[index].attempt))
        meetStartEdges(of: operation)
    }

    /// Undoes an assumed start that has not happened. The operation waits as before, and the number of its attempt is
    /// free.
    private mutating func unstage(_ index: ExecutionIndex) {
        let operation = executions[index].operation
        unfreeze(index)
        disarmTimeout(index)
        vacate(index)
        let execution = executions[index]
        executions.remove(index)
        table[operation].unlink()
        table[operation].attempt -= 1
        if execution.run != 1 || execution.attemptsInRun > 1 {
            table[operation].traits.insert(.hasRun)
            runs[operation] = Run(number: execution.run, attempts: execution.attemptsInRun - 1)
        }
        setState(operation, .ready)
        record(.unstaged(AttemptID(table[operation].operationID, execution.attempt)))
        invalidatePriority(of: operation)
        // After a restart, edges on finished operations are not in the graph.
        guard table[operation].firstDependency != nil || execution.missed != nil else {
            startAging(operation)
            return enterLane(operation)
        }
        setState(operation, .pending)
        record(.becamePending(table[operation].operationID))
        propagatePriority(of: operation)
        if let missed = execution.missed {
            skip([missed])
        } else if table[operation].waiting == 0 {
            becomeReady(operation)
        }
    }
}
