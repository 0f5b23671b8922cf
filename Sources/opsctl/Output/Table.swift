/// Takes lines one after another.
protocol LineSink: AnyObject {
    func line(_ text: String) throws(Failure)
}

/// Keeps lines for a screen that is drawn as a whole.
final class LineCollector: LineSink {
    private(set) var lines: [String] = []

    func line(_ text: String) throws(Failure) { lines.append(text) }
}

/// Rows under headings, fitted to the width of the terminal. Rows stream: after the first ones widths only grow.
struct Table {
    struct Column: Sendable {
        let title: String
        var alignsRight = false
        /// Takes what is left of the line and gives way first.
        var isElastic = false

        init(_ title: String, right: Bool = false, elastic: Bool = false) {
            self.title = title
            alignsRight = right
            isElastic = elastic
        }
    }

    struct Cell: Sendable, ExpressibleByStringLiteral {
        let text: String
        let colour: Style.Colour?

        init(_ text: String, _ colour: Style.Colour? = nil) {
            self.text = text
            self.colour = colour
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    private let columns: [Column]
    private let style: Style
    private let available: Int?
    private let hasHeadings: Bool
    private var widths: [Int]
    private var waiting: [[Cell]] = []
    private var begun = false
    /// Rows looked at before the first is written.
    private static let lookahead = 500
    private static let narrowest = 8

    init(_ columns: [Column], style: Style, columns available: Int?, hasHeadings: Bool = true) {
        self.columns = columns
        self.style = style
        self.available = available
        self.hasHeadings = hasHeadings
        widths = columns.map { hasHeadings ? DisplayWidth.of($0.title) : 0 }
    }

    mutating func add(_ row: [Cell], to output: some LineSink) throws(Failure) {
        precondition(row.count == columns.count, "a row has a cell for every column")
        if begun {
            try write(row, to: output)
        } else {
            waiting.append(row)
            if waiting.count == Self.lookahead { try begin(output) }
        }
    }

    mutating func finish(_ output: some LineSink) throws(Failure) {
        if !begun { try begin(output) }
    }

    private mutating func begin(_ output: some LineSink) throws(Failure) {
        begun = true
        for row in waiting {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], DisplayWidth.of(cell.text)) }
        }
        shrink()
        if hasHeadings && !waiting.isEmpty {
            try write(columns.map { Cell($0.title, .bold) }, to: output)
        }
        for row in waiting { try write(row, to: output) }
        waiting.removeAll()
    }

    /// Takes what is too much from the elastic columns, widest first, then from the last ones.
    private mutating func shrink() {
        guard let available else { return }
        var excess = widths.reduce(0, +) + 2 * (columns.count - 1) - available
        while excess > 0 {
            let elastic = widths.indices.filter { columns[$0].isElastic && widths[$0] > Self.narrowest }
            guard let widest = elastic.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
            excess -= 1
        }
    }

    private func write(_ row: [Cell], to output: some LineSink) throws(Failure) {
        var line = ""
        var room = available ?? .max
        for (index, cell) in row.enumerated() {
            let isLast = index == row.count - 1
            if room <= 0 { break }
            let width = min(widths[index], room)
            // A pipe gets the whole text; a terminal what fits.
            let text = available == nil ? cell.text : DisplayWidth.fit(cell.text, isLast ? room : width)
            let space = max(0, width - DisplayWidth.of(text))
            let blank = isLast && !columns[index].alignsRight ? "" : String(repeating: " ", count: space)
            line += columns[index].alignsRight ? blank + style(cell.colour, text) : style(cell.colour, text) + blank
            if !isLast { line += "  " }
            room = room == .max ? .max : room - max(width, DisplayWidth.of(text)) - 2
        }
        while line.last == " " { line.removeLast() }
        try output.line(line)
    }
}
