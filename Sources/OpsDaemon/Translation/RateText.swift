internal import OpsCore
internal import OpsWire

/// A limit of starts as text: a number and an interval, "60/1m".
enum RateText {
    static func format(_ rate: Rate) -> String { "\(rate.count)/\(DurationText.format(rate.interval))" }

    static func parse(_ text: String) -> Rate? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int32(parts[0]), count >= 1, count <= Limits.rateStarts,
            let interval = DurationText.parse(String(parts[1])), interval > .zero
        else { return nil }
        return Rate(count: count, interval: interval)
    }
}
