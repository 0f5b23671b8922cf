internal import OpsWire

/// A graph for pictures: nodes in the order of ids, and edges between their indices.
struct GraphPicture {
    struct Node {
        let id: Int64
        let title: String
        let standing: Standing
        let group: Int64?
        let isGroup: Bool
        let startedAt: Instant?
        let finishedAt: Instant?
        let cause: String?

        /// Returns how long it ran, or has run so far.
        func time(now: Instant) -> Span? {
            startedAt.map { (finishedAt ?? now) - $0 }
        }
    }

    struct Edge {
        /// The dependent.
        let from: Int
        let on: Int
        let when: EdgeCondition
    }

    let title: String
    let nodes: [Node]
    /// Edges; both ends are indices in `nodes`.
    let edges: [Edge]

    init(_ reply: GraphReply) {
        title = (reply.name.map { "\(reply.graph) \($0)" } ?? reply.graph).printable
        nodes = reply.nodes.map { node in
            Node(
                id: node.id, title: (node.name ?? "\(node.id)").printable,
                standing: Standing(
                    state: node.state, outcome: node.outcome, notNeeded: node.notNeeded, isHeld: node.held,
                    isScheduled: node.scheduled),
                group: node.group,
                isGroup: node.isGroup, startedAt: node.startedAt.instant, finishedAt: node.finishedAt.instant,
                cause: node.cause)
        }
        var indices: [Int64: Int] = [:]
        for (index, node) in nodes.enumerated() { indices[node.id] = index }
        edges = reply.edges.compactMap { edge in
            guard let from = indices[edge.from], let on = indices[edge.on] else { return nil }
            return Edge(from: from, on: on, when: edge.when)
        }
    }

    /// Indices of the dependencies of each node.
    var dependencies: [[Int]] {
        var lists = [[Int]](repeating: [], count: nodes.count)
        for edge in edges { lists[edge.from].append(edge.on) }
        return lists
    }

    /// Index of the group that contains each node, or nil.
    var holders: [Int?] {
        var indices: [Int64: Int] = [:]
        for (index, node) in nodes.enumerated() { indices[node.id] = index }
        return nodes.map { $0.group.flatMap { indices[$0] } }
    }

    /// Returns the nodes after which each node can start: its dependencies and its group. A group that it waits for is
    /// replaced by the last nodes in that group.
    func sequence() -> [[Int]] {
        let holders = holders
        let dependencies = dependencies
        var isFollowedInside = [Bool](repeating: false, count: nodes.count)
        for (node, list) in dependencies.enumerated() {
            for other in list where holders[other] == holders[node] { isFollowedInside[other] = true }
        }
        var lasts = [[Int]](repeating: [], count: nodes.count)
        // Children come after their group, so inner groups are complete before outer ones.
        for node in nodes.indices.reversed() {
            guard let holder = holders[node], !isFollowedInside[node] else { continue }
            lasts[holder] += lasts[node].isEmpty ? [node] : lasts[node]
        }
        return nodes.indices.map { node in
            let before = dependencies[node].flatMap { lasts[$0].isEmpty ? [$0] : lasts[$0].sorted() }
            let isFirstInside = !dependencies[node].contains { holders[$0] == holders[node] }
            return before + (isFirstInside ? holders[node].map { [$0] } ?? [] : [])
        }
    }

    /// Conditions of each node on its dependencies, except the usual one that they succeed.
    var conditions: [String?] {
        var conditions = [String?](repeating: nil, count: nodes.count)
        for edge in edges where edge.when != .succeeded {
            let known = conditions[edge.from]
            conditions[edge.from] = known == nil || known == edge.when.rawValue ? edge.when.rawValue : "mixed"
        }
        return conditions
    }

    /// Returns the nodes that stand left of each node: its dependencies, its group, and the dependencies of its group.
    func predecessors() -> [[Int]] {
        var lists = dependencies
        for (node, holder) in holders.enumerated() {
            if let holder { lists[node].append(holder) }
        }
        return lists
    }
}
