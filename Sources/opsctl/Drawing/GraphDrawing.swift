internal import OpsDrawing

/// A drawing of a graph for the terminal: names in layers from left to right, with lines between them.
///
/// Lines from several nodes join into one trunk if each of these nodes leads to the same nodes; every other node has
/// its own trunk. A horizontal line that is interrupted by a vertical one passes under it.
struct GraphDrawing {
    private let picture: GraphPicture
    private let layering: Layering
    private let labels: [[(text: String, colour: Style.Colour?)]]
    private var rows: [Int]
    private var layerX: [Int] = []
    private var layerWidths: [Int]
    private var channels: [LineChannel] = []
    private var width = 0

    private static let mostNodes = 300
    /// Widths to which names are cut, one after the other, before the graph counts as too wide.
    private static let nameWidths = [200, 28, 16]

    /// Returns the drawing that fits into this many columns; nil if none does.
    static func fitting(_ columns: Int, _ picture: GraphPicture) -> GraphDrawing? {
        guard !picture.edges.isEmpty || picture.nodes.contains(where: \.isGroup), picture.nodes.count <= mostNodes
        else {
            return nil
        }
        let layering = Layering(picture.sequence())
        for nameWidth in nameWidths {
            guard let drawing = GraphDrawing(picture, layering, nameWidth: nameWidth) else { return nil }
            if drawing.width <= columns { return drawing }
        }
        return nil
    }

    private init?(_ picture: GraphPicture, _ layering: Layering, nameWidth: Int) {
        self.picture = picture
        self.layering = layering
        let conditions = picture.conditions
        labels = picture.nodes.enumerated().map { index, node in
            var parts: [(text: String, colour: Style.Colour?)] = [
                (node.standing.symbol + " ", node.standing.colour),
                (DisplayWidth.fitName(node.title, nameWidth), node.isGroup ? .bold : nil),
            ]
            if let condition = conditions[index] { parts.append((" ‹\(condition)›", .dim)) }
            return parts
        }
        rows = layering.rows()
        let labels = labels
        layerWidths = layering.layers.map { layer in
            layer.map { layering.isOnLine($0) ? 0 : Self.width(labels[$0]) }.max() ?? 0
        }
        for (index, layer) in layering.layers.enumerated() {
            layerX.append(width)
            width += layerWidths[index]
            guard index + 1 < layering.layers.count else { break }
            guard let channel = LineChannel(layer, layering.layers[index + 1], layering.above, rows) else { return nil }
            channels.append(channel)
            width += channel.width
        }
    }

    private static func width(_ label: [(text: String, colour: Style.Colour?)]) -> Int {
        label.reduce(0) { $0 + DisplayWidth.of($1.text) }
    }

    func write(_ session: Session) throws(Failure) {
        var canvas = LineCanvas(columns: width, rows: (rows.max() ?? -1) + 1)
        let below = layering.below
        for (index, layer) in layering.layers.enumerated() {
            let x = layerX[index]
            let end = x + layerWidths[index]
            for vertex in layer {
                if layering.isOnLine(vertex) {
                    canvas.horizontal(rows[vertex], from: x - 2, to: end + 1)
                    continue
                }
                canvas.put(labels[vertex], row: rows[vertex], at: x)
                let start = x + Self.width(labels[vertex]) + 1
                if !below[vertex].isEmpty, start <= end { canvas.horizontal(rows[vertex], from: start, to: end + 1) }
            }
            if index < channels.count { channels[index].draw(on: &canvas, at: end) }
        }
        try session.output.line(session.style(.bold, picture.title))
        for line in canvas.lines(session.style) { try session.output.line(line) }
        try writeCauses(session)
    }

    /// Writes the causes of ends below the drawing, because names and symbols do not show them.
    private func writeCauses(_ session: Session) throws(Failure) {
        for node in picture.nodes {
            let standing = node.standing
            guard let cause = node.cause, !["succeeded", "skipped", "not needed"].contains(standing.word) else {
                continue
            }
            let line: [(text: String, colour: Style.Colour?)] = [
                ("\(standing.symbol) \(node.title)", standing.colour), (": \(cause.printable)", nil),
            ]
            try session.output.line(session.style.line(line, cells: session.screen.columns ?? .max))
        }
    }
}

extension Layering {
    /// Returns a row for each vertex, near the middle of its predecessors and successors.
    func rows() -> [Int] {
        var rows = [Int](repeating: 0, count: above.count)
        let below = below
        func settle(_ layer: [Int], _ neighbours: [[Int]]) {
            var next = 0
            for vertex in layer {
                let wanted = neighbours[vertex].map { rows[$0] }.sorted()
                let middle = wanted.isEmpty ? rows[vertex] : wanted[(wanted.count - 1) / 2]
                rows[vertex] = max(next, middle)
                next = rows[vertex] + 1
            }
        }
        for layer in layers { settle(layer, above) }
        for layer in layers.reversed() { settle(layer, below) }
        for layer in layers.dropFirst() { settle(layer, above) }
        let top = rows.min() ?? 0
        return rows.map { $0 - top }
    }
}
