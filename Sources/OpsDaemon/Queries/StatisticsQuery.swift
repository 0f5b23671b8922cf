internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Reads counts, times and use of the pool for the selected operations.
struct StatisticsQuery: Query {
    private var cursor: SelectionCursor
    private var statistics = Statistics()
    private let workers: Int

    init(_ selection: OpsStore.Selection, workers: Int) {
        cursor = SelectionCursor(selection)
        self.workers = workers
    }

    var heldBytes: Int { statistics.heldBytes }

    mutating func proceed(_ history: History) throws -> JSONObject? {
        let ids = try cursor.next(history, limit: 1000)
        for node in try history.nodes(of: ids) { statistics.add(node) }
        if let first = ids.first, let last = ids.last {
            for edge in try history.edges(from: first, to: last) { statistics.add(edge) }
        }
        return cursor.isAtEnd ? statistics.result(workers: workers) : nil
    }
}
