/// Where the boxes of a layered drawing lie, from left to right.
struct GraphLayout {
    struct Box {
        var x = 0
        var y = 0
        var width: Int
    }

    /// The boxes of the nodes, then the places that long lines keep.
    private(set) var boxes: [Box]
    private(set) var width = 0
    private(set) var height = 0
    private let layering: Layering

    static let boxHeight = 40
    private static let layerGap = 56
    private static let rowGap = 16
    private static let margin = 24

    init(_ picture: GraphPicture) {
        layering = Layering(picture.predecessors())
        boxes = picture.nodes.map { Box(width: max(124, min(260, DisplayWidth.of($0.title) * 8 + 28))) }
        boxes += [Box](repeating: Box(width: 0), count: layering.above.count - boxes.count)
        place()
    }

    /// The places that the line between two nodes goes through.
    func route(from left: Int, to right: Int) -> [Box] {
        layering.route(from: left, to: right).map { boxes[$0] }
    }

    private mutating func place() {
        let tallest = layering.layers.map(\.count).max() ?? 0
        let step = Self.boxHeight + Self.rowGap
        var x = Self.margin
        for layer in layering.layers {
            let widest = layer.map { boxes[$0].width }.max() ?? 0
            let top = Self.margin + (tallest - layer.count) * step / 2
            for (row, vertex) in layer.enumerated() {
                boxes[vertex].x = x
                boxes[vertex].y = top + row * step
                // A line goes straight past the boxes of its layer.
                if layering.isPlace(vertex) { boxes[vertex].width = widest }
            }
            x += widest + Self.layerGap
        }
        width = max(2 * Self.margin, x - Self.layerGap + Self.margin)
        height = 2 * Self.margin + max(0, tallest * step - Self.rowGap)
    }
}
