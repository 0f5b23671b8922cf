/// Id of an operation. Ids rise in the order of submission and are never reused.
public struct OperationID: Hashable, Comparable, Sendable, Codable {
    public let rawValue: Int64
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: OperationID, b: OperationID) -> Bool { a.rawValue < b.rawValue }
}

/// Id of the operations of one `submit`; shown as `g7`.
public struct GraphID: Hashable, Comparable, Sendable, Codable {
    public let rawValue: Int64
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: GraphID, b: GraphID) -> Bool { a.rawValue < b.rawValue }
}

/// One start of an operation's process, or a helper process of opsd for an operation.
public struct AttemptID: Hashable, Comparable, Sendable, Codable {
    public let operation: OperationID
    /// Attempts are numbered from 1 upwards, helper processes from -1 downwards.
    public let number: Int32
    public init(_ operation: OperationID, _ number: Int32) {
        self.operation = operation
        self.number = number
    }

    /// True if this is a helper process of opsd (a condition or an observer), not an attempt of an operation.
    public var isHelper: Bool { number < 0 }

    /// Variable that tells the processes of a helper from those of its operation: the number without its sign.
    public static let helperVariable = "OPS_HELPER"

    public static func < (a: AttemptID, b: AttemptID) -> Bool {
        (a.operation, a.number) < (b.operation, b.number)
    }
}
