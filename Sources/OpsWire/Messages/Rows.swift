// Types of the interface file for queues, categories, events and drawings of graphs.

public struct QueueRow: WireRecord {
    public static let typeName = "Queue"
    public var name = ""
    public var limit: Int?
    public var suspended = false
    public var aging: String?
    public var order = ""
    public var pending = 0
    public var ready = 0
    public var scheduled = 0
    public var held = 0
    public var executing = 0
    public var executor: String?
    public var fair: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("limit", &limit)
        try visitor.field("suspended", &suspended)
        try visitor.field("aging", &aging)
        try visitor.field("order", &order)
        try visitor.field("pending", &pending)
        try visitor.field("ready", &ready)
        try visitor.field("scheduled", &scheduled)
        try visitor.field("held", &held)
        try visitor.field("executing", &executing)
        try visitor.field("executor", &executor)
        try visitor.field("fair", &fair)
    }
}

public struct CategoryUnitRow: WireRecord {
    public static let typeName = "CategoryUnit"
    public var name = ""
    public var holders: [Int64] = []
    public var draining = false
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("holders", &holders)
        try visitor.field("draining", &draining)
    }
}

public struct CategoryRow: WireRecord {
    public static let typeName = "Category"
    public var name = ""
    public var capacity: Int?
    public var holders: [Int64] = []
    public var waiting: [Int64] = []
    public var units: [CategoryUnitRow] = []
    public var share = 1
    public var export: String?
    public var rate: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("capacity", &capacity)
        try visitor.field("holders", &holders)
        try visitor.field("waiting", &waiting)
        try visitor.field("units", &units)
        try visitor.field("share", &share)
        try visitor.field("export", &export)
        try visitor.field("rate", &rate)
    }
}

public struct CountsRow: WireRecord {
    public static let typeName = "Counts"
    public var pending = 0
    public var ready = 0
    public var scheduled = 0
    public var held = 0
    public var executing = 0
    public var finished = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("pending", &pending)
        try visitor.field("ready", &ready)
        try visitor.field("scheduled", &scheduled)
        try visitor.field("held", &held)
        try visitor.field("executing", &executing)
        try visitor.field("finished", &finished)
    }
}

public struct ReasonRow: WireRecord {
    public static let typeName = "Reason"
    public var kind = ReasonKind.dependency
    public var text = ""
    public var ids: [Int64] = []
    public var at: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("kind", &kind)
        try visitor.field("text", &text)
        try visitor.field("ids", &ids)
        try visitor.field("at", &at)
    }
}

public struct EventRow: WireRecord {
    public static let typeName = "Event"
    public var seq: Int64 = 0
    public var at = ""
    public var id: Int64?
    public var graph: String?
    public var type = EventType.submitted
    public var old: StateName?
    public var new: StateName?
    public var outcome: OutcomeName?
    public var notNeeded = false
    public var product: Int64?
    public var attempt: Int?
    public var queue: String?
    public var schedule: String?
    public var nominal: String?
    public var count: Int?
    public var detail: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("seq", &seq)
        try visitor.field("at", &at)
        try visitor.field("id", &id)
        try visitor.field("graph", &graph)
        try visitor.field("type", &type)
        try visitor.field("old", &old)
        try visitor.field("new", &new)
        try visitor.field("outcome", &outcome)
        try visitor.field("notNeeded", &notNeeded)
        try visitor.field("product", &product)
        try visitor.field("attempt", &attempt)
        try visitor.field("queue", &queue)
        try visitor.field("schedule", &schedule)
        try visitor.field("nominal", &nominal)
        try visitor.field("count", &count)
        try visitor.field("detail", &detail)
    }
}

public struct EndedRow: WireRecord {
    public static let typeName = "Ended"
    public var id: Int64 = 0
    public var name: String?
    public var outcome: OutcomeName = ""
    public var notNeeded = false
    public var cause: String?
    public var exitCode: Int?
    public var signal: Int?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("outcome", &outcome)
        try visitor.field("notNeeded", &notNeeded)
        try visitor.field("cause", &cause)
        try visitor.field("exitCode", &exitCode)
        try visitor.field("signal", &signal)
    }
}

public struct NodeRow: WireRecord {
    public static let typeName = "Node"
    public var id: Int64 = 0
    public var name: String?
    public var state: StateName = ""
    public var outcome: OutcomeName?
    public var notNeeded = false
    public var group: Int64?
    public var isGroup = false
    public var held = false
    public var scheduled = false
    public var startedAt: String?
    public var finishedAt: String?
    public var slot: Int?
    public var cause: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("state", &state)
        try visitor.field("outcome", &outcome)
        try visitor.field("notNeeded", &notNeeded)
        try visitor.field("group", &group)
        try visitor.field("isGroup", &isGroup)
        try visitor.field("held", &held)
        try visitor.field("scheduled", &scheduled)
        try visitor.field("startedAt", &startedAt)
        try visitor.field("finishedAt", &finishedAt)
        try visitor.field("slot", &slot)
        try visitor.field("cause", &cause)
    }
}

public struct EdgeRow: WireRecord {
    public static let typeName = "Edge"
    public var from: Int64 = 0
    public var on: Int64 = 0
    public var when = EdgeCondition.succeeded
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("from", &from)
        try visitor.field("on", &on)
        try visitor.field("when", &when)
    }
}

public struct GraphSummaryRow: WireRecord {
    public static let typeName = "GraphSummary"
    public var graph = ""
    public var name: String?
    public var user = ""
    public var submittedAt = ""
    public var suspended = false
    public var pending = 0
    public var ready = 0
    public var scheduled = 0
    public var held = 0
    public var executing = 0
    public var finished = 0
    public var unsuccessful = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
        try visitor.field("name", &name)
        try visitor.field("user", &user)
        try visitor.field("submittedAt", &submittedAt)
        try visitor.field("suspended", &suspended)
        try visitor.field("pending", &pending)
        try visitor.field("ready", &ready)
        try visitor.field("scheduled", &scheduled)
        try visitor.field("held", &held)
        try visitor.field("executing", &executing)
        try visitor.field("finished", &finished)
        try visitor.field("unsuccessful", &unsuccessful)
    }
}
