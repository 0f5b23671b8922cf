/// Where the boxes of a layered drawing lie: layers from left to right, few crossings.
///
/// A line that passes over layers keeps a place in each of them, so that it goes between boxes and not through them.
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
    /// The places that lines go through, from left to right, by their ends.
    private var routes: [Ends: [Int]] = [:]

    private struct Ends: Hashable {
        let left: Int
        let right: Int
    }

    static let boxHeight = 40
    private static let layerGap = 56
    private static let rowGap = 16
    private static let margin = 24
    /// Passes over the layers that order each by what its neighbours are.
    private static let sweeps = 8

    init(_ picture: GraphPicture) {
        boxes = picture.nodes.map { Box(width: max(124, min(260, DisplayWidth.of($0.title) * 8 + 28))) }
        let layerOf = picture.layers()
        var layers = [[Int]](repeating: [], count: (layerOf.max() ?? -1) + 1)
        for node in picture.nodes.indices { layers[layerOf[node]].append(node) }
        var above = picture.predecessors()
        for node in picture.nodes.indices {
            above[node] = above[node].map { keepPlaces(from: $0, to: node, layerOf, &layers) }
        }
        for (ends, places) in routes {
            // Each place follows the one before it.
            while above.count < boxes.count { above.append([]) }
            for (index, place) in places.enumerated() { above[place] = [index == 0 ? ends.left : places[index - 1]] }
        }
        Self.order(&layers, above)
        place(layers)
    }

    /// The places that the line between two nodes goes through.
    func route(from left: Int, to right: Int) -> [Box] {
        (routes[Ends(left: left, right: right)] ?? []).map { boxes[$0] }
    }

    /// Keeps a place in every layer between two nodes; answers what `right` follows in the layer before its own.
    private mutating func keepPlaces(from left: Int, to right: Int, _ layerOf: [Int], _ layers: inout [[Int]]) -> Int {
        guard layerOf[right] - layerOf[left] > 1 else { return left }
        let ends = Ends(left: left, right: right)
        if let places = routes[ends], let last = places.last { return last }
        var places: [Int] = []
        for layer in layerOf[left] + 1..<layerOf[right] {
            places.append(boxes.count)
            layers[layer].append(boxes.count)
            boxes.append(Box(width: 0))
        }
        routes[ends] = places
        return places[places.count - 1]
    }

    private mutating func place(_ layers: [[Int]]) {
        let tallest = layers.map(\.count).max() ?? 0
        let step = Self.boxHeight + Self.rowGap
        var x = Self.margin
        for layer in layers {
            let widest = layer.map { boxes[$0].width }.max() ?? 0
            let top = Self.margin + (tallest - layer.count) * step / 2
            for (row, vertex) in layer.enumerated() {
                boxes[vertex].x = x
                boxes[vertex].y = top + row * step
                // A line goes straight past the boxes of its layer.
                if boxes[vertex].width == 0 { boxes[vertex].width = widest }
            }
            x += widest + Self.layerGap
        }
        width = max(2 * Self.margin, x - Self.layerGap + Self.margin)
        height = 2 * Self.margin + max(0, tallest * step - Self.rowGap)
    }

    /// Every vertex goes to the mean place of its neighbours, from left to right and back again.
    private static func order(_ layers: inout [[Int]], _ above: [[Int]]) {
        var below = [[Int]](repeating: [], count: above.count)
        for (vertex, list) in above.enumerated() {
            for other in list { below[other].append(vertex) }
        }
        var places = [Double](repeating: 0, count: above.count)
        func settle(_ layer: [Int]) {
            for (place, vertex) in layer.enumerated() { places[vertex] = (Double(place) + 0.5) / Double(layer.count) }
        }
        for layer in layers { settle(layer) }
        for sweep in 0..<sweeps {
            let isForward = sweep % 2 == 0
            for index in isForward ? Array(layers.indices) : layers.indices.reversed() {
                let keyed = layers[index].map { vertex in
                    let neighbours = isForward ? above[vertex] : below[vertex]
                    let sum = neighbours.reduce(0) { $0 + places[$1] }
                    return (mean: neighbours.isEmpty ? places[vertex] : sum / Double(neighbours.count), vertex: vertex)
                }
                layers[index] = keyed.sorted { ($0.mean, $0.vertex) < ($1.mean, $1.vertex) }.map(\.vertex)
                settle(layers[index])
            }
        }
    }
}
