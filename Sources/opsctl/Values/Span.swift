internal import OpsWire

/// A length of time in nanoseconds, as people write it.
struct Span: Equatable, Comparable, Sendable {
    var nanoseconds: Int64

    static func < (a: Span, b: Span) -> Bool { a.nanoseconds < b.nanoseconds }

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    init(milliseconds: Int64) { nanoseconds = milliseconds * 1_000_000 }

    /// Parses `90s`, `1h30m`, `250ms`, `1.5h`, or a number of seconds.
    static func parse(_ text: String) -> Span? {
        DurationText.parse(text).map { Span(nanoseconds: $0.nanoseconds) }
    }

    /// Text with at most two units: `250ms`, `3.2s`, `1m05s`, `2h03m`, `4d02h`.
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

/// Formats a number of bytes.
enum ByteCount {
    static func text(_ bytes: Int64) -> String {
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

/// Formats a number with a fixed number of decimal places.
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
