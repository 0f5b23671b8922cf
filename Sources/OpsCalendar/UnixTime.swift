/// A point in time, in whole seconds since 1970 in UTC.
public struct UnixTime: Hashable, Comparable, Sendable {
    /// Maximum absolute value, some nine million years, so that adding an offset cannot overflow.
    static let bound: Int64 = 1 << 48

    public static let earliest = UnixTime(seconds: -bound)
    public static let latest = UnixTime(seconds: bound)

    public let seconds: Int64

    public init(seconds: Int64) {
        self.seconds = min(max(seconds, -Self.bound), Self.bound)
    }

    /// Drops the fraction of a second. Scheduled instants are whole seconds, so this does not change which ones come
    /// next.
    public init(flooringNanoseconds nanoseconds: Int64) {
        self.init(seconds: floorDivide(nanoseconds, 1_000_000_000))
    }

    /// Nanoseconds since 1970; nil if they do not fit into 64 bits (after 2262).
    public var nanoseconds: Int64? {
        let (product, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflowed ? nil : product
    }

    public static func < (a: UnixTime, b: UnixTime) -> Bool { a.seconds < b.seconds }

    func advanced(by seconds: Int64) -> UnixTime { UnixTime(seconds: self.seconds + seconds) }
}

/// Divides and rounds down, also for negative numbers.
func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
    let quotient = a / b
    return a % b < 0 ? quotient - 1 : quotient
}
