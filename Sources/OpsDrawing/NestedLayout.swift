/// Positions of the nodes of a folded graph and of the lines between them: layers from left to right, and groups as
/// boxes around their children.
///
/// Each group is laid out on its own, from the innermost ones to the whole graph, with the lines between its own
/// children. A line that enters or leaves a group has a row of its own in the layers that it passes, so that it runs
/// between boxes and not through them. The lines of one operation share their rows.
struct NestedLayout {
    struct Frame {
        var x = 0.0
        var y = 0.0
        var width = 0.0
        var height = 0.0

        var right: Double { x + width }
        var middle: Double { y + height / 2 }
    }

    struct Point {
        var x: Double
        var y: Double
    }

    /// A stop of a line. The line is level from its left to its right end, and bends between stops.
    struct Stop {
        var left: Double
        var right: Double
        var y: Double
    }

    private(set) var frames: [Frame]
    private(set) var lines: [FoldedGraph.Edge: [Stop]] = [:]
    private(set) var width = 0.0
    private(set) var height = 0.0

    static let titleHeight = 26.0
    private static let layerGap = 52.0
    private static let rowGap = 14.0
    private static let padding = 14.0
    private static let laneHeight = 6.0

    private let graph: FoldedGraph
    private var children: [[Int]]
    private var roots: [Int] = []
    private var depths: [Int]
    /// Right edge of the layer of each node, where its lines begin to bend.
    private var layerRights: [Double]
    /// Rows of lines in each container; the last element is the graph itself.
    private var containers: [Container]

    /// - Parameter size: width and height of a node that is not a group.
    init(_ graph: FoldedGraph, size: (Int) -> (width: Double, height: Double), titleWidth: (Int) -> Double) {
        self.graph = graph
        frames = [Frame](repeating: Frame(), count: graph.nodes.count)
        children = [[Int]](repeating: [], count: graph.nodes.count)
        depths = [Int](repeating: 0, count: graph.nodes.count)
        layerRights = [Double](repeating: 0, count: graph.nodes.count)
        containers = [Container](repeating: Container(), count: graph.nodes.count + 1)
        for (index, node) in graph.nodes.enumerated() {
            if let parent = node.parent {
                children[parent].append(index)
                depths[index] = depths[parent] + 1
            } else {
                roots.append(index)
            }
        }
        for edge in graph.edges.keys.sorted(by: { ($0.from, $0.to) < ($1.from, $1.to) }) { route(edge) }
        // Children come after their group, so the innermost groups are laid out first.
        for index in graph.nodes.indices.reversed() {
            if children[index].isEmpty {
                (frames[index].width, frames[index].height) = size(index)
            } else {
                let extent = place(children[index], in: index)
                frames[index].width = max(extent.width + 2 * Self.padding, titleWidth(index))
                frames[index].height = extent.height + Self.titleHeight + Self.padding
            }
        }
        let extent = place(roots, in: graph.nodes.count)
        (width, height) = (extent.width, extent.height)
        resolve()
    }

    // MARK: Lines

    /// Part of a line inside one container: between two of its children, or between a child and the border.
    private struct Stretch: Hashable {
        /// Child that the line leaves; nil if it enters through the left border.
        var from: Int?
        /// Child that the line reaches; nil if it leaves through the right border.
        var to: Int?
        /// Node whose lines share a row.
        var owner: Int
    }

    private struct Container {
        var stretches: [Stretch: [Int]] = [:]
        var order: [Stretch] = []
        /// Frames of the rows for lines, as wide as their layer.
        var lanes: [Frame] = []
    }

    private struct Part {
        var container: Int
        var stretch: Stretch
    }

    private var parts: [FoldedGraph.Edge: [Part]] = [:]

    /// Divides a line into parts: out of the groups around its start, between two children of the innermost container
    /// with both ends, and into the groups around its end.
    private mutating func route(_ edge: FoldedGraph.Edge) {
        var (from, to) = (edge.from, edge.to)
        var head: [Part] = []
        var tail: [Part] = []
        func container(_ node: Int) -> Int { graph.nodes[node].parent ?? graph.nodes.count }
        while depths[from] > depths[to] { leave() }
        while depths[to] > depths[from] { enter() }
        while container(from) != container(to) {
            leave()
            enter()
        }
        func leave() {
            head.append(Part(container: container(from), stretch: Stretch(from: from, to: nil, owner: edge.from)))
            from = container(from)
        }
        func enter() {
            tail.append(Part(container: container(to), stretch: Stretch(from: nil, to: to, owner: edge.to)))
            to = container(to)
        }
        // A dependency between a group and its own child has no line.
        guard from != to else { return }
        let middle = Part(container: container(from), stretch: Stretch(from: from, to: to, owner: edge.from))
        let all = head + [middle] + tail.reversed()
        for part in all where containers[part.container].stretches[part.stretch] == nil {
            containers[part.container].stretches[part.stretch] = []
            containers[part.container].order.append(part.stretch)
        }
        parts[edge] = all
    }

    // MARK: One container

