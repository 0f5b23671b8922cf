import OpsModel
import Testing

@testable import OpsCore

/// Delays of retries.
@Suite struct RetryPolicyTests {
    private func delays(_ policy: RetryPolicy, after counts: ClosedRange<Int32>) -> [TimeSpan] {
        counts.map { policy.delay(after: $0, of: AttemptID(7, $0)) }
    }

    @Test func `attempts are repeated up to the limit, for the named exit statuses`() {
        var policy = RetryPolicy(limit: 2)
        #expect((1...3).map { policy.retries(exitStatus: 75, ofAttempt: $0) } == [true, true, false])
        policy.exitCodes = [75]
        #expect([1, 75].map { policy.retries(exitStatus: $0, ofAttempt: 1) } == [false, true])
    }

    @Test func `a delay grows by its factor up to its maximum`() {
        var policy = RetryPolicy(limit: 9, backoff: .seconds(1), max: .seconds(10), jitter: 0)
        #expect(delays(policy, after: 1...6) == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        policy.factor = 1000
        #expect(delays(policy, after: 1...3) == [1, 1, 1].map { .seconds($0) })
        policy.backoff = .seconds(60)
        #expect(delays(policy, after: 1...2) == [10, 10].map { .seconds($0) })
        policy.backoff = 0
        #expect(delays(policy, after: 1...2) == [0, 0])
    }

    @Test func `jitter moves a delay to both sides, as far as it says`() {
        var policy = RetryPolicy(limit: 9, backoff: .seconds(1000), max: .seconds(1000))
        policy.jitter = 100
        let delays = (1...500).map { policy.delay(after: 1, of: AttemptID(OperationID($0), 1)) }
        #expect(delays.allSatisfy { $0 >= .seconds(900) && $0 <= .seconds(1100) })
        #expect(delays.contains { $0 < .seconds(910) } && delays.contains { $0 > .seconds(1090) })
        #expect(Set(delays).count > 300)
        #expect(policy.delay(after: 1, of: AttemptID(1, 1)) == delays[0])
        // The delays are the same in every release, because a restart computes the rest of a delay again.
        let attempts = [AttemptID(1, 1), AttemptID(2, 1), AttemptID(3, 1), AttemptID(1, 2)]
        #expect(
            attempts.map { policy.delay(after: 1, of: $0) } == [
                1_068_200_000_000, 1_081_900_000_000, 973_500_000_000, 1_091_500_000_000,
            ])
    }
}
