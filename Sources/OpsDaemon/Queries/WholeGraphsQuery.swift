internal import OpsCore
internal import OpsStore

/// Finds the graphs of which all operations are selected.
struct WholeGraphsQuery: Query {
    private var targets: TargetsQuery
    private var ids: [OperationID]?
    /// Operations that are selected in each graph.
    private var selected: [GraphID: Int] = [:]
    private var count = 0

    var heldBytes: Int { targets.heldBytes + (ids?.count ?? 0) * 8 + selected.count * 32 }

    init(_ targets: TargetsQuery) { self.targets = targets }

    mutating func proceed(_ history: History) throws -> [GraphID]? {
        guard let ids else {
            ids = try targets.proceed(history)?.ids
            return nil
        }
        let next = ids[count...].prefix(500)
        count += next.count
        for id in next {
            if let graph = try history.graph(of: id) { selected[graph, default: 0] += 1 }
        }
        guard count == ids.count else { return nil }
        return try selected.filter { try history.operationCount(of: $0.key) == $0.value }.keys.sorted {
            $0.rawValue < $1.rawValue
        }
    }
}
