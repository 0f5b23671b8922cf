// Methods and types of schedules.

/// Adds a schedule. opsd stores it unchanged, so this is its stored form too.
public struct AddScheduleRequest: WireRequest {
    public typealias Reply = AddScheduleReply
    public static let method = "AddSchedule"
    public var name = ""
    public var at: [String] = []
    public var zone: String?
    public var overlap: String?
    public var catchUp: String?
    public var window: String?
    public var spread: String?
    public var from: String?
    public var until: String?
    public var count: Int?
    public var keep: Int?
    public var onPath: String?
    public var settle: String?
    public var batch: Bool?
    public var poll: String?
    public var onExec: String?
    public var every: String?
    public var replace: Bool?
    public var dryRun: Bool?
    public var defaults: RawJSON?
    public var order: String?
    public var observers: RawJSON?
    public var capture: Capture?
    public var operations = RawElements()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("at", &at)
        try visitor.field("zone", &zone)
        try visitor.field("overlap", &overlap)
        try visitor.field("catchUp", &catchUp)
        try visitor.field("window", &window)
        try visitor.field("spread", &spread)
        try visitor.field("from", &from)
        try visitor.field("until", &until)
        try visitor.field("count", &count)
        try visitor.field("keep", &keep)
        try visitor.field("onPath", &onPath)
        try visitor.field("settle", &settle)
        try visitor.field("batch", &batch)
        try visitor.field("poll", &poll)
        try visitor.field("onExec", &onExec)
        try visitor.field("every", &every)
        try visitor.field("replace", &replace)
        try visitor.field("dryRun", &dryRun)
        try visitor.field("defaults", &defaults)
        try visitor.field("order", &order)
        try visitor.field("observers", &observers)
        try visitor.field("capture", &capture)
        try visitor.field("operations", &operations)
    }
}

extension AddScheduleRequest {
    /// Returns the schedule as a graph file. Only their owner may read environments, so each is replaced by `"***"`.
    public func graphFile() throws -> RawJSON {
        var keys = ScheduleKeyWriter()
        keys.writer.beginObject()
        var copy = self
        try copy.visit(&keys)
        keys.writer.endObject()
        var file = JSONWriter(capacity: operations.bytes.count + 1024)
        file.beginObject()
        file.key("name")
        file.string(name)
        file.key("schedule")
        file.raw(keys.writer.bytes)
        if let order {
            file.key("order")
            file.string(order)
        }
        let parts: [(key: String, json: [UInt8]?)] = [
            ("defaults", defaults?.bytes), ("observers", observers?.bytes), ("operations", operations.bytes),
        ]
        for (key, json) in parts {
            guard let json else { continue }
            file.key(key)
            file.raw(try Self.withoutEnvironments(json))
        }
        file.endObject()
        return RawJSON(file.bytes)
    }

    private static func withoutEnvironments(_ json: [UInt8]) throws(JSONError) -> [UInt8] {
        var kept: [UInt8] = []
        var start = 0
        for range in try OperationKey.environment.values(in: json) {
            kept += json[start..<range.lowerBound]
            kept += "\"***\"".utf8
            start = range.upperBound
        }
        return kept + json[start...]
    }
}

/// Writes the members of a request that are keys of `schedule` in a graph file.
private struct ScheduleKeyWriter: FieldVisitor {
    var writer = JSONWriter()

    mutating func field(_ name: StaticString, _ value: inout some WireField) {
        let isEmpty = value.isAbsent || (value as? [String])?.isEmpty == true
        guard !isEmpty, ScheduleKey(rawValue: "\(name)") != nil else { return }
        writer.key(name)
        value.write(to: &writer)
    }
}

public struct AddScheduleReply: WireRecord {
    public var schedule = ScheduleRow()
    public var change = ""
    public var warnings: [String] = []
    /// The next instants, after a dry run.
    public var instants: [ScheduleNextRow]?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("schedule", &schedule)
        try visitor.field("change", &change)
        try visitor.field("warnings", &warnings)
        try visitor.field("instants", &instants)
    }
}

public struct ListSchedulesRequest: WireRequest {
    public typealias Reply = ListSchedulesReply
    public static let method = "ListSchedules"
    public var name: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
    }
}

public struct ListSchedulesReply: WireRecord {
    public var schedules: [ScheduleRow] = []
    /// The graph file of a schedule that was asked for by its name.
    public var definition: RawJSON?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("schedules", &schedules)
        try visitor.field("definition", &definition)
    }
}

