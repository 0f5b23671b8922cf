/// What was foretold when opsd, or its line to the runner, ended: it may have started. It counts as executing, beside
/// all others, until a runner has said what it knows.
extension Scheduler {
    /// It was presumed before, and no runner has said anything since.
    mutating func doubtStart(_ foretold: Snapshot.Foretold) {
        guard let place = unfinished(foretold.attempt.operation), table[place].state == .executing,
            !table[place].isGroup, table[place].attempt == foretold.attempt.number
        else { return }
        let index = table[place].place
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
    mutating func presume(_ place: Int32, runner: String, boot: String) {
        if table[place].state == .pending { doubtWaits(of: place) }
        let life = takeLife(of: place)
        table[place].attempt += 1
        var execution = Execution(
            operation: place, attempt: table[place].attempt, run: life.run, attemptsInRun: life.attemptsInRun + 1,
            slot: slots.take(), runner: runner, boot: boot, startedAt: now, holding: [])
        execution.isPresumed = true
        execution.isConfirmed = false
        execution.timeoutDue = policy(of: place)?.timeout.map { now.monotonic + $0 }
        setState(place, .executing)
        let index = executions.insert(execution)
        table[place].place = index
        countRunning(place, 1)
        tell(.presumed(attemptID(index), run: execution.run, slot: execution.slot, at: now))
    }

    func isPresumed(_ place: Int32) -> Bool {
        table[place].state == .executing && executions[table[place].place].isPresumed
    }

    /// Whether what was foretold is to be held for started: unless its own runner knows nothing of it.
    mutating func believes(_ index: Int32, _ inventory: Inventory) -> Bool {
        let attempt = attemptID(index)
        let boot = executions[index].boot
        if executions[index].runner == inventory.runner, boot.isEmpty || boot == inventory.boot,
            inventory.entries[attempt] == nil, executions[index].ending == nil,
            table[executions[index].operation].family < 0
        {
            withdraw(index)
            return false
        }
        return true
    }

    /// It has started, as far as anybody can say.
    mutating func settlePresumption(_ index: Int32, _ begun: Place?) {
        guard executions[index].isPresumed else { return }
        executions[index].isPresumed = false
        if let begun {
            executions[index].startedAt = begun.at
            slots.release(executions[index].slot)
            executions[index].slot = take(begun.slot)
        }
        let place = executions[index].operation
        if table[place].firstDependency >= 0 {
            graph.dropDependencies(of: place, in: &table)
            table[place].waiting = 0
            report(.ready, place, old: .pending, new: .ready)
        }
        table[place].traits.insert(.hasStarted)
        tell(.placed(attemptID(index), Place(slot: executions[index].slot, at: executions[index].startedAt)))
        report(.started, place, old: .ready, new: .executing, detail: String(executions[index].attempt))
        settleStartEdges(of: place)
    }

    /// It has not started: it waits as before, and its attempt is still to come.
    private mutating func withdraw(_ index: Int32) {
        let place = executions[index].operation
        unfreeze(place)
        disarmTimeout(index)
        vacate(index)
        let execution = executions[index]
        executions.remove(index)
        table[place].place = -1
        table[place].attempt -= 1
        if execution.run != 1 || execution.attemptsInRun > 1 {
            table[place].traits.insert(.hasLife)
            lives[place] = Life(run: execution.run, attemptsInRun: execution.attemptsInRun - 1)
        }
        setState(place, .ready)
        tell(.withdrawn(AttemptID(table[place].operationID, execution.attempt)))
        doubt(place)
        guard table[place].firstDependency >= 0 else {
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
