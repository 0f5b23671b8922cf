public import OpsCore

/// Durations, counted in buckets.
public struct Histogram: Equatable, Sendable {
    /// Upper bounds of the buckets in nanoseconds, in ascending order. The last bucket has none.
    public let bounds: [Int64]
    /// Number of durations in each bucket: one more than there are bounds.
    public internal(set) var counts: [Int64]
    /// Sum of the durations in nanoseconds.
    public internal(set) var sum: Int64 = 0

    init(_ bounds: [Int64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Bounds are part of what is stored: a change of them is a migration.
    private static let seconds: Int64 = 1_000_000_000

    /// Waiting and running times of operations: 0.1 s to a day.
    static var ofOperations: Histogram {
        Histogram([
            seconds / 10, seconds, 10 * seconds, 60 * seconds, 600 * seconds, 3600 * seconds, 21_600 * seconds,
            86_400 * seconds,
        ])
    }

    /// Durations of turns and commits: 0.1 ms to 10 s.
    public static var ofTurns: Histogram {
        Histogram([seconds / 10_000, seconds / 1000, seconds / 100, seconds / 20, seconds / 10, seconds, 10 * seconds])
    }

    var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    /// Counts one duration. A negative one, which a change of the clock may cause, counts as 0.
    public mutating func add(_ duration: TimeSpan) {
        let duration = max(0, duration.nanoseconds)
        counts[bounds.firstIndex { duration <= $0 } ?? bounds.count] += 1
        let (sum, overflow) = sum.addingReportingOverflow(duration)
        if !overflow { self.sum = sum }
    }
}
