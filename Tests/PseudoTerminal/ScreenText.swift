/// Contents of a terminal: applies the few control sequences that opsctl uses to a grid of characters.
public struct ScreenText {
    public let columns: Int
    public let rows: Int
    private var cells: [[Character?]]
    private var row = 0
    private var column = 0
    /// A control sequence that has begun.
    private var pending = ""
    /// The screen of a full-screen program is up.
    public private(set) var isAlternate = false
    public private(set) var showsCursor = true

    public init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
        cells = Self.empty(columns, rows)
    }

    private static func empty(_ columns: Int, _ rows: Int) -> [[Character?]] {
        [[Character?]](repeating: [Character?](repeating: " ", count: columns), count: rows)
    }

    /// The rows without the blanks at their ends.
    public var lines: [String] {
        cells.map { row in
            var text = String(row.compactMap { $0 })
            while text.last == " " { text.removeLast() }
            return text
        }
    }
    public var text: String { lines.joined(separator: "\n") }
    public func contains(_ text: String) -> Bool { lines.contains { $0.contains(text) } }

    public mutating func write(_ text: String) {
        for character in text {
            if !pending.isEmpty {
                pending.append(character)
                if pending.count == 2 && character != "[" { pending = "" }
                if pending.count > 2, character.isLetter {
                    perform(pending.dropFirst(2).dropLast(), character)
                    pending = ""
                }
                continue
            }
            switch character {
            case "\u{1b}": pending = "\u{1b}"
            case "\r\n": (column, row) = (0, row + 1)
            case "\n": row += 1
            case "\r": column = 0
            default: put(character)
            }
            scroll()
        }
    }

    private mutating func scroll() {
        guard row >= rows else { return }
        cells.removeFirst()
        cells.append([Character?](repeating: " ", count: columns))
        row = rows - 1
    }

    private mutating func put(_ character: Character) {
        let value = character.unicodeScalars.first?.value ?? 0
        guard value >= 0x20 else { return }
        let isWide = (0x1100...0x115f).contains(value) || (0x2e80...0xa4cf).contains(value) || value >= 0x1f300
        if column + (isWide ? 2 : 1) > columns { (column, row) = (0, row + 1) }
        scroll()
        cells[row][column] = character
        column += 1
        guard isWide else { return }
        // The other half of it is no character.
        cells[row][column] = nil
        column += 1
    }

    private mutating func perform(_ parameters: Substring, _ command: Character) {
        let numbers = parameters.split(separator: ";").map { Int($0) ?? 0 }
        switch command {
        case "H":
            row = min(rows, max(1, numbers.first ?? 1)) - 1
            column = min(columns, max(1, numbers.count > 1 ? numbers[1] : 1)) - 1
        case "A": row = max(0, row - max(1, numbers.first ?? 1))
        case "K": clear(row, from: column)
        case "J":
            if numbers.first == 2 {
                cells = Self.empty(columns, rows)
            } else {
                clear(row, from: column)
                for below in row + 1..<max(row + 1, rows) { clear(below, from: 0) }
            }
        case "h", "l":
            if parameters == "?1049" {
                isAlternate = command == "h"
                cells = Self.empty(columns, rows)
            }
            if parameters == "?25" { showsCursor = command == "h" }
        default: break
        }
    }

    private mutating func clear(_ row: Int, from column: Int) {
        for place in column..<max(column, columns) { cells[row][place] = " " }
    }
}
