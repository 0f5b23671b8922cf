/// Durations as people write them: `90s`, `1h30m`, `250ms`, `1.5h`; a number without a unit is seconds.
public enum DurationText {
    /// Units of `format`, the largest first.
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
        ("ms", 1_000_000), ("us", 1000), ("ns", 1),
    ]

    /// Reason why a text or a number is no duration.
    public enum Problem: Error {
        case unreadable, negative, tooLong
    }

    /// Parses a duration; returns nil for other texts, negative durations, and more than `Limits.duration`.
    public static func parse(_ text: String) -> TimeSpan? {
        do throws(Problem) { return try read(text) } catch { return nil }
    }

    /// Returns the reason why a text is no duration; nil if it is one.
    public static func problem(in text: String) -> Problem? {
        do throws(Problem) { _ = try read(text) } catch { return error }
        return nil
    }

    /// Parses a duration, or throws the reason why a text is none.
    static func read(_ text: String) throws(Problem) -> TimeSpan {
        guard text.utf8.first == UInt8(ascii: "-") else { return try magnitude(text[...]) }
        do throws(Problem) {
            _ = try magnitude(Substring(text.utf8.dropFirst()))
        } catch {
            if error == .unreadable { throw error }
        }
        throw .negative
    }

    private static func magnitude(_ text: Substring) throws(Problem) -> TimeSpan {
        var reader = QuantityReader(text)
        var total: Int64 = 0
        var isFirst = true
        while !reader.isAtEnd {
            guard let number = reader.decimal() else { throw .unreadable }
            let word = reader.letters()
            let isBare = word.isEmpty && isFirst && reader.isAtEnd
            guard let unit = isBare ? 1_000_000_000 : nanoseconds(word) else { throw .unreadable }
            guard let part = number.times(unit) else { throw .tooLong }
            let (sum, overflowed) = total.addingReportingOverflow(part)
            guard !overflowed, sum <= Limits.duration.nanoseconds else { throw .tooLong }
            total = sum
            isFirst = false
            reader.skipSpaces()
        }
        if isFirst { throw .unreadable }
        return .nanoseconds(total)
    }

    /// Converts a number of seconds from JSON, or throws the reason why it is no duration.
    static func read(seconds: Double) throws(Problem) -> TimeSpan {
        guard seconds >= 0 else { throw seconds.isNaN ? Problem.unreadable : Problem.negative }
        guard seconds <= Double(Limits.duration.nanoseconds) / 1e9 else { throw .tooLong }
        return .nanoseconds(Int64((seconds * 1e9).rounded()))
    }

    private static func nanoseconds(_ word: some StringProtocol) -> Int64? {
        switch word {
        case "ns": 1
        case "us": 1000
        case "ms": 1_000_000
        case "s", "sec": 1_000_000_000
        case "m", "min": 60_000_000_000
        case "h": 3_600_000_000_000
        case "d": 86_400_000_000_000
        case "w": 604_800_000_000_000
        default: nil
        }
    }

    /// Returns the shortest exact text, which `parse` can read.
    public static func format(_ duration: TimeSpan) -> String {
        guard duration != .zero else { return "0s" }
        var text = duration < .zero ? "-" : ""
        var rest = duration.nanoseconds.magnitude
        for unit in units {
            let (count, remainder) = rest.quotientAndRemainder(dividingBy: UInt64(unit.nanoseconds))
            if count > 0 { text += "\(count)\(unit.name)" }
            rest = remainder
        }
        return text
    }
}

/// Sizes as people write them: `64M`, `2G`, `1.5GiB`; factors of 1024; a number without a unit is bytes.
public enum SizeText {
    /// Parses a size; returns nil for other texts and for sizes beyond 64 bits.
    public static func parse(_ text: String) -> Int64? {
        var reader = QuantityReader(text[...])
        guard let number = reader.decimal(), let unit = bytes(reader.letters()), reader.isAtEnd else { return nil }
        return number.times(unit)
    }

    private static func bytes(_ word: some StringProtocol) -> Int64? {
        switch word.uppercased() {
        case "", "B": 1
        case "K", "KB", "KIB": 1 << 10
        case "M", "MB", "MIB": 1 << 20
        case "G", "GB", "GIB": 1 << 30
        case "T", "TB", "TIB": 1 << 40
        case "P", "PB", "PIB": 1 << 50
        default: nil
        }
    }

    /// Returns the shortest exact text, which `parse` can read.
    public static func format(_ bytes: Int64) -> String {
        for (name, shift) in [("P", 50), ("T", 40), ("G", 30), ("M", 20), ("K", 10)]
        where bytes != 0 && bytes & (1 << shift - 1) == 0 {
            return "\(bytes >> shift)\(name)"
        }
        return "\(bytes)"
    }
}

/// Reads pairs of a number and a word from a text.
private struct QuantityReader {
    struct Decimal {
        var whole: Int64
        /// Value in billionths.
        var billionths: Int64

        func times(_ unit: Int64) -> Int64? {
            let (product, overflowed) = whole.multipliedReportingOverflow(by: unit)
            let fraction = billionths.multipliedFullWidth(by: unit)
            let part = Int64(1_000_000_000).dividingFullWidth(fraction).quotient
            let (sum, overflowedAgain) = product.addingReportingOverflow(part)
            return overflowed || overflowedAgain ? nil : sum
        }
    }

    private var rest: Substring.UTF8View

    init(_ text: Substring) { rest = text.utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skipSpaces() {
        while rest.first == 0x20 { rest.removeFirst() }
    }

    /// Reads digits, and up to nine more after a point.
    mutating func decimal() -> Decimal? {
        let digits = takeDigits()
        guard let whole = Int64(digits) else { return nil }
        guard rest.first == UInt8(ascii: ".") else { return Decimal(whole: whole, billionths: 0) }
        rest.removeFirst()
        let fraction = takeDigits()
        let padding = 9 - fraction.utf8.count
        guard !fraction.isEmpty, padding >= 0 else { return nil }
        return Int64(fraction + String(repeating: "0", count: padding)).map { Decimal(whole: whole, billionths: $0) }
    }

    private mutating func takeDigits() -> String {
        let digits = rest.prefix { $0 &- UInt8(ascii: "0") <= 9 }
        rest = rest.dropFirst(digits.count)
        return String(Substring(digits))
    }

    mutating func letters() -> Substring {
        let letters = rest.prefix { ($0 | 0x20) &- UInt8(ascii: "a") < 26 }
        rest = rest.dropFirst(letters.count)
        return Substring(letters)
    }
}
