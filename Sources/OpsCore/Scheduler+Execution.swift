extension Scheduler {
    /// The execution that a fact is about, or nil when it is about an attempt that is over.
    func execution(of attempt: AttemptID) -> ExecutionIndex? {
        guard let place = table.index(of: attempt.operation), let index = table[place].execution else { return nil }
        // Field by field: a copy of the whole would count references at every fact.
        guard attempt.number > 0, executions[index].attempt == attempt.number, !executions[index].isOver else {
            return nil
        }
        return index
    }

    func attemptID(_ index: ExecutionIndex) -> AttemptID {
        AttemptID(table[executions[index].operation].operationID, executions[index].attempt)
    }

    // MARK: Facts

    /// As `execution(of:)`, of an attempt of whose process something is told: it has begun.
    private mutating func heard(of attempt: AttemptID) -> ExecutionIndex? {
        guard let index = execution(of: attempt) else { return nil }
        settlePresumption(index, nil)
        return index
    }

    mutating func launched(_ attempt: AttemptID, _ process: Process) {
        guard let index = heard(of: attempt), executions[index].process == nil else { return }
        executions[index].process = process
        tell(.launched(attempt, process))
    }

    mutating func launchFailed(_ attempt: AttemptID, step: String, errno: Int32) {
        guard let index = heard(of: attempt) else { return order(.acknowledge(attempt)) }
        let end = executions[index].ending ?? Ended(outcome: .failed, cause: .cannotStart(step: step, errno: errno))
        executions[index].ending = end
        treeGone(index)
    }

    mutating func exited(_ attempt: AttemptID, _ exit: Exit, treeIsGone: Bool) {
        guard let index = heard(of: attempt) else {
            if treeIsGone { order(.acknowledge(attempt)) }
            return
        }
        if executions[index].exit == nil {
            executions[index].exit = exit
            tell(.exited(attempt, exit))
        }
        if executions[index].ending == nil, let end = end(index, treeIsGone: treeIsGone) {
            executions[index].ending = end
            disarmTimeout(index)
        }
        guard treeIsGone else { return leaveOver(index) }
        if exit.status == .code(0), exit.at.monotonic - executions[index].startedAt.monotonic < Limits.shortRun {
            scratch.sawShortRun = true
        }
        if executions[index].ending != nil { executions[index].endedAt = exit.at.wall }
        treeGone(index)
    }

    /// What is alive of an operation that has a say in its end, once that is decided: the runner leaves it alone until
    /// told, for until then it may be what has the say.
    private mutating func leaveOver(_ index: ExecutionIndex) {
        let policy = policy(of: executions[index].operation)
        guard policy?.completion == .notify, executions[index].ending != nil, !executions[index].isCancelling else {
            return
        }
        switch policy?.leftovers ?? .kill {
        case .kill: terminate(index)
        case .wait: break
        case .leave: if executions[index].exit != nil { treeGone(index) }
        }
    }

    /// Its end is decided by itself or by word, and nobody has told what is alive of it to end.
    func letsOthersBe(_ index: ExecutionIndex) -> Bool {
        guard let policy = policy(of: executions[index].operation), policy.completion == .notify else { return false }
        switch executions[index].ending?.cause {
        case .exitStatus, .signal, .outOfMemory, .reported, .finishedBy: return policy.leftovers != .kill
        default: return false
        }
    }

    mutating func gone(_ attempt: AttemptID) {
        guard let index = heard(of: attempt) else { return order(.acknowledge(attempt)) }
        if executions[index].ending == nil {
            executions[index].ending =
                end(index, treeIsGone: true)
                // Of what waited for its word, whoever could have said it died with the runner.
                ?? (executions[index].exit == nil || executions[index].isReaping
                    ? Ended(outcome: .interrupted, cause: .runnerLost) : nil)
        }
        treeGone(index)
    }

    /// How an attempt whose main process has ended comes out; nil while that is not the end of it.
    func end(_ index: ExecutionIndex, treeIsGone: Bool) -> Ended? {
        executions[index].exit.flatMap { end(index, $0, treeIsGone: treeIsGone) }
    }

    func end(_ index: ExecutionIndex, _ exit: Exit, treeIsGone: Bool) -> Ended? {
        let policy = policy(of: executions[index].operation)
        let cause: Cause
        switch exit.status {
        case .code(let code):
            if !exit.outOfMemory, policy?.successCodes.contains(code) ?? (code == 0) {
                if policy?.completion == .notify { return nil }
                if policy?.leftovers == .wait, !treeIsGone { return nil }
                return Ended(outcome: .succeeded, cause: .exitStatus(code))
            }
            cause = .exitStatus(code)
        case .signal(let signal): cause = .signal(signal)
        }
        if policy?.leftovers == .wait, policy?.completion != .notify, !treeIsGone { return nil }
        return Ended(outcome: .failed, cause: exit.outOfMemory ? .outOfMemory : cause)
    }

    mutating func told(_ attempt: AttemptID, _ notice: Notice) {
        guard let index = heard(of: attempt) else { return }
        let place = executions[index].operation
        tell(.told(attempt, notice))
        if notice.status != nil || notice.progressDone != nil || notice.progressTotal != nil {
            report(.progress, place, detail: notice.status)
        }
        if let longer = notice.extendTimeout { extendTimeout(index, by: longer) }
        guard let status = notice.finished, policy(of: place)?.completion == .notify else { return }
        endByWord(
            index,
            status == 0
                ? Ended(outcome: .succeeded, cause: .reported(status: 0))
                : Ended(outcome: .failed, cause: .reported(status: status)))
    }

    /// `opsctl finish`.
    mutating func finish(
        _ id: OperationID, failed: Bool, message: String?, by: String
    ) throws(Rejection) -> Acceptance {
        guard let place = unfinished(id) else { throw absence(of: id) }
        guard let index = table[place].execution, !table[place].isGroup else { throw .notExecuting(id) }
        guard !executions[index].isOver else { throw .notExecuting(id) }
        guard policy(of: place)?.completion == .notify else { throw .endsByItsExit(id) }
        guard executions[index].ending == nil else { return .done(0) }
        endByWord(
            index, Ended(outcome: failed ? .failed : .succeeded, cause: .finishedBy(by, message: message)))
        return .done(1)
    }

    /// It, or a person, says that it has finished.
    private mutating func endByWord(_ index: ExecutionIndex, _ end: Ended) {
        guard executions[index].ending == nil else { return }
        executions[index].ending = end
        disarmTimeout(index)
        if executions[index].isGone {
            treeGone(index)
        } else {
            tellEnding(index, by: "", reason: nil)
            executions[index].isCancelling = !letsOthersBe(index)
            if executions[index].isCancelling { terminate(index) } else { leaveOver(index) }
        }
    }

    // MARK: Ends

    /// Takes back an order of this turn that has not been given yet.
    mutating func dropLaunch(_ index: ExecutionIndex) {
        guard let slot = executions[index].slot else { return }
        output.withdraw(.launch(attemptID(index), slot: slot))
    }

    /// SIGTERM to the whole tree, SIGKILL after its grace.
    mutating func terminate(_ index: ExecutionIndex) {
        let place = executions[index].operation
        unfreeze(place)
        guard !executions[index].isGone else { return }
        order(.terminate(attemptID(index), grace: policy(of: place)?.grace ?? Policy().grace))
    }

    /// Thawed to get its signal, or gone while it was frozen.
    mutating func unfreeze(_ place: OperationIndex) {
        guard !table[place].traits.isDisjoint(with: .frozen) else { return }
        table[place].traits.remove(.frozen)
        tell(.frozen(table[place].operationID, false))
    }

    /// The end that was decided while the tree lives is stored: whatever comes later is not the cause.
    mutating func tellEnding(_ index: ExecutionIndex, by: String, reason: String?) {
        guard let end = executions[index].ending else { return }
        executions[index].isCancelling = true
        let place = executions[index].operation
        tell(
            .cancelling(
                table[place].operationID, by: by, reason: reason, outcome: end.outcome, end.cause))
        if end.outcome == .cancelled || end.outcome == .timedOut { report(.cancelling, place) }
    }

    /// Nothing of the attempt is alive.
    mutating func treeGone(_ index: ExecutionIndex) {
        executions[index].isGone = true
        guard let end = executions[index].ending else { return }
        let place = executions[index].operation
        let attempt = attemptID(index)
        executions[index].isOver = true
        if end.outcome != .succeeded { staging.spoil() }
        // What it leaves behind by consent is not left frozen.
        if !table[place].traits.isDisjoint(with: .frozen) { order(.thaw(attempt)) }
        unfreeze(place)
        disarmTimeout(index)
        tell(.attemptEnded(attempt, end.outcome, end.cause, at: executions[index].exit?.at.wall ?? now.wall))
        if end.outcome == .interrupted { report(.interrupted, place, detail: String(attempt.number)) }
        order(.acknowledge(attempt))
        vacate(index)
        if !registry.hasUnfinishedChildren(place) { endOperation(place) }
    }

    /// The attempt is over and no child is unfinished: another attempt, or the end.
    mutating func endOperation(_ place: OperationIndex) {
        guard let index = table[place].execution, let end = executions[index].ending else { return }
        if end.outcome == .succeeded, let family = table[place].family, families[family].unsuccessful > 0 {
            return decide(
                place, .failed,
                .children(first: families[family].firstUnsuccessful, count: families[family].unsuccessful))
        }
        if mayRetry(place, index, end) { return retryLater(place, index) }
        decide(place, end.outcome, end.outcome == .succeeded ? nil : end.cause)
    }

    func mayRetry(_ place: OperationIndex, _ index: ExecutionIndex, _ end: Ended) -> Bool {
        if executions[index].isRefused { return true }
        guard let retry = policy(of: place)?.retry, executions[index].attemptsInRun <= retry.limit else { return false }
        if let parent = table[place].parent, isClosing(parent) { return false }
        // Its deadline may have passed while it was ending for another reason.
        if let deadline = policy(of: place)?.deadline, deadline <= now.wall { return false }
        switch end.outcome {
        case .failed:
            guard retry.onFailed else { return false }
            if retry.exitCodes.isEmpty { return true }
            switch end.cause {
            case .exitStatus(let code), .reported(let code): return retry.exitCodes.contains(code)
            default: return false
            }
        case .timedOut: return retry.onTimedOut && end.cause != .deadlinePassed
        case .interrupted: return retry.onInterrupted
        case .succeeded, .cancelled, .skipped: return false
        }
    }

    private mutating func retryLater(_ place: OperationIndex, _ index: ExecutionIndex) {
        let execution = executions[index]
        let delay =
            execution.isRefused
            ? 0 : policy(of: place)?.retry?.delay(after: execution.attemptsInRun, of: attemptID(index)) ?? 0
        executions.remove(index)
        table[place].unlink()
        closeScopes(of: place, holding: execution.holding)
        var life = Life(run: execution.run, attemptsInRun: execution.attemptsInRun - (execution.isRefused ? 1 : 0))
        if delay > 0 {
            life.restsUntil = Moment(monotonic: now.monotonic + delay, wall: now.wall + delay)
            table[place].traits.insert(.backingOff)
            timers.set(.backoff, of: table[place].id, at: life.restsUntil.monotonic)
        }
        table[place].traits.insert(.hasLife)
        lives[place] = life
        setState(place, .ready)
        table[place].readyAt = now.wall
        tell(
            .retrying(
                table[place].operationID, notBefore: delay > 0 ? life.restsUntil.wall : 0,
                counts: !execution.isRefused))
        report(.retrying, place, old: .executing, new: .ready, detail: String(execution.attempt))
        doubt(place)
        startAging(place)
        enterLane(place)
        giveBack(execution.holding)
    }
}
