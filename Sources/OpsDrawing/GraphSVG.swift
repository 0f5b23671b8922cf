/// A graph as an SVG picture: boxes from left to right, groups around their children, many equal operations as one box
/// with counts, the longest path in bold, and a legend.
public struct GraphSVG {
    private let graph: DrawnGraph
    private let folded: FoldedGraph
    /// Titles of the boxes, shortened.
    private let titles: [String]
    private let layout: NestedLayout
    private let critical: Set<FoldedGraph.Edge>
    private let now: Int64

    private static let margin = 24.0
    private static let headHeight = 44.0
    private static let legendHeight = 44.0
    private static let nodeHeight = 40.0
    private static let foldHeight = 58.0
    private static let smallCell = 6.2

    /// - Parameter now: the instant until which running operations are drawn, in nanoseconds since 1970.
    public init(_ graph: DrawnGraph, now: Int64) { self.init(graph, FoldedGraph(graph), now) }

    private init(_ graph: DrawnGraph, _ folded: FoldedGraph, _ now: Int64) {
        self.graph = graph
        self.now = now
        self.folded = folded
        let titles = folded.nodes.map { DisplayWidth.fitName($0.title, 34) }
        self.titles = titles
        critical = Set(graph.longestPath().edges.map(folded.edge(for:)))
        let small = folded.nodes.map { Self.smallText($0, graph, now) }
        func width(_ index: Int) -> Double {
            let below = Double(min(44, DisplayWidth.of(small[index]))) * Self.smallCell
            return max(112, max(Self.width(ofName: titles[index]), below) + 28)
        }
        layout = NestedLayout(
            folded,
            size: { (width($0), folded.nodes[$0].isFolded ? Self.foldHeight : Self.nodeHeight) },
            titleWidth: { index in
                Self.width(ofName: titles[index]) + Double(DisplayWidth.of(small[index])) * Self.smallCell + 40
            })
    }

    /// Returns how wide a name is in the bold font of names. Capitals are wider than other characters.
    private static func width(ofName name: String) -> Double {
        name.reduce(0) { $0 + Double(DisplayWidth.of($1)) * ("A"..."Z" ~= $1 ? 10.4 : 8.6) }
    }

    /// Reader of a picture.
    enum Reader {
        /// A viewer of files: the picture contains its colours.
        case viewer
        /// A page that has the colours, and finds the ids of the operations at their boxes.
        case page
    }

    /// Largest number of boxes of a picture in a page.
    static let pageLimit = 2000

    /// Returns the text of a picture in a page; nil if it would have more boxes than a page can show.
    public static func page(_ graph: DrawnGraph, now: Int64) -> String? {
        let folded = FoldedGraph(graph)
        return folded.nodes.count > pageLimit ? nil : GraphSVG(graph, folded, now).text(.page)
    }

    /// Returns the text of the picture.
    public func text() -> String { text(.viewer) }

    private func text(_ reader: Reader) -> String {
        let legend = legend()
        let width = max(layout.width + 2 * Self.margin, legend.width, 360)
        let height = layout.height + Self.headHeight + Self.legendHeight + Self.margin
        var svg = SVGWriter(width: width, height: height, title: graph.title, reader)
        svg.line(
            "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
                + "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker></defs>"
        )
        svg.words(graph.title, x: Self.margin, y: 28, "title")
        svg.line("<g transform=\"translate(\(SVGWriter.number(Self.margin)) \(SVGWriter.number(Self.headHeight)))\">")
        let containers = Set(folded.nodes.compactMap(\.parent))
        for index in folded.nodes.indices where containers.contains(index) { container(index, &svg) }
        for (edge, whens) in folded.edges.sorted(by: { ($0.key.from, $0.key.to) < ($1.key.from, $1.key.to) }) {
            line(edge, whens, &svg)
        }
        for index in folded.nodes.indices where !containers.contains(index) { node(index, &svg) }
        svg.line("</g>")
        legend.write(&svg, y: height - 22)
        svg.end()
        return svg.text
    }

    // MARK: Boxes

    private func status(_ index: Int) -> DrawnStatus { graph.operations[folded.nodes[index].operations[0]].status }

    private func ids(_ index: Int) -> [Int] { folded.nodes[index].operations.map { graph.operations[$0].id } }

    private func about(_ index: Int) -> String {
        let operation = graph.operations[folded.nodes[index].operations[0]]
        return "\(operation.id) \(operation.title): \(operation.status.word)"
            + (operation.cause.map { ", \($0)" } ?? "")
    }

    private static func smallText(_ node: FoldedGraph.Node, _ graph: DrawnGraph, _ now: Int64) -> String {
        if node.isFolded {
            return StatusCount.all(node.operations.map { graph.operations[$0].status }).map(\.text)
                .joined(separator: "  ")
        }
        let operation = graph.operations[node.operations[0]]
        let time = operation.runningTime(now: now).map { "  " + DurationLabel.text($0) } ?? ""
        return "\(operation.status.symbol) \(operation.status.word)\(time)"
    }

    private func container(_ index: Int, _ svg: inout SVGWriter) {
        let frame = layout.frames[index]
        svg.group(title: about(index), ids: ids(index)) { svg in
            svg.box(x: frame.x, y: frame.y, width: frame.width, height: frame.height, radius: 6, "panel")
            svg.words(titles[index], x: frame.x + 12, y: frame.y + 17, "name")
            svg.words(
                Self.smallText(folded.nodes[index], graph, now),
                x: frame.x + 24 + Self.width(ofName: titles[index]), y: frame.y + 17,
                status(index).tone.name + "text")
        }
    }

