/// Reason why bytes are not the JSON that was expected, and the place.
public struct JSONError: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        case unexpectedEnd
        case unexpectedByte(UInt8)
        case invalidUTF8
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        case invalidNumber
        case numberOutOfRange
        case duplicateKey(String)
        case tooDeep(Int)
        case trailingBytes
        /// Well formed, but not of the kind that the reader asked for.
        case expected(String)
        /// A value of the right kind that cannot be accepted; the text says why.
        case refused(String)
    }
    public var reason: Reason
    /// Counted from 0, in bytes.
    public var offset: Int
    /// Counted from 1; columns in bytes. Both 0 where the reader asked for offsets alone.
    var line: Int
    var column: Int
    /// Keys and places from the value that was asked for down to the culprit: `retry.on[1]`.
    public internal(set) var path = ""

    public init(_ reason: Reason, offset: Int, line: Int, column: Int) {
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column
    }

    /// The same error as told by the reader of the value around it: under a key, or `[2]` for a place.
    func inside(_ step: String) -> JSONError {
        var error = self
        let isDirect = path.isEmpty || path.utf8.first == UInt8(ascii: "[")
        error.path = isDirect ? step + path : "\(step).\(path)"
        return error
    }
}

extension JSONError: CustomStringConvertible {
    public var description: String { "line \(line), column \(column): \(reason.text)" }
}

extension JSONError.Reason {
    /// The reason, without the place.
    public var text: String {
        switch self {
        case .unexpectedEnd: "the text ends in the middle of a value"
        case .unexpectedByte(let byte): "unexpected \(Self.shown(byte))"
        case .invalidUTF8: "not valid UTF-8"
        case .controlCharacter: "a control character must be escaped in a string"
        case .invalidEscape: "no such escape in a string"
        case .loneSurrogate: "half of a surrogate pair"
        case .invalidNumber: "not a number"
        case .numberOutOfRange: "the number is out of range"
        case .duplicateKey(let key): "the key \"\(key)\" is there twice"
        case .tooDeep(let limit): "nested more than \(limit) deep"
        case .trailingBytes: "something follows the value"
        case .expected(let what): "expected \(what)"
        case .refused(let why): why
        }
    }

    private static func shown(_ byte: UInt8) -> String {
        0x20 < byte && byte < 0x7f
            ? "'\(Character(UnicodeScalar(byte)))'" : "byte 0x\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
    }
}
