extension Scheduler {

    // MARK: Facts

    /// Returns the execution of an attempt about which the runner reports, and so confirms its start.
    private mutating func confirmedExecution(of attempt: AttemptID) -> ExecutionIndex? {
        guard let index = registry.execution(of: attempt) else { return nil }
        confirmStart(index, nil)
        confirm(index)
        return index
    }

    mutating func launched(_ attempt: AttemptID, _ process: LaunchedProcess) {
        guard let index = confirmedExecution(of: attempt), executions[index].process == nil else { return }
        setProcess(of: index, process)
        // The command to freeze it may have come before its launch.
        repeatFreeze(index)
    }

    /// Stores the process of an attempt, which confirms its start, unless the process is known.
    mutating func setProcess(of index: ExecutionIndex, _ process: LaunchedProcess) {
        confirmStart(index, nil)
        guard executions[index].process == nil else { return }
        executions[index].process = process
        countConfirmedStart(of: index)
        record(.launched(registry.attemptID(index), process))
    }

    mutating func launchFailed(_ attempt: AttemptID, step: String, errno: Int32) {
        guard let index = confirmedExecution(of: attempt) else { return emit(.acknowledge(attempt)) }
        let end =
            executions[index].resolution ?? Resolution(outcome: .failed, cause: .cannotStart(step: step, errno: errno))
        executions[index].resolution = end
        endAttempt(index)
    }

    mutating func exited(_ attempt: AttemptID, _ exit: ProcessExit, treeIsGone: Bool) {
        guard let index = confirmedExecution(of: attempt) else {
            if treeIsGone { emit(.acknowledge(attempt)) }
            return
        }
        if executions[index].exit == nil {
            executions[index].exit = exit
            countConfirmedStart(of: index)
            record(.exited(attempt, exit))
        }
        if executions[index].resolution == nil, let end = registry.resolution(of: index, treeIsGone: treeIsGone) {
            executions[index].resolution = end
            disarmTimeout(index)
        }
        guard treeIsGone else { return handleLeftovers(index) }
        if exit.status == .code(0), exit.at.monotonic - executions[index].startedAt.monotonic < Limits.shortRun {
            scratch.sawShortRun = true
        }
        if executions[index].resolution != nil { executions[index].endedAt = exit.at.wall }
        endAttempt(index)
    }

    /// Handles leftover processes of a `notify` operation. One of them may still report the result, so the runner keeps
    /// them alive until opsd terminates them.
    private mutating func handleLeftovers(_ index: ExecutionIndex) {
        let policy = policy(of: executions[index].operation)
        guard policy?.completion == .notify, executions[index].resolution != nil, !executions[index].isCancelling else {
            return
        }
        switch policy?.leftovers ?? .kill {
        case .kill: terminate(index)
        case .wait: break
        case .leave: if executions[index].exit != nil { endAttempt(index) }
        }
    }

    mutating func gone(_ attempt: AttemptID) {
        guard let index = confirmedExecution(of: attempt) else { return emit(.acknowledge(attempt)) }
        if executions[index].resolution == nil {
            executions[index].resolution =
                registry.resolution(of: index, treeIsGone: true)
                // The processes that could have reported the end died with the runner.
                ?? (executions[index].exit == nil || executions[index].isReaping
                    ? Resolution(outcome: .interrupted, cause: .runnerLost) : nil)
        }
        endAttempt(index)
    }

    mutating func updated(_ attempt: AttemptID, _ notice: OperationUpdate) {
        guard let index = confirmedExecution(of: attempt) else { return }
        let operation = executions[index].operation
        record(.updated(attempt, notice))
        if notice.status != nil || notice.progressDone != nil || notice.progressTotal != nil {
            publish(.progress, operation, detail: notice.status)
        }
        if let longer = notice.extendTimeout { extendTimeout(index, by: longer) }
        guard let status = notice.finished, policy(of: operation)?.completion == .notify else { return }
        finishByReport(index, registry.resolution(of: index, reported: status))
    }

