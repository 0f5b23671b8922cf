/// The start or the end of an operation, as an event to wait for.
struct WaitNode: Hashable, Codable {
    let operation: OperationIndex
    let isEnd: Bool
    static func start(_ operation: OperationIndex) -> WaitNode { WaitNode(operation: operation, isEnd: false) }
    static func end(_ operation: OperationIndex) -> WaitNode { WaitNode(operation: operation, isEnd: true) }
}

extension EdgeCondition {
    /// Returns the event of an operation that an edge with this condition waits for.
    func node(of operation: OperationIndex) -> WaitNode { self == .started ? .start(operation) : .end(operation) }
}

extension Registry {
    /// Returns the events that must come before another, one step away.
    func waits(of node: WaitNode) -> [WaitNode] {
        var result: [WaitNode] = []
        let row = table[node.operation]
        if node.isEnd {
            if row.state != .executing { result.append(.start(node.operation)) }
            if let group = row.group {
                for id in groups[group].children {
                    if let child = unfinished(OperationID(id)) { result.append(.end(child)) }
                }
            }
            return result
        }
        guard row.state != .executing else { return [] }
        for edge in graph.dependencies(of: row) {
            if let on = graph[edge].on { result.append(graph[edge].when.node(of: on)) }
        }
        if let parent = row.parent, table[parent].state != .executing { result.append(.start(parent)) }
        for other in barriers.waits(of: node.operation, in: table) { result.append(.end(other)) }
        return result
    }
}
