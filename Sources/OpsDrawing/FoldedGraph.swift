/// A graph whose equal operations are folded into one node each, so that a thousand of them make a picture that fits a page.
struct FoldedGraph {
    struct Node {
        var title: String
        /// Index of the node of the group that contains this one.
        var parent: Int?
        var isGroup: Bool
        /// Indices of the operations that the node stands for: one, unless it is folded.
        var operations: [Int]

        var isFolded: Bool { operations.count > 1 }
    }

    struct Edge: Hashable {
        var from: Int
        var to: Int
    }

    private(set) var nodes: [Node] = []
    /// Outcomes that the dependencies between two nodes require.
    private(set) var edges: [Edge: Set<String>] = [:]
    /// The node of each operation.
    private var nodeOf: [Int]

    /// Smallest number of equal operations that are folded.
    private static let fewestFolded = 8
    /// Largest number of operations of a graph that is drawn without folds.
    private static let mostUnfolded = 40

    init(_ graph: DrawnGraph) {
        nodeOf = [Int](repeating: 0, count: graph.operations.count)
        let folds = graph.operations.count > Self.mostUnfolded ? Self.folds(of: graph) : [:]
        for (index, operation) in graph.operations.enumerated() {
            if let fold = folds[index], fold.first != index {
                nodeOf[index] = nodeOf[fold[0]]
                continue
            }
            let members = folds[index] ?? [index]
            nodeOf[index] = nodes.count
            nodes.append(
                Node(
                    title: Self.title(members.map { graph.operations[$0].title }),
                    parent: operation.group.map { nodeOf[$0] }, isGroup: operation.isGroup, operations: members))
        }
        for edge in graph.edges {
            let folded = self.edge(for: edge)
            if folded.from != folded.to { edges[folded, default: []].insert(edge.when) }
        }
    }

    /// Returns the edge between nodes that stands for a dependency.
    func edge(for edge: DrawnEdge) -> Edge { Edge(from: nodeOf[edge.from], to: nodeOf[edge.to]) }

    // MARK: Folds

    private struct Kind: Hashable {
        var group: Int?
        var layer: Int
        var stem: String
    }

    /// Returns, for each folded operation, all operations that are drawn as one with it. They are in the same group and
    /// layer, and their titles differ only in numbers. No edge runs between two of them, so folding makes no cycle.
    private static func folds(of graph: DrawnGraph) -> [Int: [Int]] {
        var predecessors = [[Int]](repeating: [], count: graph.operations.count)
        for edge in graph.edges { predecessors[edge.to].append(edge.from) }
        for (index, operation) in graph.operations.enumerated() {
            if let group = operation.group { predecessors[index].append(group) }
        }
        let layers = Layers.longestPaths(predecessors)
        var kinds: [Kind: [Int]] = [:]
        for (index, operation) in graph.operations.enumerated() where !operation.isGroup {
            let kind = Kind(group: operation.group, layer: layers[index], stem: stem(operation.title))
            kinds[kind, default: []].append(index)
        }
        var folds: [Int: [Int]] = [:]
        for members in kinds.values where members.count >= fewestFolded {
            for member in members { folds[member] = members }
        }
        return folds
    }

    /// Returns a title with each number replaced by the same mark.
    private static func stem(_ title: String) -> String {
        var stem = ""
        var isInNumber = false
        for character in title.unicodeScalars {
            let isDigit = ("0"..."9").contains(character)
            if !isDigit { stem.unicodeScalars.append(character) } else if !isInNumber { stem += "#" }
            isInNumber = isDigit
        }
        return stem
    }

    private static func title(_ titles: [String]) -> String {
        guard let first = titles.first, let last = titles.last, titles.count > 1 else { return titles.first ?? "" }
        return first == last ? first : "\(first) … \(last)"
    }
}
