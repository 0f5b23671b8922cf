internal import OpsWire

/// `graph`: a picture of a graph.
enum GraphVerb {
    private static let dot = Option.flag("dot", "for Graphviz")
    private static let svg = Option.flag("svg", "for a browser")

    private static let widthOfAPipe = 100

    static let verb = Verb(
        "graph", .looking, "a picture of a graph",
        forms: ["GRAPH [--dot | --svg | --json]"],
        about: [
            "In the terminal, layers from left to right with lines from each operation to what waits for it. "
                + "What is too wide for that is a tree: everything below the last thing that it waits for."
        ],
        operands: .one(.graph, "GRAPH"), options: [OptionGroup("Drawing", [dot, svg])],
        examples: [
            .init("In the terminal", "opsctl graph g7"),
            .init("In a browser", "opsctl graph g7 --svg > g7.svg"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let ways = [dot, svg, Option.json].filter { arguments.has($0) }
        guard ways.count <= 1 else {
            throw session.refuse("--\(ways[0].name) and --\(ways[1].name) exclude each other", "give one of them")
        }
        let reply = try session.call(GraphRequest.with { $0.graph = arguments.operands[0] })
        if session.wantsJSON {
            try session.row(reply)
            return .done
        }
        let picture = GraphPicture(reply)
        if arguments.has(dot) {
            try DotText.write(picture, to: session.output)
        } else if arguments.has(svg) {
            try GraphSVG.write(picture, to: session.output)
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