    /// Finishes an operation as `opsctl finish` requests.
    mutating func finish(
        _ id: OperationID, failed: Bool, message: String?, by: String
    ) throws(Rejection) -> Acceptance {
        guard let operation = unfinished(id) else { throw notFoundError(id) }
        if table[operation].isGroup { throw .endsWithItsChildren(id) }
        guard let index = execution(of: operation) else { throw .notExecuting(id) }
        guard !executions[index].isOver else { throw .ownPartEnded(id) }
        guard policy(of: operation)?.completion == .notify else { throw .endsByItsExit(id) }
        guard executions[index].resolution == nil else { throw .isEnding(id) }
        finishByReport(
            index, Resolution(outcome: failed ? .failed : .succeeded, cause: .finishedBy(by, message: message)))
        return .done(1)
    }

    /// Resolves an attempt that the operation itself or a user has reported as finished.
    private mutating func finishByReport(_ index: ExecutionIndex, _ end: Resolution) {
        guard executions[index].resolution == nil else { return }
        executions[index].resolution = end
        disarmTimeout(index)
        if executions[index].isGone {
            endAttempt(index)
        } else {
            recordCancelling(index, by: "", reason: nil)
            executions[index].isCancelling = !registry.leavesProcesses(index)
            if executions[index].isCancelling { terminate(index) } else { handleLeftovers(index) }
        }
    }

    // MARK: Ends

    /// Withdraws the launch of an attempt that was started in this turn.
    mutating func dropLaunch(_ index: ExecutionIndex) {
        guard let slot = executions[index].slot else { return dropSubmission(index) }
        output.withdraw(.launch(registry.attemptID(index), slot: slot))
    }

    /// Terminates all processes of an attempt: SIGTERM, and SIGKILL after the grace, which is that of its policy by default.
    mutating func terminate(_ index: ExecutionIndex, grace: TimeSpan? = nil) {
        let operation = executions[index].operation
        unfreeze(index)
        guard !executions[index].isGone else { return }
        let grace = grace ?? policy(of: operation)?.grace ?? Policy().grace
        emit(.terminate(registry.attemptID(index), grace: grace), for: index)
    }

    /// Records that an operation is no longer frozen: it was thawed for a signal, or its processes are gone. If it was
    /// suspended by its id and is to start again, it is held instead, until it is resumed.
    mutating func unfreeze(_ index: ExecutionIndex) {
        let operation = executions[index].operation
        guard !table[operation].traits.isDisjoint(with: .frozen) else { return }
        if table[operation].traits.contains(.frozenItself), startsAgain(operation, index) { hold(operation) }
        table[operation].traits.remove(.frozen)
        record(.frozen(table[operation].operationID, by: []))
    }

    /// Returns whether an operation starts again after an attempt that is ending, or whose start is being undone.
    private func startsAgain(_ operation: OperationIndex, _ index: ExecutionIndex) -> Bool {
        guard let end = executions[index].resolution else { return true }
        return mayRetry(operation, index, end)
    }

    /// Records a resolution that was decided while processes are alive. Their ends do not change it.
    mutating func recordCancelling(_ index: ExecutionIndex, by: String, reason: String?) {
        guard let end = executions[index].resolution else { return }
        executions[index].isCancelling = true
        let operation = executions[index].operation
        record(
            .cancelling(
                table[operation].operationID, by: by, reason: reason, outcome: end.outcome, end.cause))
        if end.endsChildren { publish(.cancelling, operation) }
    }

    /// Ends an attempt of which no process is left. If it has no resolution yet, only its slot becomes free.
    mutating func endAttempt(_ index: ExecutionIndex) {
        executions[index].isGone = true
        let resolution = executions[index].resolution
        guard let end = resolution else { return freeSlot(of: index) }
        let operation = executions[index].operation
        let attempt = registry.attemptID(index)
        executions[index].isOver = true
        executions[index].isCancelling = end.endsChildren
        if end.outcome != .succeeded { staging.spoil() }
        // Processes kept by `leftovers: leave` are not left frozen.
        if !table[operation].traits.isDisjoint(with: .frozen) { emit(.thaw(attempt), for: index) }
        unfreeze(index)
        disarmTimeout(index)
        let now = now.wall
        record(.attemptEnded(attempt, end.outcome, end.cause, at: executions[index].exit?.at.wall ?? now))
        if end.outcome == .interrupted { publish(.interrupted, operation, detail: String(attempt.number)) }
        emit(.acknowledge(attempt), for: index)
        vacate(index)
        countConfirmedStart(of: index)
        if let group = group(of: operation), groups[group].unfinished > 0 { return }
        endOperation(operation)
    }

