public struct ExecutorState: OpenName {
    public static let connected: ExecutorState = "connected"
    public static let disconnected: ExecutorState = "disconnected"
    public static let known: [ExecutorState] = [.connected, .disconnected]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// An executor other than the runner.
public struct ExecutorRow: WireRecord {
    public static let typeName = "Executor"
    public var name = ""
    public var kind = ""
    public var state = ExecutorState.disconnected
    public var since = ""
    public var window = 0
    public var inFlight = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("kind", &kind)
        try visitor.field("state", &state)
        try visitor.field("since", &since)
        try visitor.field("window", &window)
        try visitor.field("inFlight", &inFlight)
    }
}

public struct ListExecutorsRequest: WireRequest {
    public typealias Reply = ListExecutorsReply
    public static let method = "ListExecutors"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct ListExecutorsReply: WireRecord {
    public var executors: [ExecutorRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("executors", &executors)
    }
}
