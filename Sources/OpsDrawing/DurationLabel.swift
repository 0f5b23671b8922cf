/// Formats durations for pictures.
enum DurationLabel {
    /// Returns a text with at most two units: `250ms`, `3.2s`, `1m05s`, `2h03m`, `4d02h`.
    static func text(_ nanoseconds: Int64) -> String {
        let milliseconds = max(0, nanoseconds) / 1_000_000
        let seconds = milliseconds / 1000
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case 0: return "\(milliseconds)ms"
        case ..<10: return "\(seconds).\(milliseconds % 1000 / 100)s"
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m\(two(seconds % 60))s"
        case ..<86_400: return "\(seconds / 3600)h\(two(seconds % 3600 / 60))m"
        default: return "\(seconds / 86_400)d\(two(seconds % 86_400 / 3600))h"
        }
    }

    /// Returns the shortest text of a duration: `0`, `200ms`, `1.5s`, `15s`, `1m15s`, `3h`, `7d`.
    static func short(_ nanoseconds: Int64) -> String {
        let milliseconds = nanoseconds / 1_000_000
        if milliseconds == 0 { return "0" }
        let units: [(Int64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")]
        guard let (unit, name) = units.first(where: { milliseconds >= $0.0 }), milliseconds % unit == 0 else {
            return text(nanoseconds)
        }
        return "\(milliseconds / unit)\(name)"
    }
}
