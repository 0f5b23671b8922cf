/// A limit of starts: at most `count` in any interval of this length.
public struct Rate: Hashable, Sendable, Codable {
    public var count: Int32
    public var interval: TimeSpan
    public init(count: Int32, interval: TimeSpan) {
        self.count = count
        self.interval = interval
    }
}

/// The latest starts of a category with a rate, as many as its rate allows.
///
/// A process starts some time after its start was decided. The start counts as unconfirmed until the process exists,
/// and from then on it counts for one interval. So the rate holds for processes, not only for decisions.
struct RateWindow: Codable {
    private(set) var rate: Rate
    /// Instants of confirmed starts, the oldest at `first`: those that the store keeps.
    private var starts: [MonotonicInstant] = []
    private var first = 0
    /// Number of starts whose process has not been reported.
    private(set) var unconfirmed: Int32 = 0

    init(_ rate: Rate) { self.rate = rate }

    private var count: Int { starts.count - first }

    /// Earliest instant at which one more may start; nil while that is unknown, since too many are unconfirmed.
    var nextStart: MonotonicInstant? {
        // As many of the confirmed starts must be older than the interval.
        let excess = count + Int(unconfirmed) - Int(rate.count) + 1
        guard excess > 0 else { return .distantPast }
        return excess <= count ? starts[first + excess - 1] + rate.interval : nil
    }

    func hasRoom(at now: Moment) -> Bool { nextStart.map { $0 <= now.monotonic } ?? false }

    /// Replaces the rate. Starts under the old one still count.
    mutating func change(_ rate: Rate) { self.rate = rate }

    /// Counts a start whose process is yet to be reported.
    mutating func begin() { unconfirmed += 1 }

    /// Counts a start at this instant, and forgets those that no longer count.
    mutating func add(_ instant: MonotonicInstant) {
        restore(instant)
        while starts[first] + rate.interval <= instant { first += 1 }
        guard first > 64, first > starts.count / 2 else { return }
        starts.removeFirst(first)
        first = 0
    }

    /// Counts a start that was stored.
    mutating func restore(_ instant: MonotonicInstant) { starts.append(max(instant, starts.last ?? instant)) }

    /// Counts an unconfirmed start at this instant.
    mutating func confirm(_ instant: MonotonicInstant) {
        unconfirmed = max(0, unconfirmed - 1)
        add(instant)
    }

    func checkInvariants(unconfirmed expected: Int32) -> [String] {
        var broken: [String] = []
        if unconfirmed != expected { broken.append("3: \(unconfirmed) starts are unconfirmed, not \(expected)") }
        if zip(starts, starts.dropFirst()).contains(where: { $0 > $1 }) { broken.append("3: starts are out of order") }
        return broken
    }
}
