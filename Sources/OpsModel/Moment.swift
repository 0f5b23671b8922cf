/// One reading of both clocks.
public struct Moment: Hashable, Sendable, Codable {
    /// For durations.
    public var monotonic: MonotonicInstant
    /// For people and for the store.
    public var wall: WallInstant
    @inlinable public init(monotonic: MonotonicInstant, wall: WallInstant) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// The origin of both clocks, which stands for no moment.
    @inlinable public static var zero: Moment { Moment(monotonic: .zero, wall: .zero) }

    @inlinable public static func + (moment: Moment, span: TimeSpan) -> Moment {
        Moment(monotonic: moment.monotonic + span, wall: moment.wall + span)
    }
    @inlinable public static func - (moment: Moment, span: TimeSpan) -> Moment {
        Moment(monotonic: moment.monotonic - span, wall: moment.wall - span)
    }

    @inlinable public static func += (moment: inout Moment, span: TimeSpan) { moment = moment + span }

    /// Difference of the clocks, which changes when the wall clock is set.
    @inlinable public var clockDifference: TimeSpan {
        TimeSpan(nanoseconds: wall.nanoseconds - monotonic.nanoseconds)
    }

    /// Returns the reading of the wall clock at an instant of the monotonic clock, if no clock is set in between.
    @inlinable public func wall(at instant: MonotonicInstant) -> WallInstant { wall + (instant - monotonic) }
}

/// Instants at which the scheduler needs its next turn even if nothing happens; the earlier one wakes it.
public struct Deadlines: Hashable, Sendable {
    public var monotonic: MonotonicInstant?
    public var wall: WallInstant?
    public init(monotonic: MonotonicInstant? = nil, wall: WallInstant? = nil) {
        self.monotonic = monotonic
        self.wall = wall
    }
}