    private mutating func place(_ items: [Int], in container: Int) -> (width: Double, height: Double) {
        var position: [Int: Int] = [:]
        for (index, item) in items.enumerated() { position[item] = index }
        let stretches = containers[container].order
        var successors = [[Int]](repeating: [], count: items.count)
        for stretch in stretches {
            if let from = stretch.from.flatMap({ position[$0] }), let to = stretch.to.flatMap({ position[$0] }),
                !successors[from].contains(to)
            {
                successors[from].append(to)
            }
        }
        successors = Layers.acyclic(successors)
        var predecessors = [[Int]](repeating: [], count: items.count)
        for (from, list) in successors.enumerated() {
            for to in list { predecessors[to].append(from) }
        }
        let layerOf = Layers.longestPaths(predecessors)
        var layers = [[Int]](repeating: [], count: (layerOf.max() ?? -1) + 1)
        for item in items.indices { layers[layerOf[item]].append(item) }

        var before = [[Int]](repeating: [], count: items.count)
        var after = before
        /// Row of a node's lines in a layer, by owner and direction; lines of one owner share it.
        var laneOf: [Lane: Int] = [:]
        func join(_ left: Int, _ right: Int) {
            if !after[left].contains(right) { after[left].append(right) }
            if !before[right].contains(left) { before[right].append(left) }
        }
        for stretch in stretches {
            let from = stretch.from.flatMap { position[$0] }
            let to = stretch.to.flatMap { position[$0] }
            let first = from.map { layerOf[$0] + 1 } ?? 0
            let end = to.map { layerOf[$0] } ?? layers.count
            var left = from
            var lanes: [Int] = []
            for layer in first..<max(first, end) {
                let lane = Lane(owner: stretch.owner, layer: layer, comesIn: from == nil)
                let vertex = laneOf[lane] ?? before.count
                if vertex == before.count {
                    laneOf[lane] = vertex
                    before.append([])
                    after.append([])
                    layers[layer].append(vertex)
                }
                lanes.append(vertex)
                if let left { join(left, vertex) }
                left = vertex
            }
            if let left, let to, layerOf[to] >= first { join(left, to) }
            containers[container].stretches[stretch] = lanes.map { $0 - items.count }
        }
        Layers.order(&layers, count: before.count, before: before, after: after)
        return arrange(items, layers, before, after, in: container)
    }

    private struct Lane: Hashable {
        var owner: Int
        var layer: Int
        var comesIn: Bool
    }

    /// Gives positions to the ordered layers of one container.
    private mutating func arrange(
        _ items: [Int], _ layers: [[Int]], _ before: [[Int]], _ after: [[Int]], in container: Int
    ) -> (width: Double, height: Double) {
        let heights = before.indices.map { $0 < items.count ? frames[items[$0]].height : Self.laneHeight }
        var centres = [Double](repeating: 0, count: before.count)
        func settle(_ layer: [Int], _ neighbours: [[Int]]) {
            let wanted = layer.map { vertex in
                let list = neighbours[vertex]
                return list.isEmpty ? centres[vertex] : list.reduce(0) { $0 + centres[$1] } / Double(list.count)
            }
            let settled = Layers.centres(wanted: wanted, lengths: layer.map { heights[$0] }, gap: Self.rowGap)
            for (vertex, centre) in zip(layer, settled) { centres[vertex] = centre }
        }
        for layer in layers { settle(layer, before) }
        for _ in 0..<4 {
            for layer in layers.reversed() { settle(layer, after) }
            for layer in layers { settle(layer, before) }
        }
        let top = before.indices.map { centres[$0] - heights[$0] / 2 }.min() ?? 0
        let bottom = before.indices.map { centres[$0] + heights[$0] / 2 }.max() ?? 0
        var lanes = [Frame](repeating: Frame(), count: before.count - items.count)
        var x = 0.0
        for layer in layers {
            let widest = layer.filter { $0 < items.count }.map { frames[items[$0]].width }.max() ?? 0
            for vertex in layer {
                let y = centres[vertex] - heights[vertex] / 2 - top
                if vertex < items.count {
                    frames[items[vertex]].x = x
                    frames[items[vertex]].y = y
                    layerRights[items[vertex]] = x + widest
                } else {
                    lanes[vertex - items.count] = Frame(x: x, y: y, width: widest, height: Self.laneHeight)
                }
            }
            x += widest + Self.layerGap
        }
        containers[container].lanes = lanes
        return (max(0, x - Self.layerGap), bottom - top)
    }

    // MARK: Absolute positions

    private mutating func resolve() {
        var origins = [Point](repeating: Point(x: 0, y: 0), count: containers.count)
        for index in graph.nodes.indices {
            let origin = origins[graph.nodes[index].parent ?? graph.nodes.count]
            frames[index].x += origin.x
            frames[index].y += origin.y
            layerRights[index] += origin.x
            if !children[index].isEmpty {
                origins[index] = Point(x: frames[index].x + Self.padding, y: frames[index].y + Self.titleHeight)
            }
        }
        for (edge, parts) in parts {
            let start = frames[edge.from]
            var stops = [Stop(left: start.right, right: layerRights[edge.from], y: start.middle)]
            for part in parts {
                let origin = origins[part.container]
                for lane in containers[part.container].stretches[part.stretch] ?? [] {
                    let frame = containers[part.container].lanes[lane]
                    let left = origin.x + frame.x
                    stops.append(Stop(left: left, right: left + frame.width, y: origin.y + frame.middle))
                }
                guard part.stretch.to == nil, part.container < frames.count, let last = stops.last else { continue }
                // The line leaves the group at its current height.
                let right = layerRights[part.container]
                stops.append(Stop(left: frames[part.container].right, right: right, y: last.y))
            }
            let end = frames[edge.to]
            stops.append(Stop(left: end.x, right: end.x, y: end.middle))
            lines[edge] = stops
        }
    }
}
