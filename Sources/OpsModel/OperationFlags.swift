/// Properties of an operation that take one bit each.
public struct OperationFlags: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let group = OperationFlags(rawValue: 1)
    public static let barrier = OperationFlags(rawValue: 2)
    public static let held = OperationFlags(rawValue: 4)
    /// Created by a condition's `provide`; it is cancelled if the operation with the condition ends without it.
    public static let provided = OperationFlags(rawValue: 8)
}
