extension Scheduler {
    /// Instants at which the scheduler needs its next turn if no event occurs.
    public var nextDeadline: Deadlines {
        var next = timers.next
        if let instant = nextRatedStart { next.monotonic = min(next.monotonic ?? instant, instant) }
        if let deadline = staging.deadline { next.monotonic = min(next.monotonic ?? deadline, deadline) }
        return next
    }

    // MARK: Setting timers

    mutating func armTimeout(_ index: ExecutionIndex) {
        guard let timeout = timeout(of: index) else { return }
        setTimeout(index, at: executions[index].startedAt.monotonic + timeout)
    }

    /// Returns the longest duration of an attempt.
    func timeout(of index: ExecutionIndex) -> TimeSpan? {
        // Most have none, and a policy is large to copy.
        guard let policy = table.policy(of: executions[index].operation), policies[policy].timeout != nil else {
            return nil
        }
        return policies[policy].timeout(inAttempt: executions[index].attemptsInRun)
    }

    mutating func setTimeout(_ index: ExecutionIndex, at instant: MonotonicInstant) {
        if executions[index].timeoutAt != nil { noteStaleTimer(.timeout) }
        executions[index].timeoutAt = instant
        timers.set(.timeout, of: table[executions[index].operation].id, at: instant)
    }

    mutating func disarmTimeout(_ index: ExecutionIndex) {
        executions[index].timeoutLeft = nil
        executions[index].timeoutDue = nil
        guard executions[index].timeoutAt != nil else { return }
        executions[index].timeoutAt = nil
        noteStaleTimer(.timeout)
    }

    /// Extends a timeout so that at least `duration` is left, as systemd does for EXTEND_TIMEOUT_USEC.
    mutating func extendTimeout(_ index: ExecutionIndex, by duration: TimeSpan) {
        let duration = min(duration, Limits.duration)
        if let left = executions[index].timeoutLeft {
            // Its message came before its processes were frozen.
            guard duration > left else { return }
            executions[index].timeoutLeft = duration
        } else {
            guard let at = executions[index].timeoutAt, now.monotonic + duration > at else { return }
            setTimeout(index, at: now.monotonic + duration)
        }
        recordTimeout(index)
    }

    private mutating func recordTimeout(_ index: ExecutionIndex) {
        let start = executions[index].startedAt.monotonic
        if let left = executions[index].timeoutLeft {
            record(.timeoutMoved(registry.attemptID(index), remaining: left))
        } else if let at = executions[index].timeoutAt {
            record(.timeoutMoved(registry.attemptID(index), remaining: at - start))
        }
    }

    /// Stops the timeout of an attempt that is frozen.
    mutating func stopTimeout(_ index: ExecutionIndex) {
        guard let at = executions[index].timeoutAt ?? executions[index].timeoutDue else { return }
        disarmTimeout(index)
        executions[index].timeoutLeft = max(.zero, at - now.monotonic)
        recordTimeout(index)
    }

    mutating func continueTimeout(_ index: ExecutionIndex) {
        guard let left = executions[index].timeoutLeft else { return }
        executions[index].timeoutLeft = nil
        setTimeout(index, at: now.monotonic + left)
        recordTimeout(index)
    }

    /// Sets the timers of the instants that a policy names, on the wall clock.
    mutating func armWallTimers(_ operation: OperationIndex) {
        guard let policy = policy(of: operation) else { return }
        if let deadline = policy.deadline {
            timers.set(.deadline, of: table[operation].id, at: deadline)
        }
        if let instant = policy.notBefore, instant > now.wall {
            registry.setTraits(of: operation, inserting: .delayed)
            timers.set(.notBefore, of: table[operation].id, at: instant)
        }
    }

    // MARK: Due timers

    mutating func fireDueTimers() {
        wakeRates()
        while let entry = timers.firstDue(at: now), spendTimer(entry) {
            timers.removeFirst(entry)
            fire(entry)
        }
    }

    /// Spends the weight of a timer. Returns false if the timer is put off.
    private mutating func spendTimer(_ entry: Timers.Entry) -> Bool {
        !budget.isLimited || budget.spend(weight(of: entry, upTo: budget.left))
    }

