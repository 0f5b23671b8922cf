extension Timeline {
    private static let margin = 24.0
    private static let chartWidth = 1100.0
    private static let rowHeight = 24.0
    private static let top = 66.0

    /// Returns the chart as an SVG picture.
    ///
    /// - Parameter clock: Formats an instant in local time.
    public func svg(clock: (Int64) -> String) -> String {
        let names = rows == .operations ? bars.map { DisplayWidth.fitName($0.operation.title, 28) } : []
        let left = Self.margin + (names.map { Double(DisplayWidth.of($0)) * 6.6 }.max() ?? 16) + 12
        let bottom = Self.top + Double(rowCount) * Self.rowHeight
        let legend = legend()
        let width = max(left + Self.chartWidth + Self.margin, legend.width)
        var svg = SVGWriter(width: width, height: bottom + 68, title: title)
        svg.words(title, x: Self.margin, y: 28, "title")
        var lastClock = ""
        for tick in scale.ticks {
            let x = left + scale.position(tick, width: Self.chartWidth)
            svg.path(
                "M\(SVGWriter.number(x)) \(SVGWriter.number(Self.top - 8))V\(SVGWriter.number(bottom + 4))", "rule")
            svg.words("+" + DurationLabel.short(tick - scale.start), x: x, y: Self.top - 14, "muted", anchor: "middle")
            // Ticks may be closer than a second, but labels have whole seconds.
            if clock(tick) != lastClock { svg.words(clock(tick), x: x, y: bottom + 18, "muted", anchor: "middle") }
            lastClock = clock(tick)
        }
        for row in 0..<rowCount {
            let name = rows == .operations ? names[row] : "\(row + 1)"
            svg.words(name, x: left - 8, y: Self.top + Double(row) * Self.rowHeight + 15, "muted", anchor: "end")
        }
        for bar in bars { write(bar, left: left, &svg) }
        legend.write(&svg, y: bottom + 48)
        svg.end()
        return svg.text
    }

    private func write(_ bar: Bar, left: Double, _ svg: inout SVGWriter) {
        let operation = bar.operation
        let y = Self.top + Double(bar.row) * Self.rowHeight + 2
        let height = Self.rowHeight - 4
        let start = left + scale.position(bar.start, width: Self.chartWidth)
        let length = max(2, scale.position(bar.end, width: Self.chartWidth) + left - start)
        let tone = operation.status.tone.name
        let waited = bar.start - bar.readyAt
        let about =
            "\(operation.id) \(operation.title): \(operation.status.word), waited \(DurationLabel.text(waited)), "
            + "ran \(DurationLabel.text(bar.end - bar.start))"
        svg.group(title: about) { svg in
            if rows == .operations, waited > 0 {
                let ready = left + scale.position(bar.readyAt, width: Self.chartWidth)
                svg.box(
                    x: ready, y: y + 6, width: start - ready, height: height - 12, radius: 1, "waitingbar \(tone)bar")
            }
            svg.box(
                x: start, y: y, width: length, height: height, radius: 3, bar.isCritical ? "\(tone) critical" : tone)
            // A name that does not fit is left out.
            let cells = Int((length - 10) / 6.8)
            if rows == .workers, cells >= 3 {
                svg.words(DisplayWidth.fitName(operation.title, cells), x: start + 5, y: y + 14, tone + "text")
            } else if rows == .operations, cells >= 6 {
                svg.words(DurationLabel.text(bar.end - bar.start), x: start + 5, y: y + 14, tone + "text")
            }
        }
    }

    private func legend() -> Legend {
        var entries = StatusCount.all(bars.map(\.operation.status)).map {
            Legend.Entry(mark: .tone($0.status.tone), text: "\($0.status.symbol) \($0.status.word) \($0.count)")
        }
        if bars.contains(where: \.isCritical) { entries.append(.init(mark: .line("critical"), text: "longest path")) }
        if rows == .operations { entries.append(.init(mark: .line(""), text: "narrow: waiting for its start")) }
        return Legend(entries: entries)
    }
}
