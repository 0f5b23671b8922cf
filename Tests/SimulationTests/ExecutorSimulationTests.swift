import OpsTesting
import Testing

@Suite struct ExecutorSimulationTests {
    @Test func `no attempt starts twice and no lost job succeeds, whatever dies`() throws {
        var successes = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var life = ExecutorSimulation(seed: seed)
            try life.run()
            successes += life.successes
        }
        #expect(successes > 50)
    }

    @Test func `an executor that submits again without looking is found`() {
        expectFound(.submitsBlindly, [.oneProcessAnAttempt, .nothingLeftBehind])
    }

    @Test func `an executor that takes a forgotten job for a success is found`() {
        expectFound(.trustsForgottenJobs, [.oneOutcome])
    }

    private func expectFound(_ fault: FakeEngine.Fault, _ promises: Set<Violation.Promise>) {
        for seed in 1...50 as ClosedRange<UInt64> {
            var life = ExecutorSimulation(seed: seed, fault: fault)
            do {
                try life.run()
            } catch {
                #expect(promises.contains(error.promise), "\(error)")
                return
            }
        }
        Issue.record("nobody noticed \(fault)")
    }
}
