/// Reason why bytes are not the expected JSON, and where.
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
        /// Well-formed, but not of the kind that the reader expects.
        case expected(String)
        /// A value of the right kind that is not acceptable; the text contains the reason.
        case refused(String)
    }
    public var reason: Reason
    /// Offset in bytes, from 0.
    public var offset: Int
    /// Line and column, from 1; columns are in bytes. Both are 0 if the reader does not count lines.
    var line: Int
    var column: Int
    /// Path from the expected value to the one with the error: `retry.on[1]`.
    public internal(set) var path = ""
    /// Errors of other parts of the same value: the readers of the keys of operations read on after an error.
    private var others: [JSONError] = []

    public init(_ reason: Reason, offset: Int, line: Int, column: Int) {
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column
    }

    /// Returns the error with the step from the surrounding value in its path: a key, or an index such as `[2]`.
    func inside(_ step: String) -> JSONError {
        var error = self
        let isDirect = path.isEmpty || path.utf8.first == UInt8(ascii: "[")
        error.path = isDirect ? step + path : "\(step).\(path)"
        // Repeated in the paths of many errors, a very long key would take much memory.
        error.others = step.utf8.count > Limits.nameBytes ? [] : others.map { $0.inside(step) }
        return error
    }

    /// This error and the errors of other parts of the same value, in the order in which they were found.
    public var all: [JSONError] {
        var first = self
        first.others = []
        return [first] + others
    }

    /// Returns one error that stands for earlier errors of the same value and for this one.
    func after(_ earlier: [JSONError]) -> JSONError {
        guard var first = earlier.first else { return self }
        first.others = Array(earlier.dropFirst()) + all
        return first
    }
}

extension JSONError: CustomStringConvertible {
    public var description: String { "line \(line), column \(column): \(reason.text)" }
}

extension JSONError.Reason {
    /// True if the text is not JSON, so that nothing after the error can be read.
    var isMalformed: Bool {
        switch self {
        case .unexpectedEnd, .unexpectedByte, .invalidUTF8, .controlCharacter, .invalidEscape, .loneSurrogate,
            .invalidNumber, .tooDeep, .trailingBytes:
            true
        case .numberOutOfRange, .duplicateKey, .expected, .refused: false
        }
    }

    /// The reason, without the position.
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
        case .duplicateKey(let key): "the key \"\(key)\" occurs twice"
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
