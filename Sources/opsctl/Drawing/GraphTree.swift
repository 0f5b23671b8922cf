internal import OpsDrawing

/// A graph as a tree in the terminal, with each operation below the last one that it waits for.
struct GraphTree {
    private let picture: GraphPicture
    private let session: Session
    private let now = Instant.now
    /// Largest number of further dependencies that are named.
    private static let mostNames = 8
    private var children: [[Int]]
    private var roots: [Int] = []
    /// Further dependencies of each node, besides the one above it.
    private var others: [[Int]]

    init(_ picture: GraphPicture, _ session: Session) {
        self.picture = picture
        self.session = session
        children = [[Int]](repeating: [], count: picture.nodes.count)
        others = [[Int]](repeating: [], count: picture.nodes.count)
        let layers = Layering.layers(picture.predecessors())
        let dependencies = picture.dependencies
        let holders = picture.holders
        for node in picture.nodes.indices {
            // Children of one group stay together; a group stands where an operation without children would.
            let near = dependencies[node].filter { holders[$0] == holders[node] }
            let parent =
                near.max { (layers[$0], $1) < (layers[$1], $0) } ?? holders[node]
                ?? dependencies[node].max { layers[$0] < layers[$1] }
            others[node] = dependencies[node].filter { $0 != parent }
            if let parent { children[parent].append(node) } else { roots.append(node) }
        }
    }

    func write() throws(Failure) {
        try session.output.line(session.style(.bold, picture.title))
        var stack: [(node: Int, prefix: String, isLast: Bool)] = []
        func push(_ nodes: [Int], _ prefix: String) {
            for (place, node) in nodes.enumerated().reversed() {
                stack.append((node, prefix, place == nodes.count - 1))
            }
        }
        // An explicit stack instead of recursion, because a chain may be very long.
        push(roots, "")
        while let (node, prefix, isLast) = stack.popLast() {
            try session.output.line(line(node, prefix + (isLast ? "└─ " : "├─ ")))
            push(children[node], prefix + (isLast ? "   " : "│  "))
        }
    }

    private func line(_ index: Int, _ branch: String) -> String {
        let node = picture.nodes[index]
        let style = session.style
        var tail = ""
        if let time = node.time(now: now) { tail += "  " + time.text }
        if let cause = node.cause, node.standing.word != "succeeded" { tail += "  " + cause.printable }
        if !others[index].isEmpty {
            let shown = others[index].prefix(Self.mostNames).map { picture.nodes[$0].title }.joined(separator: ", ")
            let left = others[index].count - Self.mostNames
            tail += "  also after " + shown + (left > 0 ? " and \(left) more" : "")
        }
        let branch = session.screen.columns.map { shortened(branch, $0 / 2) } ?? branch
        let used = DisplayWidth.of(branch) + 2
        let room = session.screen.columns.map { max(12, $0 - used) } ?? .max
        let title = DisplayWidth.fitName(node.title, room)
        // A few cells are too few for the rest.
        let free = room - DisplayWidth.of(title)
        let left = room == .max ? .max : free < 8 ? 0 : free
        return style(.dim, branch) + style(node.standing.colour, node.standing.symbol) + " "
            + style(node.isGroup ? .bold : nil, title) + style(.dim, DisplayWidth.fit(tail, left))
    }

    /// Returns a deep branch without its beginning, so that the names at its end stay.
    private func shortened(_ branch: String, _ cells: Int) -> String {
        let count = branch.count
        return count <= max(6, cells) ? branch : "…" + branch.suffix(max(6, cells) - 1)
    }
}
