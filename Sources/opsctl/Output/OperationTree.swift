internal import OpsDrawing
internal import OpsWire

/// Graphs, and groups in them, as a tree.
struct OperationTree {
    private let rows: [OperationRow]
    private var children: [Int64: [Int]] = [:]
    private var graphs: [(name: String, roots: [Int])] = []

    init(_ rows: [OperationRow]) {
        self.rows = rows
        let known = Set(rows.map(\.id))
        var graphIndices: [String: Int] = [:]
        for (index, row) in rows.enumerated() {
            if let group = row.group, known.contains(group) {
                children[group, default: []].append(index)
                continue
            }
            if graphIndices[row.graph] == nil {
                graphIndices[row.graph] = graphs.count
                graphs.append((row.graphName.map { "\(row.graph) \($0)" } ?? row.graph, []))
            }
            if let graph = graphIndices[row.graph] { graphs[graph].roots.append(index) }
        }
    }

    func write(_ session: Session, now: Instant) throws(Failure) {
        for graph in graphs {
            try session.output.line(session.style(.bold, graph.name.printable))
            try write(graph.roots, "", session, now)
        }
    }

    private func write(_ indices: [Int], _ prefix: String, _ session: Session, _ now: Instant) throws(Failure) {
        for (position, index) in indices.enumerated() {
            let isLast = position == indices.count - 1
            try session.output.line(line(rows[index], prefix + (isLast ? "└─ " : "├─ "), session, now))
            try write(children[rows[index].id] ?? [], prefix + (isLast ? "   " : "│  "), session, now)
        }
    }

    private func line(_ row: OperationRow, _ branch: String, _ session: Session, _ now: Instant) -> String {
        let standing = row.standing
        let remark = row.remark
        let time = row.age(now: now).map { "  " + $0.text } ?? ""
        let tail = "  \(row.id)\(time)" + (remark.isEmpty ? "" : "  \(remark)")
        let used = DisplayWidth.of(branch) + DisplayWidth.of(standing.symbol) + 1
        let room = session.screen.columns.map { max(8, $0 - used) } ?? .max
        let title = DisplayWidth.fit(row.title, room)
        let rest = DisplayWidth.fit(tail, room == .max ? .max : max(0, room - DisplayWidth.of(title)))
        return session.style(.dim, branch) + session.style(standing.colour, standing.symbol) + " " + title
            + session.style(.dim, rest)
    }
}
