internal import OpsSystem

/// Properties of the terminal that is written to.
struct Screen: Sendable {
    let isTerminal: Bool
    let style: Style
    /// True if it can move its cursor.
    let isCapable: Bool
    private let descriptor: Int32

    init(descriptor: Int32, colour: String?) {
        self.descriptor = descriptor
        isTerminal = Terminal.isTerminal(descriptor)
        let term = Environment["TERM"] ?? ""
        isCapable = isTerminal && term != "dumb" && !term.isEmpty
        switch colour {
        case "always": style = Style(isColoured: true)
        case "never": style = Style(isColoured: false)
        default: style = Style(isColoured: isCapable && (Environment["NO_COLOR"] ?? "").isEmpty)
        }
    }

    /// Number of columns; nil for a pipe or a file, which have no edge.
    var columns: Int? {
        if let size = Terminal.size(of: descriptor) { return size.columns }
        return isTerminal ? 80 : nil
    }

    var rows: Int { Terminal.size(of: descriptor)?.rows ?? 24 }
}
