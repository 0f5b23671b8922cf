internal import OpsWire

/// A graph in the language of Graphviz.
enum DotText {
    static func write(_ picture: GraphPicture, to output: StandardOutput) throws(Failure) {
        try output.line("digraph \(quoted(picture.title)) {")
        try output.line("  rankdir=LR; node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];")
        let holders = picture.holders
        var children = [[Int]](repeating: [], count: picture.nodes.count)
        for (node, holder) in holders.enumerated() {
            if let holder { children[holder].append(node) }
        }
        for node in picture.nodes.indices where holders[node] == nil {
            try write(node, picture, children, "  ", output)
        }
        for edge in picture.edges {
            let style = edge.when == .succeeded ? "" : " [style=dashed, label=\(quoted(edge.when.rawValue))]"
            try output.line("  n\(picture.nodes[edge.on].id) -> n\(picture.nodes[edge.from].id)\(style);")
        }
        try output.line("}")
    }

    private static func write(
        _ index: Int, _ picture: GraphPicture, _ children: [[Int]], _ indent: String, _ output: StandardOutput
    ) throws(Failure) {
        let node = picture.nodes[index]
        let text =
            "\(indent)n\(node.id) [label=\(quoted(node.title, node.standing.word)), fillcolor=\(quoted(colour(node.standing)))];"
        guard node.isGroup else { return try output.line(text) }
        try output.line("\(indent)subgraph cluster_\(node.id) { label=\(quoted(node.title)); style=rounded;")
        try output.line("  " + text)
        for child in children[index] { try write(child, picture, children, indent + "  ", output) }
        try output.line("\(indent)}")
    }

    /// Returns a label with each text on its own line.
    private static func quoted(_ texts: String...) -> String {
        let lines = texts.map { $0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") }
        return "\"" + lines.joined(separator: "\\n") + "\""
    }

    private static func colour(_ standing: Standing) -> String {
        switch standing.word {
        case "succeeded": "#c8e6c9"
        case "failed", "timedOut": "#ffcdd2"
        case "cancelled", "cancelling", "held": "#fff3c4"
        case "skipped": "#eceff1"
        case "interrupted": "#e1bee7"
        case "executing", "frozen": "#b3e5fc"
        case "ready": "#d6e0f5"
        default: "#ffffff"
        }
    }
}
