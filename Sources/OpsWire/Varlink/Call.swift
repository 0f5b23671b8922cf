/// One message of a client: a method and its parameters.
public struct Call: Equatable, Sendable {
    /// With its interface: `org.opsd.Control.Submit`.
    public var method: String
    /// The JSON object that the method's request is read from.
    public var parameters: [UInt8] = Array("{}".utf8)
    /// The client takes several replies.
    public var more = false
    /// The client takes none.
    public var oneway = false

    /// Any `frame` that is not an object with a method is not a call.
    public init(frame: [UInt8]) throws(JSONError) {
        self = try scan(frame) { scanner throws(JSONError) in try Call(from: &scanner) }
    }

    private init(from scanner: inout JSONScanner) throws(JSONError) {
        self.method = ""
        var seen: Set<String> = []
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            let key = scanner.string(text)
            guard seen.insert(key).inserted else { throw scanner.error(.duplicateKey(key), at: text.start - 1) }
            if key != "method", try scanner.skipNull() { continue }
            switch key {
            case "method": method = try scanner.string()
            case "parameters":
                guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
                parameters = Array(scanner.slice(try scanner.skip()))
            case "more": more = try scanner.bool()
            case "oneway": oneway = try scanner.bool()
            // The envelope may grow; a method's parameters are strict.
            default: try scanner.skip()
            }
        }
        try scanner.end()
        if method.isEmpty { throw scanner.error(.expected("a method")) }
    }

    public var interface: String { lastDot.map { String(method[..<$0]) } ?? "" }

    /// The method's name inside its interface.
    public var member: String { lastDot.map { String(method[method.utf8.index(after: $0)...]) } ?? method }

    /// Searched for in the bytes: no character of several bytes has a dot among them.
    private var lastDot: String.Index? { method.utf8.lastIndex(of: UInt8(ascii: ".")) }
}

extension Call {
    /// Returns the whole message of a client, its NUL included.
    public static func frame<Request: WireRequest>(
        _ request: Request, more: Bool = false, oneway: Bool = false
    ) -> [UInt8] {
        frame(of: Request.self, more: more, oneway: oneway) { request.write(to: &$0) }
    }

    /// Returns the whole message of a client whose parameters `write` writes.
    public static func frame<Request: WireRequest>(
        of _: Request.Type, capacity: Int = 256, more: Bool = false, oneway: Bool = false,
        write: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        writer.beginObject()
        writer.key("method")
        writer.string("\(Request.interface).\(Request.method)")
        writer.key("parameters")
        write(&writer)
        for (key, isSet) in [("more", more), ("oneway", oneway)] where isSet {
            writer.key(key)
            writer.bool(true)
        }
        writer.endObject()
        writer.terminate(with: 0)
        return writer.bytes
    }
}

/// The parameters of one method, which name its reply.
public protocol WireRequest: WireRecord {
    associatedtype Reply: WireRecord
    static var interface: String { get }
    static var method: String { get }
}

extension WireRequest {
    public static var interface: String { ControlInterface.name }
    public static var omitsAbsent: Bool { true }

    public init(_ call: Call) throws(InvalidParameter) {
        self = try scan(call.parameters) { scanner throws(InvalidParameter) in try Self(from: &scanner) }
    }
}

/// No parameters.
public struct Nothing: WireRecord {
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}