    private func node(_ index: Int, _ svg: inout SVGWriter) {
        let node = folded.nodes[index]
        let frame = layout.frames[index]
        let title = node.isFolded ? "\(node.operations.count) operations: \(node.title)" : about(index)
        svg.group(title: title, ids: ids(index)) { svg in
            let tone = node.isFolded ? Tone.waiting : status(index).tone
            if node.isFolded {
                // A stack of boxes.
                for step in [6.0, 3.0] {
                    svg.box(
                        x: frame.x + step, y: frame.y - step, width: frame.width, height: frame.height, "\(tone.name)")
                }
            }
            svg.box(x: frame.x, y: frame.y, width: frame.width, height: frame.height, "\(tone.name)")
            svg.words(titles[index], x: frame.x + 12, y: frame.y + 17, "name")
            svg.words(
                Self.smallText(node, graph, now), x: frame.x + 12, y: frame.y + 32,
                node.isFolded ? "muted" : tone.name + "text")
            if node.isFolded { share(node, frame, &svg) }
        }
    }

    /// Draws the share of each state among the folded operations.
    private func share(_ node: FoldedGraph.Node, _ frame: NestedLayout.Frame, _ svg: inout SVGWriter) {
        let length = frame.width - 24
        svg.box(x: frame.x + 12, y: frame.y + 42, width: length, height: 6, radius: 2, "track")
        var x = frame.x + 12
        for count in StatusCount.all(node.operations.map { graph.operations[$0].status })
        where count.status.tone != .waiting {
            let part = length * Double(count.count) / Double(node.operations.count)
            svg.box(x: x, y: frame.y + 42, width: part, height: 6, radius: 2, count.status.tone.name + "bar")
            x += part
        }
    }

    // MARK: Lines

    private func line(_ edge: FoldedGraph.Edge, _ whens: Set<String>, _ svg: inout SVGWriter) {
        guard let stops = layout.lines[edge], let first = stops.first else { return }
        func number(_ value: Double) -> String { SVGWriter.number(value) }
        var path = "M\(number(first.left)) \(number(first.y))H\(number(first.right))"
        var (x, y) = (first.right, first.y)
        for (index, stop) in stops.enumerated().dropFirst() {
            let left = index == stops.count - 1 ? stop.left - 2 : stop.left
            if stop.y == y {
                path += "H\(number(left))"
            } else {
                // A line that runs against the order of layers needs room to turn.
                let bend = max(24, (left - x) / 2)
                path += "C\(number(x + bend)) \(number(y)) \(number(left - bend)) \(number(stop.y)) "
                path += "\(number(left)) \(number(stop.y))"
            }
            if stop.right > left { path += "H\(number(stop.right))" }
            (x, y) = (max(left, stop.right), stop.y)
        }
        var classes = "line"
        if critical.contains(edge) { classes += " critical" }
        if whens != ["succeeded"] { classes += " dashed" }
        let title =
            "\(folded.nodes[edge.to].title) waits until \(folded.nodes[edge.from].title) has \(Self.words(whens))"
        svg.line(
            "<path d=\"\(path)\" class=\"\(classes)\" marker-end=\"url(#arrow)\"><title>\(SVGWriter.escaped(title))</title></path>"
        )
    }

    private static func words(_ whens: Set<String>) -> String { whens.sorted().joined(separator: " or ") }

    // MARK: Legend

    private func legend() -> Legend {
        var entries = StatusCount.all(graph.operations.filter { !$0.isGroup }.map(\.status)).map {
            Legend.Entry(mark: .tone($0.status.tone), text: "\($0.status.symbol) \($0.status.word) \($0.count)")
        }
        if !critical.isEmpty { entries.append(.init(mark: .line("critical"), text: "longest path")) }
        let whens = Set(folded.edges.values.flatMap { $0 }).subtracting(["succeeded"])
        if !whens.isEmpty { entries.append(.init(mark: .line("dashed"), text: "after " + Self.words(whens))) }
        return Legend(entries: entries)
    }
}

/// Number of operations that share a status.
struct StatusCount {
    var status: DrawnStatus
    var count: Int

    var text: String { "\(status.symbol) \(count) \(status.word)" }

    /// Returns the counts in the order of tones.
    static func all(_ statuses: [DrawnStatus]) -> [StatusCount] {
        var counts: [StatusCount] = []
        for status in statuses {
            if let index = counts.firstIndex(where: { $0.status == status }) {
                counts[index].count += 1
            } else {
                counts.append(StatusCount(status: status, count: 1))
            }
        }
        return counts.sorted { ($0.status.tone.rawValue, $0.status.word) < ($1.status.tone.rawValue, $1.status.word) }
    }
}

/// A line of explanations below a picture.
struct Legend {
    struct Entry {
        enum Mark {
            case tone(Tone)
            /// A line with this CSS class.
            case line(String)
        }
        var mark: Mark
        var text: String
        var width: Double { 22 + Double(DisplayWidth.of(text)) * 6.4 + 16 }
    }
    var entries: [Entry]

    var width: Double { entries.reduce(48) { $0 + $1.width } }

    func write(_ svg: inout SVGWriter, y: Double) {
        var x = 24.0
        for entry in entries {
            switch entry.mark {
            case .tone(let tone): svg.box(x: x, y: y - 9, width: 14, height: 11, radius: 2, tone.name)
            case .line(let name):
                svg.path("M\(SVGWriter.number(x)) \(SVGWriter.number(y - 4))h16", "line \(name)")
            }
            svg.words(entry.text, x: x + 22, y: y, "muted")
            x += entry.width
        }
    }
}
