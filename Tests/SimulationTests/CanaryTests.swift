import OpsTesting
import Testing

@Suite("Canaries: the simulation finds every planted bug")
struct CanaryTests {
    @Test func `a category that chains its operations in order of submission is found`() throws {
        try expectFound(ChainsExclusivityWhenAdding.self, [.nothingIdle])
    }
    @Test func `a category released at the request to cancel is found`() throws {
        try expectFound(ReleasesOnCancel.self, [.nothingLeftBehind, .exclusion, .oneOutcome])
    }
    @Test func `a lost wake-up is found`() throws { try expectFound(LosesWakeUp.self, [.nothingIdle, .startOrder]) }
    @Test func `a launch before its commit is found`() throws {
        try expectFound(LaunchesBeforeCommit.self, [.commitBeforeEffect])
    }
    @Test func `a forgotten backoff is found`() throws { try expectFound(ForgetsBackoff.self, [.noEarlyStart]) }
    @Test func `a wrong count after a change of a queue's limit is found`() throws {
        try expectFound(MiscountsAfterResize.self, [.queueLimit])
    }
    @Test func `a unit with two holders is found`() throws { try expectFound(AssignsOneUnitToAll.self, [.exclusion]) }
    @Test func `units that are not stored are found`() throws { try expectFound(ForgetsUnits.self, [.exclusion]) }
    @Test func `starts for a rate that are not stored are found`() throws {
        try expectFound(ForgetsRatedStarts.self, [.rates, .nothingIdle])
    }
    @Test func `a rate that is not kept is found`() throws {
        try expectFound(KeepsAnotherRate.self, [.rates, .nothingIdle])
    }
    @Test func `a forgotten estimate of the longest path is found`() throws {
        try expectFound(ForgetsPaths.self, [.startOrder])
    }
    @Test func `a timeout that only a restart brings back is found`() throws {
        try expectFound(ForgetsTimeouts.self, [.restart, .explanation])
    }
    @Test func `a lost report is found`() throws { try expectFound(LosesReports.self, [.reports]) }
    @Test func `a report of another outcome is found`() throws {
        try expectFound(ReportsOtherOutcomes.self, [.reports])
    }
    @Test func `an ignored suspension of a graph is found`() throws {
        try expectFound(IgnoresSuspendedGraphs.self, [.noEarlyStart])
    }
    @Test func `a termination that is never sent is found`() throws {
        try expectFound(ForgetsToTerminate.self, [.settles])
    }
    @Test func `an acknowledgement that comes too early is found`() throws {
        try expectFound(AcknowledgesTooEarly.self, [.nothingLeftBehind, .settles])
    }
    @Test func `a forgotten priority is found`() throws { try expectFound(ForgetsPriority.self, [.startOrder]) }
    @Test func `a barrier that holds back other users is found`() throws {
        try expectFound(HoldsBackEverybody.self, [.dependencyOrder, .nothingIdle, .startOrder])
    }
    @Test func `a barrier of root that holds back only root is found`() throws {
        try expectFound(ForgetsBarriersOfRoot.self, [.dependencyOrder, .nothingIdle, .startOrder])
    }
    @Test func `a new runner that is mistaken for the old one is found`() throws {
        try expectFound(MistakesTheRunner.self, [.oneProcessAnAttempt])
    }
    @Test func `staged launches that are not revoked are found`() throws {
        try expectFound(KeepsStagedLaunches.self, [.commitBeforeEffect]) { $0.isPlain = true }
    }
    @Test func `a forgotten start of a staged launch is found`() throws {
        try expectFound(ForgetsWhatWasTaken.self, [.oneProcessAnAttempt, .nothingLeftBehind]) {
            $0.isPlain = true
            $0.runnerDeaths = 10
        }
    }
    @Test func `a forgotten predecessor of a staged launch is found`() throws {
        try expectFound(ForgetsWhatIsAwaited.self, [.dependencyOrder]) { $0.isPlain = true }
    }
    @Test func `a skip that counts although nothing went wrong is found`() throws {
        try expectFound(CountsWhatIsNotNeeded.self, [.oneOutcome])
    }
    @Test func `a slot that is used again and not stored as free is found`() throws {
        try expectFound(ForgetsFreedSlots.self, [.slotUnique, .poolLimit])
    }
    @Test func `an empty explanation is found`() throws { try expectFound(ExplainsNothing.self, [.explanation]) }

    /// Expects that some seed of the usual number breaks one of the promises that the fault violates.
    private func expectFound<Bug: Perturbation>(
        _: Bug.Type, _ promises: [Violation.Promise], changing change: ((inout Habits) -> Void)? = nil
    ) throws {
        for seed in seedsInTests {
            var habits: Habits?
            if let change {
                var random = SeededGenerator(seed: seed)
                var changed = Habits(using: &random)
                change(&changed)
                habits = changed
            }
            var simulation = Simulation<Broken<Bug>>(seed: seed, habits: habits)
            do throws(Failure) {
                try simulation.run()
            } catch {
                #expect(promises.contains(error.violation.promise), "found as \(error.violation)")
                return
            }
        }
        Issue.record("\(Bug.self) lives through \(seedsInTests)")
    }
}
