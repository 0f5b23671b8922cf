internal import OpsWire

/// State, outcome and flags of an operation as one word with a symbol and a colour.
struct Standing: Equatable, Sendable {
    let word: String
    let symbol: String
    let colour: Style.Colour?

    init(
        state: StateName, outcome: OutcomeName?, notNeeded: Bool = false, isCancelling: Bool = false,
        isFrozen: Bool = false,
        isHeld: Bool = false, isScheduled: Bool = false
    ) {
        switch (state, outcome) {
        case (_, OutcomeName.succeeded?): (word, symbol, colour) = ("succeeded", "✓", .green)
        case (_, OutcomeName.failed?): (word, symbol, colour) = ("failed", "✗", .red)
        case (_, OutcomeName.timedOut?): (word, symbol, colour) = ("timedOut", "✗", .red)
        case (_, OutcomeName.cancelled?): (word, symbol, colour) = ("cancelled", "⊘", .yellow)
        case (_, OutcomeName.skipped?) where notNeeded: (word, symbol, colour) = ("not needed", "↷", .dim)
        case (_, OutcomeName.skipped?): (word, symbol, colour) = ("skipped", "↷", .dim)
        case (_, OutcomeName.interrupted?): (word, symbol, colour) = ("interrupted", "‼", .magenta)
        case (.executing, _) where isCancelling: (word, symbol, colour) = ("cancelling", "●", .yellow)
        case (.executing, _) where isFrozen: (word, symbol, colour) = ("frozen", "❄", .cyan)
        case (.executing, _): (word, symbol, colour) = ("executing", "●", .cyan)
        case (_, _) where isHeld: (word, symbol, colour) = ("held", "⏸", .yellow)
        case (.ready, _) where isScheduled: (word, symbol, colour) = ("scheduled", "◷", .blue)
        case (.ready, _): (word, symbol, colour) = ("ready", "○", .blue)
        default: (word, symbol, colour) = (state.rawValue, "·", .dim)
        }
    }

    var text: String { symbol + " " + word }

    /// Words for selecting operations: those that are displayed, and two for several states.
    static let words =
        StateName.known.map(\.rawValue) + OutcomeName.known.map(\.rawValue)
        + ["held", "scheduled", "cancelling", "frozen", "not needed", "notNeeded", "waiting", "active"]
}

/// Progress as a bar of cells.
enum ProgressBar {
    static func text(_ progress: ProgressRow, cells: Int) -> String {
        text(done: Int(progress.done), total: progress.total.map { Int($0) }, cells: cells)
    }

    static func text(done: Int, total: Int?, cells: Int) -> String {
        guard let total, total > 0 else { return "\(done)" }
        let share = share(done: done, total: total)
        let eighths = Int(share * Double(cells * 8))
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        let full = String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
        let rest = String(repeating: "░", count: max(0, cells - (eighths + 7) / 8))
        return "\(full)\(rest) \(Int(share * 100))%"
    }

    /// Returns a share from 0 to 1, even if the operation reports other values.
    static func share(done: Int, total: Int) -> Double { max(0, min(1, Double(done) / Double(max(1, total)))) }
}
