/// A number of nanoseconds with a meaning: a length of time, or an instant of one clock. It takes the eight bytes of its
/// number, and is encoded and described as that number.
public protocol NanosecondCount: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    var nanoseconds: Int64 { get set }
    init(nanoseconds: Int64)
}

extension NanosecondCount {
    @inlinable public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

    @inlinable public static var zero: Self { Self(nanoseconds: 0) }

    /// Adds a length that a user chose. A sum that does not fit is replaced by the nearest value that does; `+` would
    /// end the process.
    @inlinable public func clampedSum(_ span: TimeSpan) -> Self {
        let (sum, overflowed) = nanoseconds.addingReportingOverflow(span.nanoseconds)
        return Self(nanoseconds: overflowed ? (span.nanoseconds < 0 ? .min : .max) : sum)
    }

    public var description: String { String(nanoseconds) }

    @inlinable public init(from decoder: any Decoder) throws {
        self.init(nanoseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    @inlinable public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }
}

/// A length of time.
public struct TimeSpan: NanosecondCount {
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    @inlinable public static func nanoseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count) }
    @inlinable public static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    @inlinable public static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }
    @inlinable public static func minutes(_ count: Int64) -> TimeSpan { .seconds(count * 60) }
    @inlinable public static func days(_ count: Int64) -> TimeSpan { .seconds(count * 86_400) }
    @inlinable public static var max: TimeSpan { TimeSpan(nanoseconds: .max) }

    /// Number of complete milliseconds, or seconds.
    @inlinable public var milliseconds: Int64 { nanoseconds / 1_000_000 }
    @inlinable public var seconds: Int64 { nanoseconds / 1_000_000_000 }

    @inlinable public static func + (a: TimeSpan, b: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: a.nanoseconds + b.nanoseconds)
    }
    @inlinable public static func - (a: TimeSpan, b: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: a.nanoseconds - b.nanoseconds)
    }
    @inlinable public static func += (a: inout TimeSpan, b: TimeSpan) { a.nanoseconds += b.nanoseconds }
    @inlinable public static func -= (a: inout TimeSpan, b: TimeSpan) { a.nanoseconds -= b.nanoseconds }
    @inlinable public static func * (span: TimeSpan, count: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds * count)
    }
    @inlinable public static func / (span: TimeSpan, count: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds / count)
    }
    /// Returns the number of complete parts of a length.
    @inlinable public static func / (span: TimeSpan, part: TimeSpan) -> Int64 { span.nanoseconds / part.nanoseconds }
}

/// A point in time of one clock, counted from the origin of that clock.
public protocol ClockInstant: NanosecondCount {}

extension ClockInstant {
    @inlinable public static var distantPast: Self { Self(nanoseconds: .min) }
    @inlinable public static var distantFuture: Self { Self(nanoseconds: .max) }

    @inlinable public static func + (instant: Self, span: TimeSpan) -> Self {
        Self(nanoseconds: instant.nanoseconds + span.nanoseconds)
    }
    @inlinable public static func - (instant: Self, span: TimeSpan) -> Self {
        Self(nanoseconds: instant.nanoseconds - span.nanoseconds)
    }
    @inlinable public static func - (end: Self, start: Self) -> TimeSpan {
        TimeSpan(nanoseconds: end.nanoseconds - start.nanoseconds)
    }
    @inlinable public static func += (instant: inout Self, span: TimeSpan) { instant.nanoseconds += span.nanoseconds }
}

/// An instant of CLOCK_REALTIME since 1970, for people and for the store. This clock may jump.
public struct WallInstant: ClockInstant {
    public var nanoseconds: Int64
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}

/// An instant of CLOCK_BOOTTIME, for durations. This clock continues while the machine sleeps and never jumps.
public struct MonotonicInstant: ClockInstant {
    public var nanoseconds: Int64
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}
