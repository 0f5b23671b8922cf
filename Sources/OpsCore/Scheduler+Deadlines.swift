extension Scheduler {
    /// When the scheduler next wants a turn although nothing happened.
    public var nextDeadline: Deadlines {
        let monotonic = monotonicTimers.first?.at
        return Deadlines(
            monotonic: hand.isEmpty ? monotonic : min(monotonic ?? .max, handUntil), wall: wallTimers.first?.at)
    }

    // MARK: Setting clocks

    mutating func armTimeout(_ index: ExecutionIndex) {
        let place = executions[index].operation
        guard let timeout = policy(of: place)?.timeout else { return }
        setTimeout(index, at: executions[index].startedAt.monotonic + timeout)
    }

    mutating func setTimeout(_ index: ExecutionIndex, at instant: Int64) {
        if executions[index].timeoutAt != nil { markStaleTimer() }
        executions[index].timeoutAt = instant
        let id = table[executions[index].operation].id
        monotonicTimers.add(TimerHeap.Entry(at: instant, id: id, kind: .timeout))
    }

    mutating func disarmTimeout(_ index: ExecutionIndex) {
        executions[index].timeoutLeft = nil
        guard executions[index].timeoutAt != nil else { return }
        executions[index].timeoutAt = nil
        markStaleTimer()
    }

    /// EXTEND_TIMEOUT_USEC: from now at least that long, as systemd has it.
    mutating func extendTimeout(_ index: ExecutionIndex, by duration: Int64) {
        let extended = now.monotonic + min(duration, Limits.duration)
        guard let at = executions[index].timeoutAt, extended > at else { return }
        setTimeout(index, at: extended)
        tellTimeout(index)
    }

    private mutating func tellTimeout(_ index: ExecutionIndex) {
        let start = executions[index].startedAt.monotonic
        if let left = executions[index].timeoutLeft {
            tell(.timeoutMoved(attemptID(index), remaining: left))
        } else if let at = executions[index].timeoutAt {
            tell(.timeoutMoved(attemptID(index), remaining: at - start))
        }
    }

    /// The clock of a frozen operation stands still.
    mutating func stopTimeout(_ index: ExecutionIndex) {
        guard let at = executions[index].timeoutAt else { return }
        disarmTimeout(index)
        executions[index].timeoutLeft = max(0, at - now.monotonic)
        tellTimeout(index)
    }

    mutating func continueTimeout(_ index: ExecutionIndex) {
        guard let left = executions[index].timeoutLeft else { return }
        executions[index].timeoutLeft = nil
        setTimeout(index, at: now.monotonic + left)
        tellTimeout(index)
    }

    /// The clocks that run from submission.
    mutating func armWallTimers(_ place: OperationIndex) {
        guard let policy = policy(of: place) else { return }
        if let deadline = policy.deadline {
            wallTimers.add(TimerHeap.Entry(at: deadline, id: table[place].id, kind: .deadline))
        }
        if let instant = policy.notBefore, instant > now.wall {
            table[place].traits.insert(.delayed)
            wallTimers.add(TimerHeap.Entry(at: instant, id: table[place].id, kind: .notBefore))
        }
    }

    // MARK: Time acts

    mutating func letTimeAct() {
        while let entry = monotonicTimers.first, entry.at <= now.monotonic, mayAct(entry) {
            monotonicTimers.removeFirst()
            act(on: entry)
        }
        while let entry = wallTimers.first, entry.at <= now.wall, mayAct(entry) {
            wallTimers.removeFirst()
            act(on: entry)
        }
    }

    private mutating func mayAct(_ entry: TimerHeap.Entry) -> Bool {
        !isLimited || mayAfford(weight(of: entry, upTo: workLeft))
    }

    private mutating func act(on entry: TimerHeap.Entry) {
        guard isLive(entry), let place = unfinished(OperationID(entry.id)) else { return }
        switch entry.kind {
        case .timeout:
            if let index = table[place].execution { executions[index].timeoutAt = nil }
            endByClock(
                place, Ended(outcome: .timedOut, cause: .ranLongerThan(nanoseconds: policy(of: place)?.timeout ?? 0)))
        case .backoff:
            table[place].traits.remove(.backingOff)
            lives[place]?.restsUntil = Moment(monotonic: 0, wall: 0)
            enterLane(place)
        case .recheck: recheck(place)
        case .deadline: deadlinePassed(place)
        case .notBefore:
            table[place].traits.remove(.delayed)
            enterLane(place)
        case .aging: age(place)
        }
    }

    /// Whether an entry still says something.
    func isLive(_ entry: TimerHeap.Entry) -> Bool {
        guard let place = unfinished(OperationID(entry.id)), !table[place].traits.contains(.ending) else {
            return false
        }
        switch entry.kind {
        case .timeout:
            guard let index = table[place].execution else { return false }
            return executions[index].timeoutAt == entry.at
        case .backoff: return lives[place]?.restsUntil.monotonic == entry.at
        case .recheck: return inquiries[place]?.askAgainAt == entry.at
        case .deadline: return policy(of: place)?.deadline == entry.at
        case .notBefore: return table[place].traits.contains(.delayed) && policy(of: place)?.notBefore == entry.at
        case .aging: return table[place].state == .ready && queues[table[place].queue].aging != nil
        }
    }

    private mutating func deadlinePassed(_ place: OperationIndex) {
        let end = Ended(outcome: .timedOut, cause: .deadlinePassed)
        if table[place].state == .executing {
            endByClock(place, end)
        } else {
            let below = Ended(outcome: .cancelled, cause: .groupTimedOut(table[place].operationID))
            decideTree(place, end, below: below)
        }
    }

    /// Ends what executes, and all below it.
    private mutating func endByClock(_ place: OperationIndex, _ end: Ended) {
        let below = Cause.groupTimedOut(table[place].operationID)
        endExecuting(place, end, below: Ended(outcome: .cancelled, cause: below), by: "", reason: nil)
    }

    // MARK: Forgetting

    mutating func markStaleTimer() {
        guard monotonicTimers.markStale() else { return }
        var timers = monotonicTimers
        monotonicTimers = TimerHeap()
        timers.sweep { isLive($0) }
        monotonicTimers = timers
    }

    mutating func markStaleWallTimer() {
        guard wallTimers.markStale() else { return }
        var timers = wallTimers
        wallTimers = TimerHeap()
        timers.sweep { isLive($0) }
        wallTimers = timers
    }

    /// Nothing that has lost its meaning wakes anyone.
    mutating func dropStaleTimers() {
        while let first = monotonicTimers.first, !isLive(first) { monotonicTimers.removeFirst() }
        while let first = wallTimers.first, !isLive(first) { wallTimers.removeFirst() }
    }
}