public struct ScheduleRunsRequest: WireRequest {
    public typealias Reply = ScheduleRunsReply
    public static let method = "ScheduleRuns"
    public var name = ""
    public var limit: Int?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("limit", &limit)
    }
}

public struct ScheduleRunsReply: WireRecord {
    public var runs: [ScheduleRunRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("runs", &runs)
    }
}

public struct RunScheduleRequest: WireRequest {
    public typealias Reply = RunScheduleReply
    public static let method = "RunSchedule"
    public var name = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
    }
}

public struct RunScheduleReply: WireRecord {
    public var graph = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
    }
}

public struct PauseScheduleRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "PauseSchedule"
    public var name = ""
    public var paused = false
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("paused", &paused)
    }
}

public struct RemoveScheduleRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "RemoveSchedule"
    public var name = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
    }
}

public struct ScheduleInstantsRequest: WireRequest {
    public typealias Reply = ScheduleInstantsReply
    public static let method = "ScheduleInstants"
    public var name = ""
    public var after: String?
    public var limit: Int?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("after", &after)
        try visitor.field("limit", &limit)
    }
}

public struct ScheduleInstantsReply: WireRecord {
    public var zone = ""
    public var instants: [ScheduleNextRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("zone", &zone)
        try visitor.field("instants", &instants)
    }
}

public struct WhyScheduleRequest: WireRequest {
    public typealias Reply = WhyScheduleReply
    public static let method = "WhySchedule"
    public var name = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
    }
}

public struct WhyScheduleReply: WireRecord {
    public var schedule = ""
    public var next: String?
    public var waitingFor: [ScheduleReasonRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("schedule", &schedule)
        try visitor.field("next", &next)
        try visitor.field("waitingFor", &waitingFor)
    }
}

public struct BackfillScheduleRequest: WireRequest {
    public typealias Reply = BackfillScheduleReply
    public static let method = "BackfillSchedule"
    public var name = ""
    public var from = ""
    public var to = ""
    public var overlap: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("from", &from)
        try visitor.field("to", &to)
        try visitor.field("overlap", &overlap)
    }
}

public struct BackfillScheduleReply: WireRecord {
    public var runs: [ScheduleRunRow] = []
    public var present = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("runs", &runs)
        try visitor.field("present", &present)
    }
}

public struct ScheduleNextRow: WireRecord {
    public static let typeName = "ScheduleNext"
    public var nominal = ""
    public var local = ""
    public var start = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("nominal", &nominal)
        try visitor.field("local", &local)
        try visitor.field("start", &start)
    }
}

public struct ScheduleReasonRow: WireRecord {
    public static let typeName = "ScheduleReason"
    public var kind = ""
    public var text = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("kind", &kind)
        try visitor.field("text", &text)
    }
}

public struct ForgetTriggerRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "ForgetTrigger"
    public var name = ""
    public var key = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("key", &key)
    }
}

public struct ScheduleRow: WireRecord {
    public static let typeName = "Schedule"
    public var name = ""
    public var user = ""
    public var at: [String] = []
    public var zone = ""
    public var paused = false
    public var overlap = ""
    public var catchUp = ""
    public var next: String?
    public var last: ScheduleLastRow?
    public var missed = 0
    public var problem: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("user", &user)
        try visitor.field("at", &at)
        try visitor.field("zone", &zone)
        try visitor.field("paused", &paused)
        try visitor.field("overlap", &overlap)
        try visitor.field("catchUp", &catchUp)
        try visitor.field("next", &next)
        try visitor.field("last", &last)
        try visitor.field("missed", &missed)
        try visitor.field("problem", &problem)
    }
}

public struct ScheduleLastRow: WireRecord {
    public static let typeName = "ScheduleLast"
    public var nominal = ""
    public var graph: String?
    public var outcome: OutcomeName?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("nominal", &nominal)
        try visitor.field("graph", &graph)
        try visitor.field("outcome", &outcome)
    }
}

public struct ScheduleRunRow: WireRecord {
    public static let typeName = "ScheduleRun"
    public var schedule = ""
    public var nominal = ""
    public var through = ""
    public var count = 0
    public var result = ""
    public var origin = ""
    public var graph: String?
    public var outcome: OutcomeName?
    public var at = ""
    public var key: String?
    public var note: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("schedule", &schedule)
        try visitor.field("nominal", &nominal)
        try visitor.field("through", &through)
        try visitor.field("count", &count)
        try visitor.field("result", &result)
        try visitor.field("origin", &origin)
        try visitor.field("graph", &graph)
        try visitor.field("outcome", &outcome)
        try visitor.field("at", &at)
        try visitor.field("key", &key)
        try visitor.field("note", &note)
    }
}
