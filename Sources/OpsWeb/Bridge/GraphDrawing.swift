internal import OpsDrawing
internal import OpsSystem
internal import OpsWire

/// The picture of a graph, as `opsctl graph --svg` draws it.
enum GraphDrawing {
    /// Returns the picture for a reply of the method Graph, or the error that the reply has.
    static func response(reply message: [UInt8]) -> HTTPResponse {
        do {
            let reply = try ReceivedReply(frame: message, isTolerant: true)
            guard reply.error == nil else { return HTTPResponse(reply: message) }
            let graph = DrawnGraph(try reply.result())
            guard let text = GraphSVG.page(graph, now: Clock.read().wall.nanoseconds) else {
                return .problem(
                    422, "this graph has too many different operations for a picture; the table has them all")
            }
            return HTTPResponse(200, type: "image/svg+xml", Array(text.utf8))
        } catch {
            return .problem(502, "the daemon sent a graph that this opsd-web does not understand")
        }
    }
}

extension DrawnGraph {
    init(_ reply: GraphReply) {
        var indices: [Int64: Int] = [:]
        for (index, node) in reply.nodes.enumerated() { indices[node.id] = index }
        self.init(
            title: reply.name.map { "\(reply.graph) \($0)" } ?? reply.graph,
            operations: reply.nodes.map { node in
                DrawnOperation(
                    id: Int(node.id), title: node.name ?? "\(node.id)",
                    status: DrawnStatus(node),
                    group: node.group.flatMap { indices[$0] }, isGroup: node.isGroup, cause: node.cause,
                    startedAt: node.startedAt.flatMap(InstantText.parse)?.nanoseconds,
                    finishedAt: node.finishedAt.flatMap(InstantText.parse)?.nanoseconds)
            },
            edges: reply.edges.compactMap { edge in
                guard let from = indices[edge.on], let to = indices[edge.from] else { return nil }
                return DrawnEdge(from: from, to: to, when: edge.when.rawValue)
            })
    }
}

extension DrawnStatus {
    init(_ node: NodeRow) {
        let (symbol, tone): (String, Tone) =
            switch (node.state, node.outcome) {
            case (_, OutcomeName.succeeded?): ("✓", .succeeded)
            case (_, OutcomeName.failed?): ("✗", .failed)
            case (_, OutcomeName.timedOut?): ("✗", .timedOut)
            case (_, OutcomeName.cancelled?): ("⊘", .cancelled)
            case (_, OutcomeName.interrupted?): ("‼", .interrupted)
            case (_, OutcomeName.skipped?): ("↷", .waiting)
            case (.executing, _): ("●", .executing)
            case _ where node.held: ("⏸", .held)
            case _ where node.scheduled: ("◷", .waiting)
            case (.ready, _): ("○", .ready)
            default: ("·", .waiting)
            }
        let state = node.held ? "held" : node.scheduled ? "scheduled" : node.state.rawValue
        self.init(word: node.outcome?.rawValue ?? state, symbol: symbol, tone: tone)
    }
}
