/// The vertices of a drawing in layers, ordered so that few lines cross.
///
/// A line that passes over layers keeps a place in each of them, so that it goes between names and not through them;
/// lines from one vertex share their places.
struct Layering {
    /// From left to right, each from top to bottom: the nodes, and the places that lines keep.
    private(set) var layers: [[Int]]
    /// Vertices that each vertex follows in the layer before its own.
    private(set) var above: [[Int]]
    /// Places that the lines of each node keep in the layers after its own.
    private var places: [[Int]]
    private let layerOf: [Int]

    /// Passes over the layers that order each by what its neighbours are.
    private static let sweeps = 8

    /// `predecessors` of each node; none may follow itself, however far.
    init(_ predecessors: [[Int]]) {
        layerOf = Self.layers(predecessors)
        layers = [[Int]](repeating: [], count: (layerOf.max() ?? -1) + 1)
        for node in predecessors.indices { layers[layerOf[node]].append(node) }
        above = [[Int]](repeating: [], count: predecessors.count)
        places = [[Int]](repeating: [], count: predecessors.count)
        for (node, list) in predecessors.enumerated() {
            for other in list {
                let left = vertex(before: node, from: other)
                if !above[node].contains(left) { above[node].append(left) }
            }
        }
        order()
    }

    func isPlace(_ vertex: Int) -> Bool { vertex >= places.count }

    /// The places that the line between two nodes goes through.
    func route(from left: Int, to right: Int) -> ArraySlice<Int> {
        places[left].prefix(layerOf[right] - layerOf[left] - 1)
    }

    /// Vertices that follow each vertex in the layer after its own.
    var below: [[Int]] {
        var below = [[Int]](repeating: [], count: above.count)
        for (vertex, list) in above.enumerated() {
            for other in list { below[other].append(vertex) }
        }
        return below
    }

    /// The end, in the layer before `right`, of the line from `left`.
    private mutating func vertex(before right: Int, from left: Int) -> Int {
        let gap = layerOf[right] - layerOf[left] - 1
        while places[left].count < gap {
            let place = above.count
            above.append([places[left].last ?? left])
            layers[layerOf[left] + places[left].count + 1].append(place)
            places[left].append(place)
        }
        return gap > 0 ? places[left][gap - 1] : left
    }

    /// The layer of each node: one after the last of what it follows.
    static func layers(_ predecessors: [[Int]]) -> [Int] {
        var dependents = [[Int]](repeating: [], count: predecessors.count)
        var missing = predecessors.map(\.count)
        for (node, list) in predecessors.enumerated() {
            for other in list { dependents[other].append(node) }
        }
        var layers = [Int](repeating: 0, count: predecessors.count)
        var free = predecessors.indices.filter { missing[$0] == 0 }
        var next = 0
        while next < free.count {
            let node = free[next]
            next += 1
            for dependent in dependents[node] {
                layers[dependent] = max(layers[dependent], layers[node] + 1)
                missing[dependent] -= 1
                if missing[dependent] == 0 { free.append(dependent) }
            }
        }
        return layers
    }

    /// Every vertex goes to the mean place of its neighbours, from left to right and back again.
    private mutating func order() {
        let below = below
        var heights = [Double](repeating: 0, count: above.count)
        func settle(_ layer: [Int]) {
            for (place, vertex) in layer.enumerated() { heights[vertex] = (Double(place) + 0.5) / Double(layer.count) }
        }
        for layer in layers { settle(layer) }
        for sweep in 0..<Self.sweeps {
            let isForward = sweep % 2 == 0
            for index in isForward ? Array(layers.indices) : layers.indices.reversed() {
                let keyed = layers[index].map { vertex in
                    let neighbours = isForward ? above[vertex] : below[vertex]
                    let sum = neighbours.reduce(0) { $0 + heights[$1] }
                    return (mean: neighbours.isEmpty ? heights[vertex] : sum / Double(neighbours.count), vertex: vertex)
                }
                layers[index] = keyed.sorted { ($0.mean, $0.vertex) < ($1.mean, $1.vertex) }.map(\.vertex)
                settle(layers[index])
            }
        }
    }
}
