/// One reading of both clocks, in nanoseconds.
public struct Moment: Hashable, Sendable, Codable {
    /// CLOCK_BOOTTIME, for durations. It continues while the machine sleeps and never jumps.
    public var monotonic: Int64
    /// CLOCK_REALTIME since 1970, for people and for the store. It may jump.
    public var wall: Int64
    @inlinable public init(monotonic: Int64, wall: Int64) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// Instants at which the scheduler needs its next turn even if nothing happens; the earlier one wakes it.
public struct Deadlines: Hashable, Sendable {
    public var monotonic: Int64?
    public var wall: Int64?
    public init(monotonic: Int64? = nil, wall: Int64? = nil) {
        self.monotonic = monotonic
        self.wall = wall
    }
}
