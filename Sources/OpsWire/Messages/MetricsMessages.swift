// Figures for monitoring.

public struct MetricsRequest: WireRequest {
    public typealias Reply = MetricsReply
    public static let method = "Metrics"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct MetricsReply: WireRecord {
    public var queues: [QueueMetricsRow] = []
    public var categories: [CategoryMetricsRow] = []
    public var schedules: [ScheduleMetricsRow] = []
    public var commits = HistogramRow()
    public var turns = HistogramRow()
    public var databaseBytes: Int64 = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("queues", &queues)
        try visitor.field("categories", &categories)
        try visitor.field("schedules", &schedules)
        try visitor.field("commits", &commits)
        try visitor.field("turns", &turns)
        try visitor.field("databaseBytes", &databaseBytes)
    }
}

public struct ScheduleMetricsRow: WireRecord {
    public static let typeName = "ScheduleMetrics"
    public var name = ""
    public var user = ""
    public var lastSuccess: String?
    public var missed = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("user", &user)
        try visitor.field("lastSuccess", &lastSuccess)
        try visitor.field("missed", &missed)
    }
}

/// Counts of durations in seconds by upper bounds; the last count has no bound.
public struct HistogramRow: WireRecord {
    public static let typeName = "Histogram"
    public var bounds: [Double] = []
    public var counts: [Int64] = []
    public var sum = 0.0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("bounds", &bounds)
        try visitor.field("counts", &counts)
        try visitor.field("sum", &sum)
    }
}

public struct OutcomeCountsRow: WireRecord {
    public static let typeName = "OutcomeCounts"
    public var succeeded: Int64 = 0
    public var failed: Int64 = 0
    public var timedOut: Int64 = 0
    public var cancelled: Int64 = 0
    public var skipped: Int64 = 0
    public var interrupted: Int64 = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("succeeded", &succeeded)
        try visitor.field("failed", &failed)
        try visitor.field("timedOut", &timedOut)
        try visitor.field("cancelled", &cancelled)
        try visitor.field("skipped", &skipped)
        try visitor.field("interrupted", &interrupted)
    }
}

public struct QueueMetricsRow: WireRecord {
    public static let typeName = "QueueMetrics"
    public var name = ""
    public var removed = false
    public var limit: Int?
    public var suspended = false
    public var pending = 0
    public var ready = 0
    public var executing = 0
    public var readySince: String?
    public var finished = OutcomeCountsRow()
    public var waiting = HistogramRow()
    public var running = HistogramRow()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("removed", &removed)
        try visitor.field("limit", &limit)
        try visitor.field("suspended", &suspended)
        try visitor.field("pending", &pending)
        try visitor.field("ready", &ready)
        try visitor.field("executing", &executing)
        try visitor.field("readySince", &readySince)
        try visitor.field("finished", &finished)
        try visitor.field("waiting", &waiting)
        try visitor.field("running", &running)
    }
}

public struct CategoryMetricsRow: WireRecord {
    public static let typeName = "CategoryMetrics"
    public var name = ""
    public var capacity: Int?
    public var used = 0
    public var waiting = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("capacity", &capacity)
        try visitor.field("used", &used)
        try visitor.field("waiting", &waiting)
    }
}
