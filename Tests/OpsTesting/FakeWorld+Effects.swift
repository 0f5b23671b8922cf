public import OpsCore

extension FakeWorld {
    /// Performs one effect, unless its runner is not reachable.
    ///
    /// - Parameter store: The current content of the disk.
    public mutating func perform(
        _ effect: Effect, store: FakeStore, at now: Moment, using random: inout SeededGenerator
    ) throws(Violation) {
        switch effect {
        case .launch(let attempt, let slot): try launch(attempt, slot, store, at: now, using: &random)
        case .stage(let attempt, let after):
            try stage(attempt, after, store)
            try passOn(store, at: now, using: &random)
        case .revokeStaged: try recall()
        case .terminate(let attempt, _):
            guard isConnected, let place = tree(attempt) else { return }
            trees[place].isTerminating = true
            trees[place].isFrozen = false
        case .freeze(let attempt):
            if isConnected, let place = tree(attempt), !trees[place].isTerminating { trees[place].isFrozen = true }
        case .thaw(let attempt):
            if isConnected, let place = tree(attempt) { trees[place].isFrozen = false }
        case .reap(let attempt): reap(attempt)
        case .acknowledge(let attempt): try acknowledge(attempt, store)
        case .evaluate(let id, let token):
            try require(store[id].state == .ready, .legalEffect, "conditions of \(id), which is \(store[id].state)")
            evaluations.removeAll { $0.operation == id }
            evaluations.append((operation: id, token: token))
            try require(evaluations.count <= Limits.evaluationsAtOnce, .legalEffect, "\(evaluations.count) evaluations")
        case .external, .submit, .release:
            throw Violation(.legalEffect, "\(effect) for an executor that this world does not have")
        case .stopEvaluating(let id): evaluations.removeAll { $0.operation == id }
        case .observeStart(let id):
            try require(store[id].hasStarted, .commitBeforeEffect, "start of \(id) observed, not stored")
        case .observeProduce(let id, let product):
            try require(
                store[product].producer == id, .commitBeforeEffect, "product \(product) of \(id) observed, not stored")
        case .observeFinish(let id, let run):
            try require(store[id].owedRuns.contains(run), .commitBeforeEffect, "end of \(id) observed, not owed")
            observersOwed.append((operation: id, run: run))
        }
    }

    private mutating func launch(
        _ attempt: AttemptID, _ slot: Int32, _ store: FakeStore, at now: Moment, using random: inout SeededGenerator
    ) throws(Violation) {
        let running = store.has(attempt.operation) ? store[attempt.operation].running : nil
        guard let running, running.attempt == attempt, running.slot == slot else {
            throw Violation(.commitBeforeEffect, "launch of \(attempt), whose start is not stored")
        }
        guard isConnected else { return }
        try require(
            running.runner == runner, .oneProcessAnAttempt, "\(attempt) was for \(running.runner), sent to \(runner)")
        if inventory[attempt] != nil || isRunnerEnding { return }
        staging.freeSlots.removeAll { $0.slot == slot }
        try require(!everLaunched.contains(attempt), .oneProcessAnAttempt, "\(attempt) launched twice")
        try require(!running.isOver, .oneProcessAnAttempt, "\(attempt) launched after its end")
        begin(attempt, slot, store[attempt.operation].policy, at: now, using: &random)
    }

    /// Starts the process of an attempt, or fails to.
    mutating func begin(
        _ attempt: AttemptID, _ slot: Int32, _ policy: Policy, at now: Moment, using random: inout SeededGenerator
    ) {
        everLaunched.insert(attempt)
        slotStarts[attempt] = SlotStart(slot: slot, at: now)
        if random.chance(6) {
            staging.disturbances.insert(attempt)
            inventory[attempt] = .failed(step: "execve", errno: 2)
            tell(.launchFailed(attempt, step: "execve", errno: 2))
            return
        }
        nextPid += 1
        let process = LaunchedProcess(pid: nextPid, startTicks: UInt64(nextPid) * 10, at: now)
        // An operation that waits for a report keeps the processes that may send it.
        let leftovers = policy.completion == .notify ? .wait : policy.leftovers
        let plan = Plan(
            code: random.chance(isTame ? 90 : 70) ? 0 : Int32(random.below(3)),
            isSignalled: random.chance(isTame ? 2 : 8), isEndless: random.chance(isTame ? 3 : 10),
            leavesOthers: random.chance(policy.leftovers != .kill ? 50 : isTame ? 4 : 15))
        trees.append(
            Tree(
                attempt: attempt, process: process, slot: slot, runner: runner, othersAreAlive: plan.leavesOthers,
                leftovers: leftovers, plan: plan))
        inventory[attempt] = .running(process)
        tell(.launched(attempt, process))
    }

    /// Removes a leftover tree. The tree of an attempt that was never launched, or has died meanwhile, is gone at once.
    private mutating func reap(_ attempt: AttemptID) {
        guard isConnected else { return }
        guard let place = tree(attempt) else { return tell(.gone(attempt)) }
        trees[place].isReaped = true
        trees[place].isTerminating = true
        trees[place].isFrozen = false
    }

    private mutating func acknowledge(_ attempt: AttemptID, _ store: FakeStore) throws(Violation) {
        let running = store.has(attempt.operation) ? store[attempt.operation].running : nil
        if let running, running.attempt == attempt {
            try require(
                running.exit != nil || running.isOver, .nothingLeftBehind, "\(attempt) acknowledged, end not stored")
        }
        guard isConnected else { return }
        inventory[attempt] = nil
        updates[attempt] = nil
        slotStarts[attempt] = nil
        staging.settle(attempt)
        acknowledged.insert(attempt)
    }
}
