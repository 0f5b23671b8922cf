/// Starts that are assumed. A launch that was staged when opsd, or its connection to the runner, ended may have started.
/// It counts as executing, in a slot beside all others, until a runner has reported what it knows.
extension Scheduler {
    /// It was presumed before, and no runner has said anything since.
    mutating func doubtStart(_ foretold: Snapshot.Foretold) {
        guard let place = unfinished(foretold.attempt.operation), let index = table[place].execution,
            !table[place].isGroup, table[place].attempt == foretold.attempt.number
        else { return }
        executions[index].isPresumed = true
        if !foretold.hasStarted { table[place].traits.remove(.hasStarted) }
    }

    mutating func presume(_ foretold: Snapshot.Foretold) {
        guard let place = unfinished(foretold.attempt.operation), table[place].state != .executing,
            table[place].attempt + 1 == foretold.attempt.number
        else { return }
        presume(place, runner: foretold.runner, boot: foretold.boot)
    }

    /// One that waited for others keeps its edges: it may yet turn out not to have begun.
    mutating func presume(_ place: OperationIndex, runner: String, boot: String) {
        if table[place].state == .pending { doubtWaits(of: place) }
        let life = takeLife(of: place)
        table[place].attempt += 1
        let slot = capacity.allocate()
        var execution = Execution(
            operation: place, attempt: table[place].attempt, run: life.run, attemptsInRun: life.attemptsInRun + 1,
            slot: slot, runner: runner, boot: boot, startedAt: now, holding: [])
        execution.isPresumed = true
        execution.isConfirmed = false
        execution.timeoutDue = policy(of: place)?.timeout.map { now.monotonic + $0 }
        setState(place, .executing)
        let index = executions.insert(execution)
        table[place].link(to: index)
        countRunning(place, 1)
        tell(.presumed(attemptID(index), run: execution.run, slot: slot, at: now))
    }

    func isPresumed(_ place: OperationIndex) -> Bool {
        presumedExecution(of: place) != nil
    }

    func presumedExecution(of place: OperationIndex) -> ExecutionIndex? {
        guard let index = table[place].execution, executions[index].isPresumed else { return nil }
        return index
    }

    /// Confirms an assumed start against an inventory; unstages the operation when its own runner knows nothing of it.
    /// False when it is unstaged.
    mutating func confirmOrUnstage(_ index: ExecutionIndex, _ inventory: Inventory) -> Bool {
        let boot = executions[index].boot
        let isSameRunner = executions[index].runner == inventory.runner && (boot.isEmpty || boot == inventory.boot)
        if isSameRunner, inventory.entries[attemptID(index)] == nil, mayUnstage(index) {
            unstage(index)
            return false
        }
        return true
    }

    /// Whether nothing has followed from an assumed start that its withdrawal would leave behind.
    private func mayUnstage(_ index: ExecutionIndex) -> Bool {
        executions[index].ending == nil && table[executions[index].operation].family == nil
    }

    /// Unstages an operation that its runner has not started; if its end is decided meanwhile, that comes now.
    mutating func settleUnstarted(_ index: ExecutionIndex) {
        guard !mayUnstage(index) else { return unstage(index) }
        settlePresumption(index, nil)
        if executions[index].ending != nil {
            treeGone(index)
        } else if let slot = executions[index].slot {
            order(.launch(attemptID(index), slot: slot))
        }
    }

    /// It has started, as far as anybody can say.
    mutating func settlePresumption(_ index: ExecutionIndex, _ begun: Place?) {
        guard executions[index].isPresumed, var slot = executions[index].slot else { return }
        executions[index].isPresumed = false
        if let begun {
            executions[index].startedAt = begun.at
            capacity.release(slot)
            slot = capacity.occupy(begun.slot)
            executions[index].slot = slot
        }
        let place = executions[index].operation
        if table[place].firstDependency != nil {
            registry.graph.dropDependencies(of: place, in: &registry.table)
            table[place].waiting = 0
            report(.ready, place, old: .pending, new: .ready)
        }
        table[place].traits.insert(.hasStarted)
        tell(.placed(attemptID(index), Place(slot: slot, at: executions[index].startedAt)))
        report(.started, place, old: .ready, new: .executing, detail: String(executions[index].attempt))
        settleStartEdges(of: place)
    }

    /// It has not started: it waits as before, and its attempt is still to come.
    private mutating func unstage(_ index: ExecutionIndex) {
        let place = executions[index].operation
        unfreeze(place)
        disarmTimeout(index)
        vacate(index)
        let execution = executions[index]
        executions.remove(index)
        table[place].unlink()
        table[place].attempt -= 1
        if execution.run != 1 || execution.attemptsInRun > 1 {
            table[place].traits.insert(.hasLife)
            lives[place] = Life(run: execution.run, attemptsInRun: execution.attemptsInRun - 1)
        }
        setState(place, .ready)
        tell(.withdrawn(AttemptID(table[place].operationID, execution.attempt)))
        doubt(place)
        guard table[place].firstDependency != nil else {
            startAging(place)
            return enterLane(place)
        }
        setState(place, .pending)
        tell(.becamePending(table[place].operationID))
        handOn(place)
        if let missed = execution.missed {
            skip(place, after: missed.ending, when: missed.when)
        } else if table[place].waiting == 0 {
            becomeReady(place)
        }
    }
}
