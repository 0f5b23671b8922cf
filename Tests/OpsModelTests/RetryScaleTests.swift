import OpsModel
import Testing

@Suite struct RetryScaleTests {
    private func scale(_ key: RetryScale.Key, _ factor: Int64) -> RetryScale {
        var scale = RetryScale()
        scale[key] = factor
        return scale
    }

    @Test func `each attempt multiplies the value of the one before`() {
        let doubled = scale(.memory, 2000)
        let values = (1...4).map { doubled.value(64 << 20, of: .memory, inAttempt: $0) >> 20 }
        #expect(values == [64, 128, 256, 512])
        let longer = scale(.timeout, 1500)
        #expect(
            (1...3).map { longer.value(10_000_000_000, of: .timeout, inAttempt: $0) / 1_000_000 } == [
                10_000, 15_000, 22_500,
            ])
    }

    @Test func `a value without a factor stays`() {
        #expect(scale(.memory, 2000).value(7, of: .tasks, inAttempt: 9) == 7)
        #expect(scale(.memory, 1000).value(7, of: .memory, inAttempt: 9) == 7)
        #expect(scale(.memory, 2000).value(0, of: .memory, inAttempt: 9) == 0)
        #expect(RetryScale().isEmpty)
    }

    @Test(arguments: RetryScale.Key.allCases) func `no value grows beyond the largest of its key`(key: RetryScale.Key) {
        let grown = scale(key, 1_000_000).value(1, of: key, inAttempt: 1_000_000)
        let largest: [RetryScale.Key: Int64] = [
            .timeout: Limits.duration.nanoseconds, .cpuWeight: 10_000, .cpuQuota: 1_000_000, .tasks: Int64(Int32.max),
            .openFiles: Int64(Int32.max),
        ]
        #expect(grown == largest[key] ?? .max)
        #expect(scale(key, 2000).value(1, of: key, inAttempt: .max) <= grown)
    }

    @Test func `a timeout grows with its policy`() {
        var policy = Policy()
        policy.timeout = .seconds(10)
        #expect(policy.timeout(inAttempt: 3) == .seconds(10))
        policy.retry = RetryPolicy(limit: 5, scale: scale(.timeout, 2000))
        #expect((0...3).map { policy.timeout(inAttempt: $0)?.seconds } == [10, 10, 20, 40])
    }
}
