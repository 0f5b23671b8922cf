/// A line of a chart in the terminal.
public struct TimelineLine: Sendable {
    public var name: String
    /// Parts of the bar with their tones; nil for empty space or a rule.
    public var parts: [(text: String, tone: Tone?)]
    public var tail: String
}

extension Timeline {
    /// Returns the chart for a terminal with this many columns: a line for each row, then the axis.
    public func lines(columns: Int, clock: (Int64) -> String) -> [TimelineLine] {
        let nameWidth = rows == .operations ? min(24, bars.map { DisplayWidth.of($0.operation.title) }.max() ?? 0) : 3
        let tailWidth = rows == .operations ? 8 : 0
        let cells = max(10, columns - nameWidth - tailWidth - 2)
        func cell(_ instant: Int64) -> Int { min(cells - 1, Int(scale.position(instant, width: Double(cells)))) }
        var barsOfRow = [[Bar]](repeating: [], count: rowCount)
        for bar in bars { barsOfRow[bar.row].append(bar) }
        var lines: [TimelineLine] = []
        for (row, inRow) in barsOfRow.enumerated() {
            var marks = [(Character, Tone?)](repeating: (" ", nil), count: cells)
            for bar in inRow {
                if rows == .operations {
                    for index in cell(bar.readyAt)..<max(cell(bar.readyAt), cell(bar.start)) {
                        marks[index] = ("░", nil)
                    }
                }
                for index in cell(bar.start)...max(cell(bar.start), cell(bar.end)) {
                    marks[index] = (bar.isCritical ? "█" : "▆", bar.operation.status.tone)
                }
            }
            let first = inRow.first
            let name = rows == .operations ? first?.operation.title ?? "" : "\(row + 1)"
            lines.append(
                TimelineLine(
                    name: DisplayWidth.pad(DisplayWidth.fitName(name, nameWidth), nameWidth), parts: Self.parts(marks),
                    tail: rows == .operations ? first.map { DurationLabel.text($0.end - $0.start) } ?? "" : ""))
        }
        return lines + axis(nameWidth: nameWidth, cells: cells, cell, clock)
    }

    private static func parts(_ marks: [(Character, Tone?)]) -> [(text: String, tone: Tone?)] {
        var parts: [(text: String, tone: Tone?)] = []
        for (character, tone) in marks {
            if let last = parts.last, last.tone == tone {
                parts[parts.count - 1].text.append(character)
            } else {
                parts.append((String(character), tone))
            }
        }
        return parts
    }

    private func axis(nameWidth: Int, cells: Int, _ cell: (Int64) -> Int, _ clock: (Int64) -> String) -> [TimelineLine]
    {
        var rule = [Character](repeating: "─", count: cells)
        var labels = ""
        for tick in scale.ticks {
            let at = cell(tick)
            rule[at] = "┴"
            let label = "+" + DurationLabel.short(tick - scale.start)
            guard labels.count <= at, at + label.count <= cells else { continue }
            labels += String(repeating: " ", count: at - labels.count) + label + " "
        }
        let empty = String(repeating: " ", count: nameWidth)
        let ends = "\(clock(scale.start)) to \(clock(scale.end))"
        return [
            TimelineLine(name: empty, parts: [(String(rule), nil)], tail: ""),
            TimelineLine(name: empty, parts: [(labels, nil)], tail: ""),
            TimelineLine(name: empty, parts: [(ends, nil)], tail: ""),
        ]
    }
}
