/// JSON text of a graph that consists of parts of several files. Each part knows its position in its file.
struct GraphAssembly {
    private var bytes: [UInt8] = []
    private var pieces: [GraphText.Piece] = []

    var count: Int { bytes.count }

    /// Appends a part of a file.
    mutating func copy(_ range: Range<Int>, of text: GraphText) {
        guard !range.isEmpty else { return }
        mark(text, range.lowerBound)
        bytes += text.bytes[range]
    }

    /// Appends text that replaces the value at an offset of a file.
    mutating func write(_ written: String, for text: GraphText, at offset: Int) {
        mark(text, offset)
        bytes += written.utf8
    }

    private mutating func mark(_ text: GraphText, _ offset: Int) {
        pieces.append(.init(start: bytes.count, text: text, offset: offset))
    }

    func text(path: String) -> GraphText { GraphText(path: path, json: bytes, pieces: pieces) }
}
