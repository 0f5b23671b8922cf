// Methods that submit graphs, whole or in parts.

public struct SubmitRequest: WireRequest {
    public typealias Reply = SubmitReply
    public static let method = "Submit"
    /// Everything except the operations.
    public var terms = BeginSubmissionRequest()
    public var operations = RawElements()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try terms.visit(&visitor)
        try visitor.field("operations", &operations)
    }
}

public struct SubmitReply: WireRecord {
    public var graph = ""
    public var existing = false
    public var first: Int64 = 0
    public var count = 0
    public var operations: [Submitted]?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
        try visitor.field("existing", &existing)
        try visitor.field("first", &first)
        try visitor.field("count", &count)
        try visitor.field("operations", &operations)
    }
}

public struct BeginSubmissionRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "BeginSubmission"
    public var name: String?
    public var defaults: RawJSON?
    public var capture: Capture?
    public var inside: Int64?
    public var child: Bool?
    public var key: String?
    public var unlessActive: String?
    public var dryRun: Bool?
    public var list: Bool?
    public var order: String?
    public var observers: RawJSON?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("defaults", &defaults)
        try visitor.field("capture", &capture)
        try visitor.field("inside", &inside)
        try visitor.field("child", &child)
        try visitor.field("key", &key)
        try visitor.field("unlessActive", &unlessActive)
        try visitor.field("dryRun", &dryRun)
        try visitor.field("list", &list)
        try visitor.field("order", &order)
        try visitor.field("observers", &observers)
    }
}

extension BeginSubmissionRequest {
    /// Writes the members into an open object.
    public func writeMembers(to writer: inout JSONWriter) {
        var visitor = FieldWriter(omitsAbsent: Self.omitsAbsent)
        swap(&writer, &visitor.writer)
        visitor.visit(self)
        swap(&writer, &visitor.writer)
    }
}

public struct AddOperationsRequest: WireRequest {
    public typealias Reply = AddOperationsReply
    public static let method = "AddOperations"
    public var operations = RawElements()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("operations", &operations)
    }
}

public struct AddOperationsReply: WireRecord {
    public var count = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("count", &count)
    }
}

public struct CommitSubmissionRequest: WireRequest {
    public typealias Reply = SubmitReply
    public static let method = "CommitSubmission"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}
