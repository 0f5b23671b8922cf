/// The delays of retries.
extension RetryPolicy {
    /// Returns true if an attempt of a run that ends with this exit status is followed by another one.
    public func retries(exitStatus: Int32, ofAttempt number: Int32) -> Bool {
        onFailed && number <= limit && (exitCodes.isEmpty || exitCodes.contains(exitStatus))
    }

    /// Returns the delay after the `count`th attempt of a run. The jitter is a function of the attempt's name: no two
    /// attempts share it, and every rerun of the same events gives the same.
    func delay(after count: Int32, of attempt: AttemptID) -> TimeSpan {
        let longest = max.nanoseconds
        var delay = min(backoff.nanoseconds, longest)
        for _ in 1..<Swift.max(count, 1) {
            let (product, overflow) = delay.multipliedReportingOverflow(by: factor)
            let next = overflow ? longest : min(product / 1000, longest)
            if next == delay { break }
            delay = next
        }
        guard jitter > 0, delay > 0 else { return .nanoseconds(Swift.max(0, delay)) }
        // SplitMix64: a full avalanche in three lines.
        var z = UInt64(bitPattern: attempt.operation.rawValue) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(attempt.number)
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        z ^= z >> 31
        let spread = Int64(z % 2001) - 1000
        return .nanoseconds(Swift.max(0, delay + delay / 1000 * jitter / 1000 * spread))
    }
}
