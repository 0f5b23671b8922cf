// Methods that read and change nothing.

public struct ListRequest: WireRequest {
    public typealias Reply = ListReply
    public static let method = "List"
    public var selection: Selection?
    public var limit: Int?
    public var newest: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        try visitor.field("limit", &limit)
        try visitor.field("newest", &newest)
    }
}

public struct ListReply: WireRecord {
    public var operations: [OperationRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("operations", &operations)
    }
}

public struct ShowRequest: WireRequest {
    public typealias Reply = ShowReply
    public static let method = "Show"
    public var ref = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
    }
}

public struct ShowReply: WireRecord {
    public var operation = OperationRow()
    public var details = DetailsRow()
    public var attempts: [AttemptRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("operation", &operation)
        try visitor.field("details", &details)
        try visitor.field("attempts", &attempts)
    }
}

public struct WhyRequest: WireRequest {
    public typealias Reply = WhyReply
    public static let method = "Why"
    public var ref = ""
    public var whatIf: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("whatIf", &whatIf)
    }
}

public struct WhyReply: WireRecord {
    public var id: Int64 = 0
    public var state: StateName = ""
    public var outcome: OutcomeName?
    public var waitingFor: [ReasonRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("state", &state)
        try visitor.field("outcome", &outcome)
        try visitor.field("waitingFor", &waitingFor)
    }
}

public struct StatusRequest: WireRequest {
    public typealias Reply = StatusReply
    public static let method = "Status"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct StatusReply: WireRecord {
    public var version = ""
    public var pid = 0
    public var runnerPid: Int?
    public var runnerAnswers = true
    public var state = DaemonState.running
    public var detail: String?
    public var suspended = false
    public var workers = 0
    public var slotsUsed = 0
    public var counts = CountsRow()
    public var queues: [QueueRow] = []
    public var lastSeq: Int64 = 0
    public var startedAt = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("version", &version)
        try visitor.field("pid", &pid)
        try visitor.field("runnerPid", &runnerPid)
        try visitor.field("runnerAnswers", &runnerAnswers)
        try visitor.field("state", &state)
        try visitor.field("detail", &detail)
        try visitor.field("suspended", &suspended)
        try visitor.field("workers", &workers)
        try visitor.field("slotsUsed", &slotsUsed)
        try visitor.field("counts", &counts)
        try visitor.field("queues", &queues)
        try visitor.field("lastSeq", &lastSeq)
        try visitor.field("startedAt", &startedAt)
    }
}

public struct GraphRequest: WireRequest {
    public typealias Reply = GraphReply
    public static let method = "Graph"
    public var graph = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
    }
}

public struct GraphReply: WireRecord {
    public var graph = ""
    public var name: String?
    public var suspended = false
    public var trace: String?
    public var nodes: [NodeRow] = []
    public var edges: [EdgeRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
        try visitor.field("name", &name)
        try visitor.field("suspended", &suspended)
        try visitor.field("trace", &trace)
        try visitor.field("nodes", &nodes)
        try visitor.field("edges", &edges)
    }
}

public struct StatsRequest: WireRequest {
    public typealias Reply = StatsReply
    public static let method = "Stats"
    public var selection: Selection?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
    }
}

public struct StatsReply: WireRecord {
    public var stats = JSONObject()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("stats", &stats)
    }
}

public struct CheckRequest: WireRequest {
    public typealias Reply = CheckReply
    public static let method = "Check"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct CheckReply: WireRecord {
    public var problems: [String] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("problems", &problems)
    }
}

public struct CompleteRequest: WireRequest {
    public typealias Reply = CompleteReply
    public static let method = "Complete"
    public var kind = CompletionKind.operation
    public var prefix = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("kind", &kind)
        try visitor.field("prefix", &prefix)
    }
}

public struct CompleteReply: WireRecord {
    public var words: [String] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("words", &words)
    }
}

public struct ListGraphsRequest: WireRequest {
    public typealias Reply = ListGraphsReply
    public static let method = "ListGraphs"
    public var limit: Int?
    public var name: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("limit", &limit)
        try visitor.field("name", &name)
    }
}

public struct ListGraphsReply: WireRecord {
    public var graphs: [GraphSummaryRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graphs", &graphs)
    }
}
