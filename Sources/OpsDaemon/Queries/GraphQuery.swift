internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Reads a graph for a picture, and makes the bytes of the whole answer: to make them takes as long as to read it.
struct GraphQuery: Query {
    private let name: String
    private let caller: Caller
    private var reply: GraphReply?
    private var cursor: SelectionCursor?

    init(_ name: String, _ caller: Caller) {
        self.name = name
        self.caller = caller
    }

    /// Bytes of the nodes, and of the answer that is made of them.
    var heldBytes: Int {
        guard let reply else { return 0 }
        return reply.nodes.count * (MemoryLayout<NodeRow>.stride + 200)
            + reply.edges.count * (MemoryLayout<EdgeRow>.stride + 60)
    }

    /// Maximum number of nodes in the answer, and of edges: a larger graph is unreadable.
    private static let nodes = 100_000
    private static let edges = 1_000_000

    mutating func proceed(_ history: History) throws -> [UInt8]? {
        guard reply != nil, var cursor else {
            try begin(history)
            return nil
        }
        let ids = try cursor.next(history, limit: 1000)
        self.cursor = cursor
        reply?.nodes += try history.nodes(of: ids).map(Self.node)
        if let first = ids.first, let last = ids.last {
            // Operations of other graphs may lie between.
            let own = last.rawValue - first.rawValue >= ids.count ? Set(ids) : nil
            for edge in try history.edges(from: first, to: last) where own?.contains(edge.from) ?? true {
                reply?.edges.append(Self.edge(edge))
            }
        }
        if reply?.edges.count ?? 0 > Self.edges {
            throw ControlError.tooLarge(what: "the number of edges in a picture", limit: Self.edges)
        }
        return cursor.isAtEnd ? reply.map { Reply.frame($0) } : nil
    }

    private mutating func begin(_ history: History) throws {
        let id = try Selections(history, for: caller).graph(name)
        guard let graph = try history.graph(id) else {
            throw ControlError.notFound(kind: "graph", name: name, nearest: nil)
        }
        guard graph.count <= Self.nodes else {
            throw ControlError.tooLarge(what: "the number of operations in a picture", limit: Self.nodes)
        }
        var selection = OpsStore.Selection()
        selection.graph = id
        cursor = SelectionCursor(selection)
        let trace = TraceContext.trace(instance: try history.instance(), graph: graph.id.rawValue)
        reply = .with {
            $0.graph = graph.id.reference
            $0.name = graph.name
            $0.suspended = graph.isSuspended
            $0.trace = trace
        }
    }

    private static func edge(_ edge: Snapshot.Edge) -> EdgeRow {
        .with {
            $0.from = edge.from.rawValue
            $0.on = edge.on.rawValue
            $0.when = edge.when
        }
    }

    private static func node(_ node: GraphNode) -> NodeRow {
        .with {
            $0.id = node.id.rawValue
            $0.name = node.name
            $0.state = StateName(node.state)
            $0.outcome = node.outcome.map { OutcomeName($0) }
            $0.notNeeded = node.outcome == .notNeeded
            $0.group = node.group?.rawValue
            $0.isGroup = node.isGroup
            $0.held = node.isHeld
            $0.scheduled = node.isScheduled
            $0.startedAt = node.startedAt.map(InstantText.format)
            $0.finishedAt = node.finishedAt.map(InstantText.format)
            $0.slot = node.slot.map(Int.init)
            $0.cause = node.cause
        }
    }
}
