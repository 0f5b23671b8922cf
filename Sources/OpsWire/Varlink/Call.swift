/// A message from a client: a method and its parameters.
public struct Call: Equatable, Sendable {
    /// Name with the interface: `org.opsd.Control.Submit`.
    public var method: String
    /// JSON object with the parameters of the method.
    public var parameters: [UInt8] = Array("{}".utf8)
    /// True if the client accepts several replies; false for a call without any.
    public var more = false
    /// True if the client expects no reply.
    public var oneway = false
    /// True if the client wants to speak another protocol on this connection after the reply.
    public var upgrade = false

    /// Reads a message. A `frame` that is not an object with a method is refused.
    public init(frame: [UInt8]) throws(JSONError) {
        self = try scan(frame) { scanner throws(JSONError) in try Call(from: &scanner) }
    }

    private static let memberNames = ["method", "parameters", "more", "oneway", "upgrade"]

    private init(from scanner: inout JSONScanner) throws(JSONError) {
        self.method = ""
        var seen: Set<String> = []
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            let key = scanner.string(text)
            // A later version may add members to the message; parameters of methods are checked strictly.
            guard Self.memberNames.contains(key) else {
                try scanner.skip()
                continue
            }
            guard seen.insert(key).inserted else { throw scanner.error(.duplicateKey(key), at: text.start - 1) }
            if key != "method", try scanner.skipNull() { continue }
            switch key {
            case "method": method = try scanner.string()
            case "parameters":
                guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
                parameters = Array(scanner.slice(try scanner.skip()))
            case "more": more = try scanner.bool()
            case "oneway": oneway = try scanner.bool()
            default: upgrade = try scanner.bool()
            }
        }
        try scanner.end()
        if method.isEmpty { throw scanner.error(.expected("a method")) }
        if oneway { more = false }
    }

    public var interface: String { lastDot.map { String(method[..<$0]) } ?? "" }

    /// Name of the method without the interface.
    public var member: String { lastDot.map { String(method[method.utf8.index(after: $0)...]) } ?? method }

    /// Searched in the bytes, which is safe because no character of several bytes contains a dot.
    private var lastDot: String.Index? { method.utf8.lastIndex(of: UInt8(ascii: ".")) }
}

extension Call {
    /// Returns the message of a call with its NUL.
    public static func frame<Request: WireRequest>(
        _ request: Request, more: Bool = false, oneway: Bool = false
    ) -> [UInt8] {
        frame(of: Request.self, more: more, oneway: oneway) { request.write(to: &$0) }
    }

    /// Returns the message of a call with its NUL; `write` writes the parameters.
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

/// Parameters of one method, with the type of its reply.
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

/// An object without members.
public struct Nothing: WireRecord {
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}