    /// Continues after an attempt that has ended, and whose children have finished: with another attempt, or with the
    /// finish.
    mutating func endOperation(_ operation: OperationIndex) {
        guard let index = execution(of: operation) else { return }
        let resolution = executions[index].resolution
        guard let end = resolution else { return }
        if end.outcome == .succeeded, let group = group(of: operation), groups[group].unsuccessful > 0 {
            return decide(
                operation, .failed,
                .children(first: groups[group].firstUnsuccessful, count: groups[group].unsuccessful))
        }
        if mayRetry(operation, index, end) { return retryLater(operation, index) }
        decide(operation, end.outcome, end.outcome == .succeeded ? end.cause.ofSuccess : end.cause)
    }

    @inline(__always) func mayRetry(_ operation: OperationIndex, _ index: ExecutionIndex, _ end: Resolution) -> Bool {
        if executions[index].isRefused { return true }
        guard allowsRetry(operation, index, end) else { return false }
        if let parent = parent(of: operation), registry.preventsRetries(below: parent) { return false }
        // Its deadline may have passed while it was ending for another reason.
        guard let policy = table.policy(of: operation), let deadline = policies[policy].deadline else { return true }
        return deadline > now.wall
    }

    /// Returns whether the policy of an operation has another attempt after this end.
    @inline(__always) func allowsRetry(
        _ operation: OperationIndex, _ index: ExecutionIndex, _ end: Resolution
    ) -> Bool {
        if case .refused = end.cause { return false }
        guard let policy = table.policy(of: operation), let retry = policies[policy].retry,
            executions[index].attemptsInRun <= retry.limit
        else { return false }
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
        case .succeeded, .cancelled, .skipped, .notNeeded: return false
        }
    }

    /// Returns the back-off, or a longer delay if the exit asked for one.
    private func delayOfRetry(_ index: ExecutionIndex) -> TimeSpan {
        let execution = executions[index]
        let retry = policy(of: execution.operation)?.retry
        let backoff = retry?.delay(after: execution.attemptsInRun, of: registry.attemptID(index)) ?? .zero
        guard let exit = execution.exit, exit.retryAfter > .zero else { return backoff }
        return max(backoff, exit.retryAfter - max(.zero, now.monotonic - exit.at.monotonic))
    }

    private mutating func retryLater(_ operation: OperationIndex, _ index: ExecutionIndex) {
        countConfirmedStart(of: index)
        let execution = executions[index]
        let delay = execution.isRefused ? .zero : delayOfRetry(index)
        executions.remove(index)
        table[operation].unlink()
        closeScopes(of: operation, holding: execution.holding)
        var run = Run(number: execution.run, attempts: execution.attemptsInRun - (execution.isRefused ? 1 : 0))
        if delay > .zero {
            run.restsUntil = now + delay
            registry.setTraits(of: operation, inserting: .backingOff)
            timers.set(.backoff, of: table[operation].id, at: run.restsUntil.monotonic)
        }
        table[operation].traits.insert(.hasRun)
        runs[operation] = run
        setState(operation, .ready)
        table[operation].readyAt = now.wall
        record(
            .retrying(
                table[operation].operationID, notBefore: delay > .zero ? run.restsUntil.wall : .zero,
                counts: !execution.isRefused))
        publish(.retrying, operation, old: .executing, new: .ready, detail: String(execution.attempt))
        invalidatePriority(of: operation)
        startAging(operation)
        enterLane(operation)
        release(execution.holding, assigned: execution.assigned)
    }
}
