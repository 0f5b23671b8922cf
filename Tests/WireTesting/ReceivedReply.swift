public import OpsWire

/// One message of the service, as a client takes it: a result, one of several (`continues`), or an error.
public struct ReceivedReply: Equatable, Sendable {
    public private(set) var parameters: [UInt8] = Array("{}".utf8)
    public private(set) var continues = false
    /// With its interface: `org.opsd.Control.NotFound`.
    public private(set) var error: String?

    public init(frame: [UInt8]) throws(JSONError) {
        var found = self
        try scan(frame) { scanner throws(JSONError) in
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                switch scanner.string(text) {
                case "parameters": found.parameters = Array(frame[try scanner.skip()])
                case "continues": found.continues = try scanner.bool()
                case "error": found.error = try scanner.string()
                default: try scanner.skip()
                }
            }
            try scanner.end()
        }
        self = found
    }

    /// The result as the method's reply.
    public func result<Result: WireRecord>(_ type: Result.Type = Result.self) throws(InvalidParameter) -> Result {
        try scan(parameters) { scanner throws(InvalidParameter) in try Result(from: &scanner) }
    }

    /// The error of a service that answered with one.
    public var failure: ReplyError? { error.map { ReplyError(name: $0, parameters: parameters) } }
}

/// An error reply, by whoever declared it.
public enum ReplyError: Error, Equatable, Sendable {
    case control(ControlError)
    case service(ServiceError)
    /// Of an interface that is not known here, or with other parameters.
    case unknown(name: String, parameters: String)

    init(name: String, parameters: [UInt8]) {
        if let error = Self.read(ControlError.self, name, parameters) {
            self = .control(error)
        } else if let error = Self.read(ServiceError.self, name, parameters) {
            self = .service(error)
        } else {
            self = .unknown(name: name, parameters: String(decoding: parameters, as: UTF8.self))
        }
    }

    private static func read<Errors: WireErrorCases>(
        _ type: Errors.Type, _ name: String, _ parameters: [UInt8]
    ) -> Errors? {
        guard var error = Errors.examples.first(where: { $0.qualifiedName == name }) else { return nil }
        do {
            var members = try Members(parameters)
            try error.visit(&members)
            return members.areTaken ? error : nil
        } catch {
            return nil
        }
    }
}

/// Fills what is visited from the members of an object.
private struct Members: FieldVisitor {
    private var values: [String: [UInt8]] = [:]

    init(_ object: [UInt8]) throws(JSONError) {
        var found: [String: [UInt8]] = [:]
        try scan(object) { scanner throws(JSONError) in
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                let key = scanner.string(text)
                found[key] = Array(object[try scanner.skip()])
            }
        }
        values = found
    }

    var areTaken: Bool { values.isEmpty }

    mutating func field<Value: WireField>(_ name: StaticString, _ value: inout Value) throws(InvalidParameter) {
        guard let text = values.removeValue(forKey: "\(name)") else {
            throw InvalidParameter("\(name)", "is missing")
        }
        value = try scan(text) { scanner throws(InvalidParameter) in try Value(from: &scanner) }
    }
}
