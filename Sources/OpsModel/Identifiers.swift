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

/// One attempt: one start of an operation's process.
public struct AttemptID: Hashable, Sendable, Codable {
    public let operation: OperationID
    public let number: Int32
    public init(_ operation: OperationID, _ number: Int32) {
        self.operation = operation
        self.number = number
    }
}
