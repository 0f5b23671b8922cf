// Methods that change operations.

/// Number of operations that a request has changed.
public struct Touched: WireRecord {
    public var touched = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("touched", &touched)
    }
}

/// Operations that a request has changed.
public struct TouchedOnes: WireRecord {
    public var touched = 0
    public var ids: [Int64] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("touched", &touched)
        try visitor.field("ids", &ids)
    }
}

public struct CancelRequest: WireRequest {
    public typealias Reply = TouchedOnes
    public static let method = "Cancel"
    public var selection = Selection()
    public var reason: String?
    public var force: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        try visitor.field("reason", &reason)
        try visitor.field("force", &force)
    }
}

public struct SuspendRequest: WireRequest {
    public typealias Reply = Touched
    public static let method = "Suspend"
    public var selection: Selection?
    public var freeze: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        try visitor.field("freeze", &freeze)
    }
}

public struct ResumeRequest: WireRequest {
    public typealias Reply = Touched
    public static let method = "Resume"
    public var selection: Selection?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
    }
}

public struct RetryRequest: WireRequest {
    public typealias Reply = TouchedOnes
    public static let method = "Retry"
    public var selection = Selection()
    public var downstream: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        try visitor.field("downstream", &downstream)
    }
}

public struct FinishRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "Finish"
    public var ref = ""
    public var failed: Bool?
    public var message: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("failed", &failed)
        try visitor.field("message", &message)
    }
}

public struct SignalRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "Signal"
    public var ref = ""
    public var signal = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("signal", &signal)
    }
}

public struct NoteRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "Note"
    public var ref = ""
    public var text: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("text", &text)
    }
}

public struct SetRequest: WireRequest {
    public typealias Reply = Touched
    public static let method = "Set"
    public var selection = Selection()
    public var changes = JSONObject()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("selection", &selection)
        var limited = LimitedObject(object: changes)
        try visitor.field("changes", &limited)
        changes = limited.object
    }
}

/// The `changes` of a Set. The daemon reads all their values before it checks them, so it limits their number and size.
private struct LimitedObject: WireField {
    var object: JSONObject

    static var varlinkType: String { JSONObject.varlinkType }

    init(object: JSONObject) { self.object = object }

    init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        object = try reading { () throws(JSONError) in
            var ahead = scanner
            guard try ahead.skip().count <= Limits.changesBytes else {
                throw scanner.error(.refused("longer than \(Limits.changesBytes) bytes"))
            }
            var budget = Limits.values
            guard case .object(let members) = try JSONValue(from: &scanner, budget: &budget) else {
                throw scanner.error(.expected("an object"))
            }
            return JSONObject(members)
        }
    }

    func write(to writer: inout JSONWriter) { object.write(to: &writer) }
}

public struct AddDependencyRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "AddDependency"
    public var ref = ""
    public var on = ""
    public var when: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("on", &on)
        try visitor.field("when", &when)
    }
}

public struct RemoveDependencyRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "RemoveDependency"
    public var ref = ""
    public var on = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("ref", &ref)
        try visitor.field("on", &on)
    }
}
