import OpsCore

extension Simulation {
    /// Compares the scheduler with one that starts again from what is stored, at a few steps of a simulation. The
    /// simulation itself does not change.
    mutating func compareWithRestart() throws(Violation) {
        guard restartRandom.chance(4), let live = core.comparable, mayCompare else { return }
        var pair = Restart(live, store, setting)
        try pair.connect(store, setting)
        guard restartRandom.chance(50) else { return }
        if restartRandom.chance(60) { try pair.turn(calmingRequests()) }
        for _ in 0..<20 {
            guard try pair.step(&restartRandom) else { break }
        }
        try pair.compare()
    }

    /// Four facts are not stored, so a restart may change what depends on them.
    private var mayCompare: Bool {
        // The number of times that an operation was overtaken.
        guard judge.perhapsOvertaken.isEmpty else { return false }
        // The second is the monotonic clock: back-offs and slot time are restored by the wall clock, and an instant
        // that has passed comes again if that clock was set back.
        guard !isClockSet else { return false }
        // The third is the clock of an attempt whose runner is gone, and whether its processes are: until a runner has
        // killed them, a restarted scheduler counts neither.
        let hasOrphan = store.unfinished.contains { $0.countsForLimits && $0.running?.runner != knownRunner }
        // The fourth is the answers to conditions, which are evaluated again.
        return !hasOrphan && !store.unfinished.contains { $0.state == .ready && !$0.policy.conditions.isEmpty }
    }
}
