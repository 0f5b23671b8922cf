// Types of the interface file for the operations that a call selects, and for problems of submissions.

public struct Selection: WireRecord {
    public static let typeName = "Selection"
    public static let omitsAbsent = true
    public var refs: [String]?
    public var graph: String?
    public var queue: String?
    public var state: String?
    public var outcome: String?
    public var labels: StringMap?
    public var user: String?
    public var all: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("refs", &refs)
        try visitor.field("graph", &graph)
        try visitor.field("queue", &queue)
        try visitor.field("state", &state)
        try visitor.field("outcome", &outcome)
        try visitor.field("labels", &labels)
        try visitor.field("user", &user)
        try visitor.field("all", &all)
    }
}

public struct Capture: WireRecord {
    public static let typeName = "Capture"
    public static let omitsAbsent = true
    public var environment = StringMap()
    public var directory = ""
    public var umask = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("environment", &environment)
        try visitor.field("directory", &directory)
        try visitor.field("umask", &umask)
    }
}

public struct Problem: WireRecord {
    public static let typeName = "Problem"
    public var index: Int?
    public var name: String?
    public var key: String?
    public var message = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("index", &index)
        try visitor.field("name", &name)
        try visitor.field("key", &key)
        try visitor.field("message", &message)
    }
}

public struct Submitted: WireRecord {
    public static let typeName = "Submitted"
    public var id: Int64 = 0
    public var name: String?
    public var graph = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("graph", &graph)
    }
}
