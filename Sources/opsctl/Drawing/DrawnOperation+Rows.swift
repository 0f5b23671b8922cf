internal import OpsDrawing
internal import OpsWire

extension DrawnGraph {
    /// Converts a graph for pictures outside of the terminal.
    init(_ picture: GraphPicture) {
        let holders = picture.holders
        self.init(
            title: picture.title,
            operations: picture.nodes.enumerated().map { index, node in
                DrawnOperation(
                    id: Int(node.id), title: node.title, status: DrawnStatus(node.standing), group: holders[index],
                    isGroup: node.isGroup, cause: node.cause?.printable, startedAt: node.startedAt?.nanoseconds,
                    finishedAt: node.finishedAt?.nanoseconds)
            }, edges: picture.edges.map { DrawnEdge(from: $0.on, to: $0.from, when: $0.when.rawValue) })
    }

    /// Converts a selection of operations, with the dependencies between them.
    init(title: String, _ rows: [OperationRow]) {
        var indices: [Int64: Int] = [:]
        for (index, row) in rows.enumerated() { indices[row.id] = index }
        self.init(
            title: title,
            operations: rows.map { row in
                DrawnOperation(
                    id: Int(row.id), title: row.title, status: DrawnStatus(row.standing),
                    group: row.group.flatMap { indices[$0] }, isGroup: row.isGroup, cause: row.cause?.printable,
                    readyAt: row.readyAt.instant?.nanoseconds, startedAt: row.startedAt.instant?.nanoseconds,
                    finishedAt: row.finishedAt.instant?.nanoseconds)
            },
            edges: rows.enumerated().flatMap { index, row in
                row.dependencies.compactMap { dependency in
                    indices[dependency.id].map { DrawnEdge(from: $0, to: index, when: dependency.when.rawValue) }
                }
            })
    }
}

extension DrawnStatus {
    init(_ standing: Standing) {
        let tone: Tone =
            switch standing.word {
            case "succeeded": .succeeded
            case "failed": .failed
            case "timedOut": .timedOut
            case "interrupted": .interrupted
            case "cancelled", "cancelling": .cancelled
            case "executing", "frozen": .executing
            case "ready": .ready
            case "held": .held
            default: .waiting
            }
        self.init(word: standing.word, symbol: standing.symbol, tone: tone)
    }
}

extension Tone {
    /// Colour of the tone in a terminal.
    var colour: Style.Colour {
        switch self {
        case .succeeded: .green
        case .failed, .timedOut: .red
        case .interrupted: .magenta
        case .cancelled, .held: .yellow
        case .executing: .cyan
        case .ready: .blue
        case .waiting: .dim
        }
    }
}
