/// A graph as pictures need it: nodes in the order of ids, edges between their places.
struct GraphPicture {
    struct Node {
        let id: Int
        let title: String
        let standing: Standing
        let group: Int?
        let isGroup: Bool
        let startedAt: Instant?
        let finishedAt: Instant?
        let cause: String?

        /// How long it ran, or runs.
        func time(now: Instant) -> Span? {
            startedAt.map { (finishedAt ?? now) - $0 }
        }
    }

    struct Edge {
        /// The dependent.
        let from: Int
        let on: Int
        let when: String
    }

    let title: String
    let nodes: [Node]
    /// Both ends are places in `nodes`.
    let edges: [Edge]

    init(_ reply: JSONView) {
        let graph = reply["graph"]?.text ?? ""
        title = (reply["name"]?.text.map { "\(graph) \($0)" } ?? graph).printable
        nodes = (reply["nodes"]?.elements ?? []).map { node in
            let id = node["id"]?.integer ?? 0
            return Node(
                id: id, title: (node["name"]?.text ?? "\(id)").printable,
                standing: Standing(state: node["state"]?.text ?? "", outcome: node["outcome"]?.text),
                group: node["group"]?.integer, isGroup: node["isGroup"]?.flag ?? false,
                startedAt: node["startedAt"]?.instant, finishedAt: node["finishedAt"]?.instant,
                cause: node["cause"]?.text)
        }
        var places: [Int: Int] = [:]
        for (place, node) in nodes.enumerated() { places[node.id] = place }
        edges = (reply["edges"]?.elements ?? []).compactMap { edge in
            guard let from = edge["from"]?.integer.flatMap({ places[$0] }),
                let on = edge["on"]?.integer.flatMap({ places[$0] })
            else { return nil }
            return Edge(from: from, on: on, when: edge["when"]?.text ?? "succeeded")
        }
    }

    /// Places of the dependencies of each node.
    var dependencies: [[Int]] {
        var lists = [[Int]](repeating: [], count: nodes.count)
        for edge in edges { lists[edge.from].append(edge.on) }
        return lists
    }

    /// The place of the group that holds each node, or nil.
    var holders: [Int?] {
        var places: [Int: Int] = [:]
        for (place, node) in nodes.enumerated() { places[node.id] = place }
        return nodes.map { $0.group.flatMap { places[$0] } }
    }

    /// The layer of each node: one below the lowest of what it waits for, children below their group.
    func layers() -> [Int] {
        let above = predecessors()
        var dependents = [[Int]](repeating: [], count: nodes.count)
        var missing = above.map(\.count)
        for (node, list) in above.enumerated() {
            for other in list { dependents[other].append(node) }
        }
        var layers = [Int](repeating: 0, count: nodes.count)
        var free = nodes.indices.filter { missing[$0] == 0 }
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

    /// What a node is drawn below: its dependencies, its group, and what the group waits for.
    func predecessors() -> [[Int]] {
        var lists = dependencies
        for (node, holder) in holders.enumerated() {
            if let holder { lists[node].append(holder) }
        }
        return lists
    }
}
