public import OpsCore

/// A graph as a list shows it.
public struct GraphSummary: Sendable {
    public var graph: GraphID
    public var name: String?
    public var user: String
    public var submittedAt: WallInstant
    public var isSuspended: Bool
    public var pending = 0
    public var ready = 0
    /// Neither is counted in the others.
    public var scheduled = 0
    public var held = 0
    public var executing = 0
    public var finished = 0
    public var unsuccessful = 0
}

extension History {
    /// Returns the newest graphs, or the newest of one name, the oldest of them first, without counts.
    public func newestGraphs(_ limit: Int, named name: String? = nil) throws(StoreError) -> [GraphSummary] {
        let rows = try statement(
            """
            SELECT graph, name, user, at, EXISTS (SELECT 1 FROM suspendedGraph WHERE graph = s.graph)
            FROM submission s WHERE isNew\(name == nil ? "" : " AND name = ?2") ORDER BY first DESC LIMIT ?1
            """)
        rows.bind(1, Int64(limit))
        if let name { rows.bind(2, name) }
        var graphs: [GraphSummary] = []
        while try rows.step() {
            graphs.append(
                GraphSummary(
                    graph: GraphID(rows.int(0)), name: rows.optionalText(1), user: rows.text(2),
                    submittedAt: rows.time(3), isSuspended: rows.bool(4)))
        }
        return graphs.reversed()
    }

    /// Returns how many operations a graph has.
    public func operationCount(of graph: GraphID) throws(StoreError) -> Int {
        let row = try statement("SELECT sum(count) FROM submission WHERE graph = ?1")
        row.bind(1, graph.rawValue)
        defer { row.reset() }
        return try row.step() ? Int(row.int(0)) : 0
    }

    /// Counts the operations of a graph.
    public func count(_ graph: inout GraphSummary) throws(StoreError) {
        let rows = try statement(
            """
            SELECT o.state, o.outcome NOT IN (0, 6), count(*), \(Standing.held.sql), \(Standing.scheduled.sql)
            FROM submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1 GROUP BY 1, 2, 4, 5
            """)
        rows.bind(1, graph.graph.rawValue)
        while try rows.step() {
            let count = Int(rows.int(2))
            if rows.bool(3) || rows.bool(4) {
                if rows.bool(3) { graph.held += count } else { graph.scheduled += count }
                continue
            }
            switch OperationState(stored: rows.int(0)) {
            case .pending: graph.pending += count
            case .ready: graph.ready += count
            case .executing: graph.executing += count
            case .finished:
                graph.finished += count
                if rows.bool(1) { graph.unsuccessful += count }
            case nil: break
            }
        }
    }
}
