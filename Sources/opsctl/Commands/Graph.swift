internal import OpsDrawing
internal import OpsWire

/// `graph`: draws a graph.
enum GraphVerb {
    private static let dot = Option.flag("dot", "write the graph for Graphviz")
    private static let svg = Option.flag("svg", "write a picture for a browser")

    private static let widthOfAPipe = 100

    static let verb = Verb(
        "graph", .looking, "draw a graph",
        forms: ["[GRAPH] [--dot | --svg | --json]"],
        about: [
            "Without an argument it lists the newest graphs.",
            "In the terminal, the graph has layers from left to right, with lines from each operation to those that wait for it. "
                + "Wide graphs are drawn as a tree, each operation under the last one it waits for.",
            "The picture for a browser draws groups as boxes and eight or more equal operations of a large graph as one box "
                + "with counts. It marks the longest path: the last operation to finish, the last one it waited for, and so on.",
        ],
        operands: .perhaps(.graph, "GRAPH"), options: [OptionGroup("Drawing", [dot, svg])],
        examples: [
            .init("In the terminal", "opsctl graph g7"),
            .init("In a browser", "opsctl graph g7 --svg > g7.svg"),
        ],
        action: run)

    private static func list(_ session: Session) throws(Failure) -> ExitStatus {
        let graphs = try session.call(ListGraphsRequest()).graphs
        if session.wantsJSON {
            for graph in graphs { try session.row(graph) }
            return .done
        }
        let now = Instant.now
        var table = Table(
            [
                .init("GRAPH"), .init("NAME", elastic: true), .init("DONE", right: true), .init("STATE", elastic: true),
                .init("USER", rank: 1), .init("SUBMITTED", rank: 2),
            ], style: session.style, columns: session.screen.columns)
        for graph in graphs {
            let counts =
                [
                    (graph.executing, "executing"), (graph.ready, "ready"), (graph.scheduled, "scheduled"),
                    (graph.held, "held"), (graph.pending, "pending"), (graph.unsuccessful, "unsuccessful"),
                ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" } + (graph.suspended ? ["suspended"] : [])
            let total = graph.pending + graph.ready + graph.scheduled + graph.held + graph.executing + graph.finished
            let standing = counts.isEmpty ? "succeeded" : counts.joined(separator: ", ")
            try table.add(
                [
                    .init(graph.graph, .bold), .init((graph.name ?? "").printable), .init("\(graph.finished)/\(total)"),
                    .init(standing, graph.unsuccessful > 0 ? .red : nil), .init(graph.user),
                    .init(graph.submittedAt.instant?.text(now: now) ?? ""),
                ], to: session.output)
        }
        try table.finish(session.output)
        return .done
    }

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let ways = [dot, svg, Option.json].filter { arguments.has($0) }
        guard ways.count <= 1 else {
            throw session.refuse("--\(ways[0].name) and --\(ways[1].name) cannot be used together", "leave one out")
        }
        guard let graph = arguments.operands.first else {
            guard !arguments.has(dot), !arguments.has(svg) else {
                throw session.refuse("GRAPH is missing", "name a graph")
            }
            return try list(session)
        }
        let reply = try session.call(GraphRequest.with { $0.graph = graph })
        if session.wantsJSON {
            try session.row(reply)
            return .done
        }
        let picture = GraphPicture(reply)
        if arguments.has(dot) {
            try DotText.write(picture, to: session.output)
        } else if arguments.has(svg) {
            try session.output.write(
                Array(GraphSVG(DrawnGraph(picture), now: Instant.now.nanoseconds).text().utf8))
        } else {
            let columns = session.screen.columns ?? widthOfAPipe
            if let drawing = GraphDrawing.fitting(columns, picture) {
                try drawing.write(session)
            } else {
                try GraphTree(picture, session).write()
            }
        }
        return .done
    }
}
