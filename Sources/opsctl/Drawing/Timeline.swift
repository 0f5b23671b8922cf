internal import OpsWire

/// Who ran when, as a Gantt chart: a lane for everything that ran at the same time.
struct Timeline {
    private struct Bar {
        let row: OperationRow
        let start: Instant
        let end: Instant
        var lane = 0
    }

    private var bars: [Bar] = []
    private var lanes = 0
    private static let laneHeight = 26
    private static let left = 40
    private static let chartWidth = 1100

    init(_ rows: [OperationRow], now: Instant) {
        bars = rows.compactMap { row in
            guard let start = row.startedAt.instant, !row.isGroup else { return nil }
            return Bar(row: row, start: start, end: max(start, row.finishedAt.instant ?? now))
        }.sorted { ($0.start, $0.row.id) < ($1.start, $1.row.id) }
        var ends: [Instant] = []
        for index in bars.indices {
            // The first lane that is free again, as slots are given.
            let lane = ends.firstIndex { $0 <= bars[index].start } ?? ends.count
            if lane == ends.count { ends.append(bars[index].end) } else { ends[lane] = bars[index].end }
            bars[index].lane = lane
        }
        lanes = ends.count
    }

    func write(to output: StandardOutput) throws(Failure) {
        let first = bars.map(\.start).min() ?? .now
        let last = bars.map(\.end).max() ?? first
        let length = max(1_000_000, (last - first).nanoseconds)
        func x(_ instant: Instant) -> Int {
            Self.left + Int(Double((instant - first).nanoseconds) / Double(length) * Double(Self.chartWidth))
        }
        let height = 48 + lanes * Self.laneHeight
        try SVGText.open(width: Self.left + Self.chartWidth + 24, height: height, title: "timeline", output)
        for tick in 0...10 {
            let span = Span(nanoseconds: length / 10 * Int64(tick))
            let at = Self.left + Self.chartWidth * tick / 10
            try output.line("<path d=\"M\(at) 22V\(height - 12)\" stroke=\"#eceff1\"/>")
            try output.line(
                "<text x=\"\(at)\" y=\"16\" text-anchor=\"middle\" class=\"small\" fill=\"#607d8b\">\(span.text)</text>"
            )
        }
        for lane in 0..<lanes {
            try output.line(
                "<text x=\"24\" y=\"\(28 + lane * Self.laneHeight + 15)\" text-anchor=\"end\" class=\"small\" fill=\"#607d8b\">\(lane)</text>"
            )
        }
        for bar in bars { try write(bar, from: x(bar.start), to: x(bar.end), output) }
        try output.line("</svg>")
    }

    private func write(_ bar: Bar, from start: Int, to end: Int, _ output: StandardOutput) throws(Failure) {
        let width = max(2, end - start)
        let y = 28 + bar.lane * Self.laneHeight
        let standing = bar.row.standing
        let about = "\(bar.row.id) \(bar.row.title): \(standing.word), \((bar.end - bar.start).text)"
        try output.line(
            "<g><title>\(SVGText.escaped(about))</title><rect x=\"\(start)\" y=\"\(y)\" width=\"\(width)\" "
                + "height=\"\(Self.laneHeight - 4)\" rx=\"3\" fill=\"\(Palette.fill(standing))\" stroke=\"\(Palette.stroke(standing))\"/>"
        )
        // A name that does not fit says nothing.
        let cells = (width - 8) / 7
        if cells >= 3 {
            let title = SVGText.escaped(DisplayWidth.fit(bar.row.title, cells))
            try output.line("<text x=\"\(start + 4)\" y=\"\(y + 15)\" class=\"small\">\(title)</text>")
        }
        try output.line("</g>")
    }
}
