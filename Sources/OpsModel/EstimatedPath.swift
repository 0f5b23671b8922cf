/// An estimate of the time that an operation and everything behind it take. It fits in two bytes of the row of an
/// operation: its resolution is a millisecond up to two seconds, and a thousandth of the time above them.
public struct EstimatedPath: Hashable, Comparable, Sendable, Codable {
    /// Code that sorts as the estimates do.
    public let code: UInt16

    public init(code: UInt16) { self.code = code }

    public init(milliseconds: Int64) {
        let value = UInt64(max(1, milliseconds))
        let exponent = max(0, 63 - value.leadingZeroBitCount - Self.mantissaBits)
        code = UInt16(exponent << Self.mantissaBits) + UInt16(value >> exponent)
    }

    public var milliseconds: Int64 {
        guard code >= 2 << Self.mantissaBits else { return Int64(code) }
        let exponent = Int(code >> Self.mantissaBits) - 1
        let mantissa = UInt64(code) - UInt64(exponent << Self.mantissaBits)
        return Int64(clamping: mantissa << exponent)
    }

    public static func < (a: EstimatedPath, b: EstimatedPath) -> Bool { a.code < b.code }

    private static let mantissaBits = 10
}
