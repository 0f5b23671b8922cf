/// A length of time in nanoseconds, as people write it.
struct Span: Equatable, Comparable, Sendable {
    var nanoseconds: Int64

    static func < (a: Span, b: Span) -> Bool { a.nanoseconds < b.nanoseconds }

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    init(milliseconds: Int64) { nanoseconds = milliseconds * 1_000_000 }

    private static let units: [(name: String, nanoseconds: Double)] = [
        ("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("d", 86_400e9), ("w", 604_800e9),
    ]

    /// `90s`, `1h30m`, `250ms`, `1.5h`, or a number of seconds.
    static func parse(_ text: String) -> Span? {
        var rest = text[...]
        var total = 0.0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
            guard !digits.isEmpty, let number = Double(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            let name = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(name.count)
            if name.isEmpty {
                guard rest.isEmpty, digits.count == text.count else { return nil }
                total = number * 1e9
            } else {
                guard let unit = units.first(where: { $0.name == name }) else { return nil }
                total += number * unit.nanoseconds
            }
        }
        guard total < 9e18 else { return nil }
        return Span(nanoseconds: Int64(total))
    }

    /// Two units at most: `250ms`, `3.2s`, `1m05s`, `2h03m`, `4d02h`.
    var text: String {
        let milliseconds = nanoseconds / 1_000_000
        let seconds = milliseconds / 1000
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case ..<0: return "0s"
        case 0: return "\(milliseconds)ms"
        case ..<10: return "\(seconds).\(milliseconds % 1000 / 100)s"
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m\(two(seconds % 60))s"
        case ..<86_400: return "\(seconds / 3600)h\(two(seconds % 3600 / 60))m"
        default: return "\(seconds / 86_400)d\(two(seconds % 86_400 / 3600))h"
        }
    }
}

/// A number of bytes, as people write it.
enum ByteCount {
    /// `64M`, `2G`, or a plain number; powers of 1024.
    static func parse(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits) else { return nil }
        let factor: Double
        switch text.dropFirst(digits.count).uppercased() {
        case "", "B": factor = 1
        case "K", "KB", "KIB": factor = 1024
        case "M", "MB", "MIB": factor = 1_048_576
        case "G", "GB", "GIB": factor = 1_073_741_824
        case "T", "TB", "TIB": factor = 1_099_511_627_776
        default: return nil
        }
        return number * factor < 9e18 ? Int64(number * factor) : nil
    }

    static func text(_ bytes: Int) -> String {
        if bytes < 1024 { return "\(bytes) B" }
        var value = Double(bytes) / 1024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return value < 10 ? "\(Decimal.text(value, places: 1)) \(units[unit])" : "\(Int(value)) \(units[unit])"
    }
}

/// A number with a fixed count of decimal places.
enum Decimal {
    static func text(_ value: Double, places: Int) -> String {
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        guard value.isFinite, abs(value) * Double(scale) < 9e18 else { return "\(value)" }
        let whole = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && whole > 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(whole)" }
        let fraction = String(whole % scale)
        return "\(sign)\(whole / scale)." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}
