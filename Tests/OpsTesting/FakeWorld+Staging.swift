import OpsCore

/// Staged launches, which the runner starts by itself.
struct FakeStaging: Sendable {
    struct Launch: Sendable {
        let attempt: AttemptID
        /// Attempts that must succeed before this launch starts.
        var after: Set<AttemptID>
    }
    /// Number of tokens: one for each staged launch that has not started. They survive the runner.
    var tokens = 0
    var launches: [Launch] = []
    /// Attempts that succeeded and that opsd has not acknowledged. The next property contains the slots of those that
    /// no staged launch has used yet.
    var succeeded: Set<AttemptID> = []
    var freeSlots: [(attempt: AttemptID, slot: Int32)] = []
    /// Attempts that did not succeed and that opsd has not acknowledged; while there are any, no staged launch starts.
    var disturbances: Set<AttemptID> = []
    /// True if a launch waits for an attempt that opsd has acknowledged.
    var isStuck = false

    mutating func settle(_ attempt: AttemptID) {
        if launches.contains(where: { $0.after.contains(attempt) }) { isStuck = true }
        disturbances.remove(attempt)
        succeeded.remove(attempt)
        freeSlots.removeAll { $0.attempt == attempt }
    }

    mutating func drop() {
        tokens = 0
        launches.removeAll()
        isStuck = false
    }
}

extension FakeWorld {
    mutating func stage(_ attempt: AttemptID, _ after: [AttemptID], _ store: FakeStore) throws(Violation) {
        let staged = store[attempt.operation].staged
        try require(staged?.attempt == attempt, .commitBeforeEffect, "\(attempt) is not staged")
        guard isConnected else { return }
        try require(
            staged?.runner == runner && acceptsStaging && (after.isEmpty || acceptsWaiting), .legalEffect,
            "\(attempt) is staged with \(runner)")
        let rest = Set(after).subtracting(staging.succeeded)
        for awaited in rest {
            // The attempt ended in a way that does not allow others to start.
            switch inventory[awaited] {
            case .running, .exited: break
            case .gone, .failed, .accepted, .refused, .ended, nil: staging.disturbances.insert(awaited)
            }
        }
        staging.tokens += 1
        staging.launches.append(FakeStaging.Launch(attempt: attempt, after: rest))
        stagedAttempts.append(attempt)
    }

    mutating func recall() throws(Violation) {
        if isForgetful {
            staging.drop()
            stagedAttempts.removeAll()
        }
        try require(staging.launches.isEmpty, .legalEffect, "recalled after \(staging.launches) was given")
        if isConnected { tell(.revocationConfirmed) }
    }

    /// A slot is passed on only if its attempt has succeeded and left no processes.
    mutating func noteEnd(of ended: Tree) {
        guard isConnected, ended.runner == runner, isRunnerAlive, !isRunnerEnding else { return }
        let isOver = !ended.othersAreAlive || ended.leftovers == .leave
        // opsd passes on the results that the attempt has published.
        let speaks = updates[ended.attempt]?.result != nil
        let isAwaited = staging.launches.contains { $0.after.contains(ended.attempt) }
        guard !ended.isTerminating, isOver, ended.plan.code == 0, !ended.plan.isSignalled, !speaks || !isAwaited else {
            staging.disturbances.insert(ended.attempt)
            return
        }
        staging.freeSlots.append((ended.attempt, ended.slot))
        if speaks { return }
        staging.succeeded.insert(ended.attempt)
        for place in staging.launches.indices { staging.launches[place].after.remove(ended.attempt) }
    }

    /// Starts the first staged launch that waits for nothing, in a free slot.
    mutating func passOn(_ store: FakeStore, at now: Moment, using random: inout SeededGenerator) throws(Violation) {
        while isConnected, isRunnerAlive, !isRunnerEnding, staging.disturbances.isEmpty,
            !staging.isStuck, let free = staging.freeSlots.first,
            let place = staging.launches.firstIndex(where: \.after.isEmpty)
        {
            let attempt = staging.launches.remove(at: place).attempt
            staging.freeSlots.removeFirst()
            staging.tokens -= 1
            try judgeTaking(attempt, free.slot, store)
            tell(.stagedStarted(attempt, SlotStart(slot: free.slot, at: now)))
            begin(attempt, free.slot, store[attempt.operation].policy, at: now, using: &random)
        }
    }

    private func judgeTaking(_ attempt: AttemptID, _ slot: Int32, _ store: FakeStore) throws(Violation) {
        let record = store[attempt.operation]
        try require(record.staged?.attempt == attempt, .commitBeforeEffect, "\(attempt) taken")
        try require(!everLaunched.contains(attempt), .oneProcessAnAttempt, "\(attempt) begun twice")
        for edge in record.edges where !edge.isSettled && !edge.when.isMet(by: store[edge.on]) {
            let awaited = store[edge.on].running.flatMap { inventory[$0.attempt] }
            guard case .gone(let exit) = awaited, exit.status == .code(0) else {
                throw Violation(.dependencyOrder, "\(attempt) begun before the success of \(edge.on)")
            }
        }
        // An abandoned process may still run in a slot that another operation has got.
        let isShared = trees.contains {
            $0.slot == slot && $0.mainIsAlive && !$0.isReaped
                && store[$0.attempt.operation].running?.attempt == $0.attempt
        }
        try require(!isShared, .slotUnique, "\(attempt) begun in slot \(slot)")
    }
}
