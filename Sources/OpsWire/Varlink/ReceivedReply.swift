/// A message of a service, as a client reads it: a result, one of several results (`continues`), or an error.
public struct ReceivedReply: Sendable {
    private var message: [UInt8]
    private var parameters: Range<Int>?
    private var isTolerant: Bool
    public private(set) var continues = false
    /// Name of the error with its interface, such as `org.opsd.Control.NotFound`.
    public private(set) var error: String?

    /// Reads a message without its NUL.
    ///
    /// - Parameter isTolerant: True if the reply may come from another version of the service.
    public init(frame: [UInt8], isTolerant: Bool = false) throws(JSONError) {
        message = frame
        self.isTolerant = isTolerant
        var found = self
        try scan(frame) { (scanner) throws(JSONError) in
            try scanner.beginObject()
            while let key = try scanner.nextMember() {
                if scanner.equals(key, "parameters") {
                    found.parameters = try scanner.skip()
                } else if scanner.equals(key, "continues") {
                    found.continues = try scanner.bool()
                } else if scanner.equals(key, "error") {
                    found.error = try scanner.string()
                } else {
                    try scanner.skip()
                }
            }
            try scanner.end()
        }
        self = found
    }

    /// Returns the result as the type of the method's reply.
    public func result<Result: WireRecord>(_ type: Result.Type = Result.self) throws(InvalidParameter) -> Result {
        try read { (scanner) throws(InvalidParameter) in try Result(from: &scanner) }
    }

    /// The error, if the reply is one.
    public var failure: ReplyError? {
        guard let error else { return nil }
        if let known = known(ControlError.self, error) { return .control(known) }
        if let known = known(ServiceError.self, error) { return .service(known) }
        return .unknown(name: error, parameters: String(decoding: parameters.map { message[$0] } ?? [], as: UTF8.self))
    }

    private func read<Value>(
        _ body: (inout JSONScanner) throws(InvalidParameter) -> Value
    ) throws(InvalidParameter) -> Value {
        try scan(parameters.map { message[$0] } ?? ArraySlice("{}".utf8)) { (scanner) throws(InvalidParameter) in
            scanner.isTolerant = isTolerant
            return try body(&scanner)
        }
    }

    /// Returns the error with its parameters; nil if it belongs to another interface or has other parameters.
    private func known<Errors: WireErrorCases>(_ type: Errors.Type, _ name: String) -> Errors? {
        guard var error = Errors.examples.first(where: { $0.qualifiedName == name }) else { return nil }
        do {
            try read { (scanner) throws(InvalidParameter) in
                var reader = try FieldReader(&scanner)
                try error.visit(&reader)
                try reader.end()
            }
            return error
        } catch {
            return nil
        }
    }
}

/// An error in a reply, sorted by the interface that declares it.
public enum ReplyError: Error, Equatable, Sendable {
    case control(ControlError)
    case service(ServiceError)
    /// An error of an unknown interface, or with unknown parameters.
    case unknown(name: String, parameters: String)
}
