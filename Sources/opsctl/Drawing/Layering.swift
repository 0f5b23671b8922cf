/// Vertices of a drawing in layers, ordered so that few lines cross.
///
/// A line that passes through layers has a vertex of its own in each of them, so that it runs between names and not
/// through them. Lines from the same node share these vertices.
struct Layering {
    /// Layers from left to right, each from top to bottom, with nodes and the vertices of lines.
    private(set) var layers: [[Int]]
    /// Predecessors of each vertex in the layer before its own.
    private(set) var above: [[Int]]
    /// Vertices that the lines of each node have in the layers after it.
    private var lineVertices: [[Int]]
    private let layerOf: [Int]

    /// Number of passes that reorder each layer by its neighbours.
    private static let sweeps = 8

    /// - Parameter predecessors: Predecessors of each node; there must be no cycle.
    init(_ predecessors: [[Int]]) {
        layerOf = Self.layers(predecessors)
        layers = [[Int]](repeating: [], count: (layerOf.max() ?? -1) + 1)
        for node in predecessors.indices { layers[layerOf[node]].append(node) }
        above = [[Int]](repeating: [], count: predecessors.count)
        lineVertices = [[Int]](repeating: [], count: predecessors.count)
        for (node, list) in predecessors.enumerated() {
            for other in list {
                let left = vertex(before: node, from: other)
                if !above[node].contains(left) { above[node].append(left) }
            }
        }
        order()
    }

    func isOnLine(_ vertex: Int) -> Bool { vertex >= lineVertices.count }

    /// Successors of each vertex in the layer after its own.
    var below: [[Int]] {
        var below = [[Int]](repeating: [], count: above.count)
        for (vertex, list) in above.enumerated() {
            for other in list { below[other].append(vertex) }
        }
        return below
    }

    /// Returns the vertex in the layer before `right` where the line from `left` ends.
    private mutating func vertex(before right: Int, from left: Int) -> Int {
        let gap = layerOf[right] - layerOf[left] - 1
        while lineVertices[left].count < gap {
            let vertex = above.count
            above.append([lineVertices[left].last ?? left])
            layers[layerOf[left] + lineVertices[left].count + 1].append(vertex)
            lineVertices[left].append(vertex)
        }
        return gap > 0 ? lineVertices[left][gap - 1] : left
    }

    /// Returns the layer of each node: one after the last layer of its predecessors.
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

    /// Moves every vertex to the mean position of its neighbours, from left to right and back.
    private mutating func order() {
        let below = below
        var heights = [Double](repeating: 0, count: above.count)
        func settle(_ layer: [Int]) {
            for (index, vertex) in layer.enumerated() { heights[vertex] = (Double(index) + 0.5) / Double(layer.count) }
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
