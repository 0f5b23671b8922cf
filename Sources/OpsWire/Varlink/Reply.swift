/// One message of the service: a method's result, one of several (`continues`), or an error.
public struct Reply: Equatable, Sendable {
    public var parameters: [UInt8] = Array("{}".utf8)
    public var continues = false
    /// With its interface: `org.opsd.Control.NotFound`.
    public var error: String?

    public init(frame: [UInt8]) throws(JSONError) {
        self = try scan(frame) { scanner throws(JSONError) in try Reply(from: &scanner) }
    }

    private init(from scanner: inout JSONScanner) throws(JSONError) {
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            let key = scanner.string(text)
            if try scanner.skipNull() { continue }
            switch key {
            case "parameters":
                guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
                parameters = Array(scanner.slice(try scanner.skip()))
            case "continues": continues = try scanner.bool()
            case "error": error = try scanner.string()
            default: try scanner.skip()
            }
        }
        try scanner.end()
    }

    /// The result as the method's reply.
    public func result<Result: WireRecord>(_ type: Result.Type = Result.self) throws(InvalidParameter) -> Result {
        try scan(parameters) { scanner throws(InvalidParameter) in try Result(from: &scanner) }
    }

    /// The error of a service that answered with one.
    public var failure: ReplyError? { error.map { ReplyError(name: $0, parameters: parameters) } }

    /// The whole message of a service, its NUL included.
    public static func frame(_ parameters: some WireRecord, continues: Bool = false) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        append(parameters, continues: continues, to: &writer)
        return writer.bytes
    }

    /// Like `frame`, after what the writer holds already.
    public static func append(_ parameters: some WireRecord, continues: Bool = false, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("parameters")
        parameters.write(to: &writer)
        if continues {
            writer.key("continues")
            writer.bool(true)
        }
        writer.endObject()
        writer.terminate(with: 0)
    }

    public static func frame(_ error: some WireErrorCases) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        writer.key("error")
        writer.string(error.qualifiedName)
        writer.key("parameters")
        error.writeParameters(to: &writer)
        writer.endObject()
        writer.terminate(with: 0)
        return writer.bytes
    }
}

/// An error reply, by whoever declared it.
public enum ReplyError: Error, Equatable, Sendable {
    case control(ControlError)
    case service(ServiceError)
    /// Of an interface that is not known here, or with other parameters.
    case unknown(name: String, parameters: String)

    init(name: String, parameters: [UInt8]) {
        if let error = ControlError(qualifiedName: name, parameters: parameters) {
            self = .control(error)
        } else if let error = ServiceError(qualifiedName: name, parameters: parameters) {
            self = .service(error)
        } else {
            self = .unknown(name: name, parameters: String(decoding: parameters, as: UTF8.self))
        }
    }
}
