/// Estimate of the time for an operation and everything that depends on it. It fits in two bytes: its resolution is a
/// millisecond up to two seconds, and a thousandth of the time above that.
public struct EstimatedPath: Hashable, Comparable, Sendable, Codable {
    /// Code that sorts in the order of the estimates.
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
