internal import OpsDrawing

/// A graph as names with lines between them, layers from left to right, in the cells of a terminal.
///
/// If it stays unambiguous, lines from several nodes join into one trunk that leads to all that follow each of
/// them; every other node has a trunk of its own. A line that is interrupted by an upright one passes under it.
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
    /// Names are cut to one of these before the graph is called too wide.
    private static let nameWidths = [200, 28, 16]

    /// The drawing that fits into so many columns; nil: none does.
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
                (DisplayWidth.fit(node.title, nameWidth), node.isGroup ? .bold : nil),
            ]
            if let condition = conditions[index] { parts.append((" ‹\(condition)›", .dim)) }
            return parts
        }
        rows = layering.rows()
        let labels = labels
        layerWidths = layering.layers.map { layer in
            layer.map { layering.isPlace($0) ? 0 : Self.width(labels[$0]) }.max() ?? 0
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
                if layering.isPlace(vertex) {
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

    /// Writes the causes, which names and symbols cannot say.
    private func writeCauses(_ session: Session) throws(Failure) {
        for node in picture.nodes {
            guard let cause = node.cause, !["succeeded", "skipped"].contains(node.standing.word) else { continue }
            let line: [(text: String, colour: Style.Colour?)] = [
                ("\(node.standing.symbol) \(node.title)", node.standing.colour), (": \(cause.printable)", nil),
            ]
            try session.output.line(session.style.line(line, cells: session.screen.columns ?? .max))
        }
    }
}

extension Layering {
    /// A row for each vertex: beside the middle of what it follows, and of what follows it.
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
