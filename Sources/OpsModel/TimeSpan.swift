/// A duration in nanoseconds, in the eight bytes of its number.
public struct TimeSpan: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    @inlinable public static func nanoseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count) }
    @inlinable public static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    @inlinable public static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }
    @inlinable public static var zero: TimeSpan { TimeSpan(nanoseconds: 0) }

    @inlinable public static func < (a: TimeSpan, b: TimeSpan) -> Bool { a.nanoseconds < b.nanoseconds }
    @inlinable public static func + (a: TimeSpan, b: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: a.nanoseconds + b.nanoseconds)
    }
    @inlinable public static func - (a: TimeSpan, b: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: a.nanoseconds - b.nanoseconds)
    }
    @inlinable public static func * (span: TimeSpan, count: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds * count)
    }
    @inlinable public static func / (span: TimeSpan, count: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds / count)
    }
}

/// A point in time of one clock, in nanoseconds since the clock's origin.
public protocol ClockInstant: Hashable, Comparable, Sendable {
    var nanoseconds: Int64 { get set }
    init(nanoseconds: Int64)
}

extension ClockInstant {
    @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
    @inlinable public static func + (instant: Self, span: TimeSpan) -> Self {
        Self(nanoseconds: instant.nanoseconds + span.nanoseconds)
    }
    @inlinable public static func - (instant: Self, span: TimeSpan) -> Self {
        Self(nanoseconds: instant.nanoseconds - span.nanoseconds)
    }
    @inlinable public static func - (end: Self, start: Self) -> TimeSpan {
        TimeSpan(nanoseconds: end.nanoseconds - start.nanoseconds)
    }
}

/// An instant of CLOCK_REALTIME since 1970, for people and for the store. This clock may jump.
public struct WallInstant: ClockInstant {
    public var nanoseconds: Int64
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}

/// An instant of CLOCK_BOOTTIME, for durations. This clock never jumps.
public struct MonotonicInstant: ClockInstant {
    public var nanoseconds: Int64
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}
