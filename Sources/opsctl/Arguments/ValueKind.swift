internal import OpsModel
internal import OpsWire

/// Checks of values and words for completion.
extension ValueKind {
    /// Returns the reason why `value` is not of this kind; nil if it is.
    func complaint(about value: String) -> String? {
        switch self {
        case .text, .command: nil
        // An unset variable in a script gives an empty value: `suspend "$ID"` must not suspend the whole daemon.
        case .operation: value.split(separator: ",").isEmpty ? "an id or a name" : nil
        case .graph, .queue, .category: value.isEmpty ? "a name" : nil
        case .file, .directory: value.isEmpty ? "a path" : nil
        case .integer: Int(value).map { $0 >= 0 } == true ? nil : "a whole number, 0 or more"
        case .number: Double(value)?.isFinite == true ? nil : "a number"
        case .duration: Self.complaint(aboutDuration: value)
        case .time:
            Span.parse(value) == nil && Instant.parse(value, now: .now) == nil
                ? "a duration such as 5m, or \(Instant.forms)" : nil
        case .past:
            Instant.past(value, now: .now) == nil ? "a duration such as 5m (ago), or \(Instant.forms)" : nil
        case .orNone(let kind): value == "none" ? nil : kind.complaint(about: value).map { "\($0), or none" }
        case .size: SizeText.parse(value) == nil ? "a size such as 64M or 2G" : nil
        case .keyValue: Pair(value) == nil ? "KEY=VALUE" : nil
        case .choice(let words): words.contains(value) ? nil : Self.oneOf(words)
        case .choices(let words):
            value.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { words.contains(String($0)) }
                ? nil : "a comma-separated list of " + words.joined(separator: ", ")
        }
    }

    private static func complaint(aboutDuration text: String) -> String? {
        switch DurationText.problem(in: text) {
        case nil: nil
        case .tooLong?: "a duration of at most \(DurationText.format(Limits.duration))"
        case .negative?, .unreadable?: "a duration such as 90s, 5m or 1h30m"
        }
    }

    /// All possible words, if they are known.
    var words: [String] {
        switch self {
        case .choice(let words), .choices(let words): words
        case .orNone(let kind): kind.words
        default: []
        }
    }

    private static func oneOf(_ words: [String]) -> String {
        words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }
}

/// The two parts of `KEY=VALUE`, separated at the first `=`.
struct Pair: Sendable {
    let key: String
    let value: String

    init(key: String, value: String) { (self.key, self.value) = (key, value) }

    init?(_ text: String) {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals != text.startIndex else { return nil }
        key = String(text[..<equals])
        value = String(text[text.utf8.index(after: equals)...])
    }

    /// Returns the last pair of each key, in their order.
    static func lastOfEachKey(_ pairs: [Pair]) -> [Pair] {
        var keys: Set<ExactText> = []
        return pairs.reversed().filter { keys.insert(ExactText($0.key)).inserted }.reversed()
    }
}
