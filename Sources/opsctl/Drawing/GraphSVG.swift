internal import OpsWire

/// A graph as a picture that a browser shows.
enum GraphSVG {
    static func write(_ picture: GraphPicture, to output: StandardOutput) throws(Failure) {
        let layout = GraphLayout(picture)
        let now = Instant.now
        try SVGText.open(width: layout.width, height: layout.height, title: picture.title, output)
        for edge in picture.edges { try write(layout, from: edge.on, to: edge.from, when: edge.when.rawValue, output) }
        for (node, holder) in picture.holders.enumerated() {
            if let holder { try write(layout, from: holder, to: node, when: "group", output) }
        }
        for (index, node) in picture.nodes.enumerated() { try write(node, layout.boxes[index], now, output) }
        try output.line("</svg>")
    }

    private static func write(
        _ layout: GraphLayout, from left: Int, to right: Int, when: String, _ output: StandardOutput
    ) throws(Failure) {
        let half = GraphLayout.boxHeight / 2
        let start = layout.boxes[left]
        let end = layout.boxes[right]
        var x = start.x + start.width
        var y = start.y + half
        var path = "M\(x) \(y)"
        func curve(to nextX: Int, _ nextY: Int) {
            let bend = max(24, (nextX - x) / 2)
            path += " C\(x + bend) \(y) \(nextX - bend) \(nextY) \(nextX) \(nextY)"
            (x, y) = (nextX, nextY)
        }
        for place in layout.route(from: left, to: right) {
            curve(to: place.x, place.y + half)
            x = place.x + place.width
            path += " H\(x)"
        }
        curve(to: end.x - 3, end.y + half)
        let dash = when == "succeeded" ? "" : " stroke-dasharray=\"\(when == "group" ? "2 4" : "6 3")\""
        let arrow = when == "group" ? "" : " marker-end=\"url(#arrow)\""
        try output.line(
            "<path d=\"\(path)\" fill=\"none\" stroke=\"#90a4ae\"\(dash)\(arrow)>"
                + "<title>\(SVGText.escaped(when))</title></path>")
    }

    private static func write(
        _ node: GraphPicture.Node, _ box: GraphLayout.Box, _ now: Instant, _ output: StandardOutput
    ) throws(Failure) {
        let stroke = Palette.stroke(node.standing)
        let about = "\(node.id) \(node.title): \(node.standing.word)" + (node.cause.map { ", \($0)" } ?? "")
        let small = "\(node.standing.symbol) \(node.standing.word)" + (node.time(now: now).map { " " + $0.text } ?? "")
        let title = DisplayWidth.fit(node.title, max(4, (box.width - 20) / 8))
        try output.line("<g><title>\(SVGText.escaped(about.printable))</title>")
        try output.line(
            "<rect x=\"\(box.x)\" y=\"\(box.y)\" width=\"\(box.width)\" height=\"\(GraphLayout.boxHeight)\" rx=\"7\" "
                + "fill=\"\(Palette.fill(node.standing))\" stroke=\"\(stroke)\"\(node.isGroup ? " stroke-width=\"2.5\"" : "")/>"
        )
        let middle = box.x + box.width / 2
        try output.line(
            "<text x=\"\(middle)\" y=\"\(box.y + 17)\" text-anchor=\"middle\" class=\"name\">\(SVGText.escaped(title))</text>"
        )
        try output.line(
            "<text x=\"\(middle)\" y=\"\(box.y + 32)\" text-anchor=\"middle\" class=\"small\" fill=\"\(stroke)\">\(SVGText.escaped(small))</text></g>"
        )
    }
}

/// What drawings have in common.
enum SVGText {
    static func open(width: Int, height: Int, title: String, _ output: StandardOutput) throws(Failure) {
        try output.line(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\">"
        )
        try output.line("<title>\(escaped(title))</title>")
        try output.line(
            "<style>text{font-family:system-ui,sans-serif}.name{font-size:13px;font-weight:600}.small{font-size:10px}</style>"
        )
        try output.line(
            "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
                + "<path d=\"M0 0L8 4L0 8z\" fill=\"#90a4ae\"/></marker></defs>")
        try output.line("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>")
    }

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
