internal import OpsStore
internal import OpsWire

/// The newest graphs with counts of their operations, a few at a time.
struct GraphListQuery: Query {
    private let limit: Int
    private let name: String?
    private var graphs: [GraphSummary]?
    private var rows: [GraphSummaryRow] = []

    var heldBytes: Int { (graphs?.count ?? 0) * 200 + rows.count * 300 }

    init(_ limit: Int, named name: String?) {
        self.limit = limit
        self.name = name
    }

    mutating func proceed(_ history: History) throws -> [GraphSummaryRow]? {
        guard let graphs else {
            graphs = try history.newestGraphs(limit, named: name)
            return nil
        }
        guard rows.count < graphs.count else { return rows }
        var graph = graphs[rows.count]
        try history.count(&graph)
        rows.append(GraphSummaryRow(graph))
        return nil
    }
}

extension GraphSummaryRow {
    init(_ summary: GraphSummary) {
        self.init()
        graph = summary.graph.reference
        name = summary.name
        user = summary.user
        submittedAt = InstantText.format(summary.submittedAt)
        suspended = summary.isSuspended
        pending = summary.pending
        ready = summary.ready
        scheduled = summary.scheduled
        held = summary.held
        executing = summary.executing
        finished = summary.finished
        unsuccessful = summary.unsuccessful
    }
}
