internal import OpsDrawing

/// Receives lines one after another.
protocol LineSink: AnyObject {
    func line(_ text: String) throws(Failure)
}

/// Collects lines for a screen that is drawn as a whole.
final class LineCollector: LineSink {
    private(set) var lines: [String] = []

    func line(_ text: String) throws(Failure) { lines.append(text) }
}

/// Rows under headings, fitted to the width of the terminal. Rows are written as they come; after the first ones,
/// columns can only become wider.
struct Table {
    struct Column: Sendable {
        let title: String
        var alignsRight = false
        /// True if the column gets the rest of the line, and is cut first.
        var isElastic = false
        /// Rank of a column that a terminal leaves out if it is empty or there is no room: the highest rank goes first.
        var rank: Int?

        init(_ title: String, right: Bool = false, elastic: Bool = false, rank: Int? = nil) {
            self.title = title
            alignsRight = right
            isElastic = elastic
            self.rank = rank
        }
    }

    struct Cell: Sendable, ExpressibleByStringLiteral {
        let text: String
        let colour: Style.Colour?

        init(_ text: String, _ colour: Style.Colour? = nil) {
            self.text = text.printable
            self.colour = colour
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    private let columns: [Column]
    private let style: Style
    private let available: Int?
    private let hasHeadings: Bool
    private var widths: [Int]
    private var isHidden: [Bool]
    private var waiting: [[Cell]] = []
    private var begun = false
    /// Number of rows that are measured before the first is written.
    private static let lookahead = 500
    private static let narrowest = 12

    init(_ columns: [Column], style: Style, columns available: Int?, hasHeadings: Bool = true) {
        self.columns = columns
        self.style = style
        self.available = available
        self.hasHeadings = hasHeadings
        widths = columns.map { hasHeadings ? DisplayWidth.of($0.title) : 0 }
        isHidden = columns.map { _ in false }
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

    /// Makes the line fit: first empty columns are left out, then elastic ones are cut, then ranked ones are left out.
    private mutating func shrink() {
        guard let available else { return }
        for index in columns.indices where columns[index].rank != nil {
            isHidden[index] = waiting.allSatisfy { $0[index].text.isEmpty }
        }
        while true {
            let excess = squeezed(into: available)
            guard excess > 0 else { return }
            let ranked = columns.indices.filter { columns[$0].rank != nil && !isHidden[$0] }
            guard let last = ranked.max(by: { (columns[$0].rank ?? 0) < (columns[$1].rank ?? 0) }) else { return }
            isHidden[last] = true
        }
    }

    /// Cuts the elastic columns, widest first; returns the number of cells that are still too many.
    private mutating func squeezed(into available: Int) -> Int {
        let shown = columns.indices.filter { !isHidden[$0] }
        var excess = shown.reduce(0) { $0 + widths[$1] } + 2 * (shown.count - 1) - available
        while excess > 0 {
            let elastic = shown.filter { columns[$0].isElastic && widths[$0] > Self.narrowest }
            guard let widest = elastic.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
        return excess
    }

    private func write(_ row: [Cell], to output: some LineSink) throws(Failure) {
        var line = ""
        var room = available ?? .max
        let last = isHidden.lastIndex(of: false)
        for (index, cell) in row.enumerated() where !isHidden[index] {
            let isLast = index == last
            if room <= 0 { break }
            let width = min(widths[index], room)
            // A pipe gets the whole text, a terminal as much as fits.
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
