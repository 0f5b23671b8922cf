/// One reading of both clocks, in nanoseconds. The core has no other notion of "now".
public struct Moment: Hashable, Sendable {
    /// CLOCK_BOOTTIME: what durations are measured with.
    public var monotonic: Int64
    /// CLOCK_REALTIME since 1970: what people name and what is stored.
    public var wall: Int64
    public init(monotonic: Int64, wall: Int64) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// When the scheduler next wants a turn although nothing happened; the earlier of the two wakes it.
public struct Deadlines: Hashable, Sendable {
    public var monotonic: Int64?
    public var wall: Int64?
    public init(monotonic: Int64? = nil, wall: Int64? = nil) {
        self.monotonic = monotonic
        self.wall = wall
    }
}
