/// Bars of a Gantt chart, with the times in which operations waited and ran.
public struct Timeline: Sendable {
    public enum Rows: Sendable {
        /// A row for each worker: operations that ran at the same time are in different rows.
        case workers
        /// A row for each operation, in the order of starts, with its waiting time.
        case operations
    }

    struct Bar {
        var operation: DrawnOperation
        var start: Int64
        var end: Int64
        var row: Int
        /// Start of the light part before the bar, when the operation became ready.
        var readyAt: Int64
        var isCritical: Bool
    }

    let title: String
    let rows: Rows
    private(set) var bars: [Bar] = []
    private(set) var rowCount = 0
    let scale: TimeScale

    /// - Parameters:
    ///   - now: the instant until which running operations are drawn.
    ///   - critical: ids of the operations on the longest path.
    public init(
        title: String, _ operations: [DrawnOperation], rows: Rows, now: Int64, critical: Set<Int> = []
    ) {
        self.title = title
        self.rows = rows
        var ends: [Int64] = []
        let ran = operations.filter { $0.startedAt != nil && !$0.isGroup }
            .sorted { ($0.startedAt ?? 0, $0.id) < ($1.startedAt ?? 0, $1.id) }
        for operation in ran {
            let start = operation.startedAt ?? now
            let end = max(start, operation.finishedAt ?? now)
            var row = bars.count
            if rows == .workers {
                // The first free row, as the scheduler assigns the first free worker.
                row = ends.firstIndex { $0 <= start } ?? ends.count
                if row == ends.count { ends.append(end) } else { ends[row] = end }
            }
            bars.append(
                Bar(
                    operation: operation, start: start, end: end, row: row,
                    readyAt: min(start, operation.readyAt ?? start), isCritical: critical.contains(operation.id)))
        }
        rowCount = (bars.map(\.row).max() ?? -1) + 1
        let first = bars.map { rows == .operations ? $0.readyAt : $0.start }.min() ?? now
        scale = TimeScale(from: first, to: bars.map(\.end).max() ?? now)
    }
}

/// Time span of a chart with round ticks.
struct TimeScale: Sendable {
    let start: Int64
    let end: Int64
    /// Nanoseconds between ticks.
    let step: Int64

    private static let steps: [Int64] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500].map { $0 * 1_000_000 }
        + [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
            604_800,
        ]
        .map { $0 * 1_000_000_000 }

    init(from start: Int64, to end: Int64) {
        self.start = start
        self.end = max(end, start + 1_000_000)
        let length = self.end - start
        let weeks = Self.steps[Self.steps.count - 1]
        step = Self.steps.first { length / $0 < 9 } ?? (length / weeks / 8 + 1) * weeks
    }

    var ticks: [Int64] { Array(stride(from: start, through: end, by: Int64.Stride(step))) }

    /// Returns the position of an instant in a chart of this width.
    func position(_ instant: Int64, width: Double) -> Double {
        Double(instant - start) / Double(end - start) * width
    }
}
