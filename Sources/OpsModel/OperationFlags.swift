/// Properties of an operation that are one bit each.
public struct OperationFlags: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let group = OperationFlags(rawValue: 1)
    public static let barrier = OperationFlags(rawValue: 2)
    public static let held = OperationFlags(rawValue: 4)
    /// Submitted by a `provide` key; cancelled with the operation that needs it.
    public static let provided = OperationFlags(rawValue: 8)
}
