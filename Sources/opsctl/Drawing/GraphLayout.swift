/// Where the boxes of a layered drawing lie: layers from left to right, few crossings.
struct GraphLayout {
    struct Box {
        var x: Int
        var y: Int
        var width: Int
    }

    private(set) var boxes: [Box]
    private(set) var width = 0
    private(set) var height = 0

    static let boxHeight = 40
    private static let layerGap = 56
    private static let rowGap = 16
    private static let margin = 24
    /// Passes over the layers that order each by what its neighbours are.
    private static let sweeps = 6

    init(_ picture: GraphPicture) {
        let widths = picture.nodes.map { max(124, min(260, DisplayWidth.of($0.title) * 8 + 28)) }
        let layerOf = picture.layers()
        var layers = [[Int]](repeating: [], count: (layerOf.max() ?? -1) + 1)
        for node in picture.nodes.indices { layers[layerOf[node]].append(node) }
        let above = picture.predecessors()
        Self.order(&layers, above)

        boxes = widths.map { Box(x: 0, y: 0, width: $0) }
        let tallest = layers.map(\.count).max() ?? 0
        let step = Self.boxHeight + Self.rowGap
        var x = Self.margin
        for layer in layers {
            let top = Self.margin + (tallest - layer.count) * step / 2
            for (row, node) in layer.enumerated() {
                boxes[node].x = x
                boxes[node].y = top + row * step
            }
            x += (layer.map { widths[$0] }.max() ?? 0) + Self.layerGap
        }
        width = max(2 * Self.margin, x - Self.layerGap + Self.margin)
        height = 2 * Self.margin + max(0, tallest * step - Self.rowGap)
    }

    /// Every node goes to the mean place of its neighbours, from left to right and back again.
    private static func order(_ layers: inout [[Int]], _ above: [[Int]]) {
        var below = [[Int]](repeating: [], count: above.count)
        for (node, list) in above.enumerated() {
            for other in list { below[other].append(node) }
        }
        var places = [Double](repeating: 0, count: above.count)
        func settle(_ layer: [Int]) {
            for (place, node) in layer.enumerated() { places[node] = (Double(place) + 0.5) / Double(layer.count) }
        }
        for layer in layers { settle(layer) }
        for sweep in 0..<sweeps {
            let isForward = sweep % 2 == 0
            for index in isForward ? Array(layers.indices) : layers.indices.reversed() {
                let keyed = layers[index].map { node in
                    let neighbours = isForward ? above[node] : below[node]
                    let mean =
                        neighbours.isEmpty
                        ? places[node] : neighbours.reduce(0) { $0 + places[$1] } / Double(neighbours.count)
                    return (mean: mean, node: node)
                }
                layers[index] = keyed.sorted { ($0.mean, $0.node) < ($1.mean, $1.node) }.map(\.node)
                settle(layers[index])
            }
        }
    }
}
