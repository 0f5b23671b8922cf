/// An error in a calendar expression: what is wrong, where, why, and what to write instead.
public struct CalendarProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Longest expression in bytes.
    public static let longest = 1000

    public let expression: String
    /// Column of the first wrong character, from 1.
    public let column: Int
    public let reason: String
    public let advice: String

    public var description: String {
        let shown = expression.count > 80 ? expression.prefix(77) + "..." : expression[...]
        return "\"\(shown)\": \(reason) (column \(column)); \(advice)"
    }
}

/// Part of an expression, with its position and the position up to which it has been read.
struct ExpressionText {
    let whole: String
    let bytes: [UInt8]
    private(set) var position: Int
    private(set) var end: Int

    init(_ text: String) {
        whole = text
        bytes = Array(text.utf8)
        position = 0
        end = bytes.count
    }

    var isAtEnd: Bool { position >= end }
    var next: UInt8? { position < end ? bytes[position] : nil }
    /// The part that has not been read.
    var rest: String { String(decoding: bytes[position..<end], as: UTF8.self) }

    func problem(_ reason: String, _ advice: String, at place: Int? = nil) -> CalendarProblem {
        CalendarProblem(expression: whole, column: (place ?? position) + 1, reason: reason, advice: advice)
    }

    /// Describes the next character, for an error.
    var nextShown: String {
        let text = String(decoding: bytes[position..<end], as: UTF8.self)
        return text.first.map { "\"\($0)\"" } ?? "the end"
    }

    /// Returns the parts between spaces, tabs and ends of lines. A text block of YAML ends with a newline.
    func words() -> [ExpressionText] {
        split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d }.filter { !$0.isAtEnd }
    }

    /// Returns the parts between separators, including empty ones.
    func split(_ isSeparator: (UInt8) -> Bool) -> [ExpressionText] {
        var parts: [ExpressionText] = []
        var part = self
        for index in position...end where index == end || isSeparator(bytes[index]) {
            part.end = index
            parts.append(part)
            part.position = index + 1
            part.end = end
        }
        return parts
    }

    func contains(_ character: Character) -> Bool {
        bytes[position..<end].contains { $0 == character.asciiValue }
    }

    mutating func take(_ text: String) -> Bool {
        guard bytes[position..<end].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    /// Reads letters, in lower case.
    mutating func takeLetters() -> String {
        let letters = bytes[position..<end].prefix { ($0 | 0x20) &- UInt8(ascii: "a") < 26 }
        position += letters.count
        return String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self)
    }

    /// Reads digits; nil if there are none. The value is limited to nine digits.
    mutating func takeNumber() -> Int? {
        let digits = bytes[position..<end].prefix { $0 &- UInt8(ascii: "0") <= 9 }
        guard !digits.isEmpty else { return nil }
        position += digits.count
        return digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 999_999_999) }
    }
}
