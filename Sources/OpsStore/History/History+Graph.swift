public import OpsCore

/// One operation as a picture or a statistic needs it.
public struct GraphNode: Sendable {
    public var id: OperationID
    public var name: String?
    public var state: OperationState
    public var outcome: Outcome?
    public var group: OperationID?
    public var isGroup: Bool
    public var slot: Int32?
    public var cause: String?
    public var submittedAt: Int64
    public var readyAt: Int64?
    public var startedAt: Int64?
    public var finishedAt: Int64?
}

extension History {
    /// The operations of a graph after `id`, in the order of ids, at most `limit`. Fewer: there are no more.
    public func nodes(of graph: GraphID, limit: Int) throws(StoreError) -> [GraphNode] {
        let rows = try statement(
            """
            SELECT \(Self.nodeColumns)
            FROM submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1
            LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt
            WHERE s.graph = ?1 ORDER BY s.first, o.id LIMIT ?2
            """)
        rows.bind(1, graph.rawValue)
        rows.bind(2, limit)
        return try nodes(rows)
    }

    /// The same of chosen operations: rows for statistics.
    public func nodes(of ids: [OperationID]) throws(StoreError) -> [GraphNode] {
        let rows = try statement(
            """
            SELECT \(Self.nodeColumns)
            FROM operation o JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
            LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt
            WHERE o.id = ?1
            """)
        var found: [GraphNode] = []
        for id in ids {
            rows.bind(1, id.rawValue)
            found += try nodes(rows)
        }
        return found
    }

    private static let nodeColumns = """
        o.id, o.name, o.state, o.outcome, o.parent, o.flags & 1, a.slot, o.cause, s.at, o.readyAt, o.startedAt,
        o.finishedAt
        """

    private func nodes(_ rows: Statement) throws(StoreError) -> [GraphNode] {
        var nodes: [GraphNode] = []
        while try rows.step() {
            nodes.append(
                GraphNode(
                    id: OperationID(rows.int(0)), name: rows.optionalText(1),
                    state: OperationState(stored: rows.int(2)) ?? .pending,
                    outcome: Outcome(stored: rows.optionalInt(3)),
                    group: rows.optionalInt(4).map { OperationID($0) }, isGroup: rows.bool(5),
                    slot: rows.optionalInt32(6), cause: rows.optionalText(7), submittedAt: rows.int(8),
                    readyAt: rows.optionalInt(9), startedAt: rows.optionalInt(10), finishedAt: rows.optionalInt(11)))
        }
        return nodes
    }

    /// The edges whose dependents are the operations from `first` to `last`.
    public func edges(from first: OperationID, to last: OperationID) throws(StoreError) -> [Snapshot.Edge] {
        let rows = try statement(
            "SELECT operation, dependency, \"when\" FROM edge WHERE operation BETWEEN ?1 AND ?2")
        rows.bind(1, first.rawValue)
        rows.bind(2, last.rawValue)
        var edges: [Snapshot.Edge] = []
        while try rows.step() {
            guard let when = When(stored: rows.int(2)) else { continue }
            edges.append(Snapshot.Edge(from: OperationID(rows.int(0)), on: OperationID(rows.int(1)), when: when))
        }
        return edges
    }

    /// All edges of a graph's operations.
    public func edges(of graph: GraphID) throws(StoreError) -> [Snapshot.Edge] {
        let rows = try statement("SELECT first, first + count - 1 FROM submission WHERE graph = ?1 ORDER BY first")
        rows.bind(1, graph.rawValue)
        var ranges: [(Int64, Int64)] = []
        while try rows.step() { ranges.append((rows.int(0), rows.int(1))) }
        var edges: [Snapshot.Edge] = []
        for (first, last) in ranges { edges += try self.edges(from: OperationID(first), to: OperationID(last)) }
        return edges
    }

    /// Words that begin with `prefix`, newest first: for completion and for "did you mean".
    public func operationNames(prefix: String, limit: Int) throws(StoreError) -> [String] {
        try names(
            "SELECT name, max(id) AS newest FROM operation WHERE name >= ?1 AND name < ?2 GROUP BY name", prefix, limit)
    }

    public func graphNames(prefix: String, limit: Int) throws(StoreError) -> [String] {
        try names(
            "SELECT name, max(graph) AS newest FROM submission WHERE name >= ?1 AND name < ?2 GROUP BY name", prefix,
            limit)
    }

    private func names(_ sql: String, _ prefix: String, _ limit: Int) throws(StoreError) -> [String] {
        let rows = try statement(sql + " ORDER BY newest DESC LIMIT ?3")
        rows.bind(1, prefix)
        rows.bind(2, prefix + "\u{10FFFF}")
        rows.bind(3, limit)
        var names: [String] = []
        while try rows.step() { names.append(rows.text(0)) }
        return names
    }
}
