/// Layers of an acyclic graph, and their order.
enum Layers {
    /// Returns the layer of each vertex: one after the last of its predecessors. Vertices on a cycle stay in the layer that
    /// the rest of the graph gives them.
    static func longestPaths(_ predecessors: [[Int]]) -> [Int] {
        var successors = [[Int]](repeating: [], count: predecessors.count)
        var missing = predecessors.map(\.count)
        for (vertex, list) in predecessors.enumerated() {
            for other in list { successors[other].append(vertex) }
        }
        var layers = [Int](repeating: 0, count: predecessors.count)
        var free = predecessors.indices.filter { missing[$0] == 0 }
        var next = 0
        while next < free.count {
            let vertex = free[next]
            next += 1
            for successor in successors[vertex] {
                layers[successor] = max(layers[successor], layers[vertex] + 1)
                missing[successor] -= 1
                if missing[successor] == 0 { free.append(successor) }
            }
        }
        return layers
    }

    /// Returns the edges without those that would close a cycle, found by a depth-first search.
    static func acyclic(_ successors: [[Int]]) -> [[Int]] {
        enum Mark { case unseen, open, done }
        var marks = [Mark](repeating: .unseen, count: successors.count)
        var kept = successors
        for root in successors.indices where marks[root] == .unseen {
            var stack: [(vertex: Int, next: Int)] = [(root, 0)]
            marks[root] = .open
            while let (vertex, next) = stack.last {
                guard next < kept[vertex].count else {
                    marks[vertex] = .done
                    stack.removeLast()
                    continue
                }
                let successor = kept[vertex][next]
                switch marks[successor] {
                case .open: kept[vertex].remove(at: next)
                case .done: stack[stack.count - 1].next += 1
                case .unseen:
                    stack[stack.count - 1].next += 1
                    marks[successor] = .open
                    stack.append((successor, 0))
                }
            }
        }
        return kept
    }

    /// Orders each layer so that few lines cross: every vertex moves to the mean position of its neighbours, from left
    /// to right and back.
    static func order(_ layers: inout [[Int]], count: Int, before: [[Int]], after: [[Int]]) {
        var heights = [Double](repeating: 0, count: count)
        func settle(_ layer: [Int]) {
            for (row, vertex) in layer.enumerated() { heights[vertex] = (Double(row) + 0.5) / Double(layer.count) }
        }
        for layer in layers { settle(layer) }
        for sweep in 0..<8 {
            let isForward = sweep % 2 == 0
            for index in isForward ? Array(layers.indices) : layers.indices.reversed() {
                let keyed = layers[index].map { vertex in
                    let neighbours = isForward ? before[vertex] : after[vertex]
                    let sum = neighbours.reduce(0) { $0 + heights[$1] }
                    return (mean: neighbours.isEmpty ? heights[vertex] : sum / Double(neighbours.count), vertex: vertex)
                }
                layers[index] = keyed.sorted { ($0.mean, $0.vertex) < ($1.mean, $1.vertex) }.map(\.vertex)
                settle(layers[index])
            }
        }
    }

    /// Returns the positions closest to the wanted ones at which intervals of these lengths keep their order and a gap,
    /// in the sense of least squares (pool adjacent violators).
    static func centres(wanted: [Double], lengths: [Double], gap: Double) -> [Double] {
        var offsets: [Double] = []
        var offset = 0.0
        for (index, length) in lengths.enumerated() {
            if index > 0 { offset += lengths[index - 1] / 2 + gap + length / 2 }
            offsets.append(offset)
        }
        var pools: [(sum: Double, count: Int)] = []
        for (index, centre) in wanted.enumerated() {
            pools.append((centre - offsets[index], 1))
            while pools.count > 1 {
                let last = pools[pools.count - 1]
                let before = pools[pools.count - 2]
                guard before.sum / Double(before.count) > last.sum / Double(last.count) else { break }
                pools.removeLast(2)
                pools.append((before.sum + last.sum, before.count + last.count))
            }
        }
        var shifts: [Double] = []
        for pool in pools {
            shifts += [Double](repeating: pool.sum / Double(pool.count), count: pool.count)
        }
        return zip(shifts, offsets).map { $0 + $1 }
    }
}
