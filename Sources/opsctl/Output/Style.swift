internal import OpsDrawing

/// Colours and weights; plain text if colour is not wanted.
struct Style: Sendable {
    enum Colour: String, Sendable {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "36"
        case boldRed = "1;31"
        case boldGreen = "1;32"
    }

    let isColoured: Bool

    func callAsFunction(_ colour: Colour?, _ text: String) -> String {
        guard isColoured, let colour, !text.isEmpty else { return text }
        return "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m"
    }

    /// Returns as many parts of a line as fit into this many cells.
    func line(_ parts: [(text: String, colour: Colour?)], cells: Int) -> String {
        var line = ""
        var room = cells
        for part in parts where room > 0 {
            let text = DisplayWidth.fit(part.text, room)
            line += self(part.colour, text)
            room -= DisplayWidth.of(text)
        }
        return line
    }
}