    private mutating func fire(_ entry: Timers.Entry) {
        guard isLive(entry), let operation = unfinished(OperationID(entry.id)) else { return }
        switch entry {
        case .monotonic(let entry): fire(entry.kind, of: operation)
        case .wall(let entry): fire(entry.kind, of: operation)
        }
    }

    private mutating func fire(_ kind: MonotonicTimer, of operation: OperationIndex) {
        switch kind {
        case .timeout:
            guard let index = execution(of: operation) else { return }
            executions[index].timeoutAt = nil
            endByClock(
                operation, Resolution(outcome: .timedOut, cause: .ranLongerThan(timeout(of: index) ?? .zero)))
        case .backoff:
            registry.setTraits(of: operation, removing: .backingOff)
            runs[operation]?.restsUntil = .zero
            enterLane(operation)
        case .recheck: recheck(operation)
        }
    }

    private mutating func fire(_ kind: WallTimer, of operation: OperationIndex) {
        switch kind {
        case .deadline: deadlinePassed(operation)
        case .notBefore:
            registry.setTraits(of: operation, removing: .delayed)
            enterLane(operation)
        case .aging: age(operation)
        }
    }

    /// Returns whether an entry is still valid.
    private func isLive(_ entry: Timers.Entry) -> Bool {
        guard let operation = unfinished(OperationID(entry.id)), !table[operation].traits.contains(.finishPending)
        else {
            return false
        }
        switch entry {
        case .monotonic(let entry): return isLive(entry, of: operation)
        case .wall(let entry): return isLive(entry, of: operation)
        }
    }

    private func isLive(_ entry: TimerHeap<MonotonicTimer>.Entry, of operation: OperationIndex) -> Bool {
        switch entry.kind {
        case .timeout:
            guard let index = execution(of: operation) else { return false }
            return executions[index].timeoutAt == entry.at
        case .backoff: return runs[operation]?.restsUntil.monotonic == entry.at
        case .recheck: return conditions[operation]?.expiresAt == entry.at
        }
    }

    private func isLive(_ entry: TimerHeap<WallTimer>.Entry, of operation: OperationIndex) -> Bool {
        switch entry.kind {
        case .deadline: return policy(of: operation)?.deadline == entry.at
        case .notBefore:
            return table[operation].traits.contains(.delayed) && policy(of: operation)?.notBefore == entry.at
        case .aging: return table[operation].state == .ready && queues[table[operation].queue].aging != nil
        }
    }

    private mutating func deadlinePassed(_ operation: OperationIndex) {
        let end = Resolution(outcome: .timedOut, cause: .deadlinePassed)
        if table[operation].state == .executing {
            endByClock(operation, end)
        } else {
            let below = Resolution(outcome: .cancelled, cause: .groupTimedOut(table[operation].operationID))
            decideTree(operation, end, below: below)
        }
    }

    /// Ends an executing operation whose time is over, and everything below it.
    private mutating func endByClock(_ operation: OperationIndex, _ end: Resolution) {
        let below = Cause.groupTimedOut(table[operation].operationID)
        endExecuting(operation, end, below: Resolution(outcome: .cancelled, cause: below), by: "", reason: nil)
    }

    // MARK: Stale timers

    /// Counts one timer as stale, and removes the stale ones of its clock when they are many.
    mutating func noteStaleTimer(_ kind: MonotonicTimer) {
        guard timers.noteStale(kind) else { return }
        withTimers { core, timers in timers.sweepMonotonic { core.isLive($0) } }
    }

    /// Counts one timer as stale, and removes the stale ones of its clock when they are many.
    mutating func noteStaleTimer(_ kind: WallTimer) {
        guard timers.noteStale(kind) else { return }
        withTimers { core, timers in timers.sweepWall { core.isLive($0) } }
    }

    /// Drops obsolete entries, so that they cause no wake-up.
    mutating func dropStaleTimers() {
        guard !timers.isEmpty else { return }
        withTimers { core, timers in timers.dropStaleFirst { core.isLive($0) } }
    }

    private mutating func withTimers(_ change: (Scheduler, inout Timers) -> Void) {
        var timers = Timers()
        swap(&timers, &self.timers)
        change(self, &timers)
        swap(&timers, &self.timers)
    }
}
