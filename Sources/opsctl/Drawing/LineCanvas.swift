internal import OpsDrawing

/// Cells of a terminal with lines, and text over the lines.
struct LineCanvas {
    /// Directions of the lines in a cell.
    private struct Ends: OptionSet {
        let rawValue: UInt8
        static let left = Ends(rawValue: 1)
        static let right = Ends(rawValue: 2)
        static let up = Ends(rawValue: 4)
        static let down = Ends(rawValue: 8)
    }

    private struct Text {
        let x: Int
        let parts: [(text: String, colour: Style.Colour?)]
        let width: Int
    }

    private var cells: [[Ends]]
    private var texts: [[Text]]

    /// Characters for the lines of a cell, indexed by `Ends`.
    private static let glyphs: [Character] = Array(" ───│╯╰┴│╮╭┬│┤├┼")

    init(columns: Int, rows: Int) {
        cells = [[Ends]](repeating: [Ends](repeating: [], count: columns), count: rows)
        texts = [[Text]](repeating: [], count: rows)
    }

    /// Draws a line between the middles of two cells; it passes under the vertical lines at `crossings`.
    mutating func horizontal(_ row: Int, from start: Int, to end: Int, under crossings: [Int] = []) {
        for x in start...max(start, end) where !crossings.contains(x) {
            if x > start { cells[row][x].insert(.left) }
            if x < end { cells[row][x].insert(.right) }
        }
    }

    mutating func vertical(_ column: Int, from top: Int, to bottom: Int) {
        for row in top...max(top, bottom) {
            if row > top { cells[row][column].insert(.up) }
            if row < bottom { cells[row][column].insert(.down) }
        }
    }

    mutating func put(_ parts: [(text: String, colour: Style.Colour?)], row: Int, at x: Int) {
        texts[row].append(Text(x: x, parts: parts, width: parts.reduce(0) { $0 + DisplayWidth.of($1.text) }))
    }

    /// Returns the rows as text, with dim lines.
    func lines(_ style: Style) -> [String] {
        cells.indices.map { row in
            var line = ""
            var x = 0
            for text in texts[row].sorted(by: { $0.x < $1.x }) {
                line += style(.dim, run(row, x..<max(x, text.x)))
                for part in text.parts { line += style(part.colour, part.text) }
                x = text.x + text.width
            }
            var rest = run(row, x..<max(x, cells[row].count))
            while rest.last == " " { rest.removeLast() }
            return line + style(.dim, rest)
        }
    }

    private func run(_ row: Int, _ range: Range<Int>) -> String {
        String(range.map { Self.glyphs[Int(cells[row][$0].rawValue)] })
    }
}
