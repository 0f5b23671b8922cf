// Methods that return streams.

public struct LogRequest: WireRequest {
    public typealias Reply = LogReply
    public static let method = "Log"
    public var ref = ""
    public var attempt: Int?
    public var stderr: Bool?
    public var offset: Int64?
    public var lines: Int?
    public var follow: Bool?
    public var since: String?
    public var until: String?
    public var times: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("attempt", &attempt)
        try visitor.field("stderr", &stderr)
        try visitor.field("offset", &offset)
        try visitor.field("lines", &lines)
        try visitor.field("follow", &follow)
        try visitor.field("since", &since)
        try visitor.field("until", &until)
        try visitor.field("times", &times)
    }
}

public struct LogReply: WireRecord {
    public var id: Int64 = 0
    public var attempt = 0
    public var offset: Int64 = 0
    public var data = ""
    public var dropped: Int64?
    public var times: [LogTimeRow]?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("attempt", &attempt)
        try visitor.field("offset", &offset)
        try visitor.field("data", &data)
        try visitor.field("dropped", &dropped)
        try visitor.field("times", &times)
    }
}

/// Time at which the bytes of a log from an offset on were written.
public struct LogTimeRow: WireRecord {
    public static let typeName = "LogTime"
    public var offset: Int64 = 0
    public var at = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("offset", &offset)
        try visitor.field("at", &at)
    }
}

public struct WaitRequest: WireRequest {
    public typealias Reply = WaitReply
    public static let method = "Wait"
    public var selection = Selection()
    public var any: Bool?
    public var timeout: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        try visitor.field("any", &any)
        try visitor.field("timeout", &timeout)
    }
}

public struct WaitReply: WireRecord {
    public var ended: [EndedRow] = []
    public var remaining = 0
    public var succeeded = false
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ended", &ended)
        try visitor.field("remaining", &remaining)
        try visitor.field("succeeded", &succeeded)
    }
}

public struct WatchRequest: WireRequest {
    public typealias Reply = WatchReply
    public static let method = "Watch"
    public var since: Int64?
    public var selection: Selection?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("since", &since)
        try visitor.field("selection", &selection)
    }
}

public struct WatchReply: WireRecord {
    public var event = EventRow()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("event", &event)
    }
}
