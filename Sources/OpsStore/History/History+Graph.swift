public import OpsCore

/// One operation, as far as a picture or a statistic needs it.
public struct GraphNode: Sendable {
    public var id: OperationID
    public var name: String?
    public var state: OperationState
    public var outcome: Outcome?
    public var group: OperationID?
    public var isGroup: Bool
    public var slot: Int32?
    public var cause: String?
    public var submittedAt: WallInstant
    /// Instant from which its waiting time counts; nil if it was never ready.
    public var readyAt: WallInstant?
    public var startedAt: WallInstant?
    public var finishedAt: WallInstant?
    public var isHeld = false
    public var isScheduled = false
}

extension History {
    /// Returns operations as nodes, in the given order.
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
        o.id, o.name, o.state, o.outcome, o.parent, o.flags & 1, a.slot, o.cause, s.at, \(Standing.waitsSince),
        o.startedAt, o.finishedAt, \(Standing.held.sql), \(Standing.scheduled.sql)
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
                    slot: rows.optionalInt32(6).flatMap { AttemptWrite.slot(stored: $0) }, cause: rows.optionalText(7),
                    submittedAt: rows.time(8), readyAt: rows.optionalTime(9), startedAt: rows.optionalTime(10),
                    finishedAt: rows.optionalTime(11), isHeld: rows.bool(12), isScheduled: rows.bool(13)))
        }
        return nodes
    }

    /// Returns the edges whose dependents are the operations from `first` to `last`.
    public func edges(from first: OperationID, to last: OperationID) throws(StoreError) -> [Snapshot.Edge] {
        let rows = try statement(
            "SELECT operation, dependency, \"when\" FROM edge WHERE operation BETWEEN ?1 AND ?2")
        rows.bind(1, first.rawValue)
        rows.bind(2, last.rawValue)
        var edges: [Snapshot.Edge] = []
        while try rows.step() {
            guard let when = EdgeCondition(stored: rows.int(2)) else { continue }
            edges.append(Snapshot.Edge(from: OperationID(rows.int(0)), on: OperationID(rows.int(1)), when: when))
        }
        return edges
    }

    /// Returns names that begin with `prefix`, the newest first, for completion and suggestions. `looked`: maximum
    /// number of different names that are examined, however many operations have them.
    public func operationNames(prefix: String, limit: Int, looked: Int = 5000) throws(StoreError) -> [String] {
        try names("operation", newest: Self.newestOperation(named: "found.name"), prefix, limit, looked)
    }

    public func graphNames(prefix: String, limit: Int, looked: Int = 5000) throws(StoreError) -> [String] {
        let newest = "(SELECT max(first) FROM submission AS t WHERE t.name = found.name)"
        return try names("submission", newest: newest, prefix, limit, looked)
    }

    /// Steps from one name to the next in the index, past all operations with that name.
    private func names(
        _ table: String, newest: String, _ prefix: String, _ limit: Int, _ looked: Int
    ) throws(StoreError) -> [String] {
        let rows = try statement(
            """
            WITH RECURSIVE found(name, number) AS (
                SELECT (SELECT name FROM \(table) WHERE name >= ?1 AND name < ?2 ORDER BY name LIMIT 1), 1
                UNION ALL
                SELECT (SELECT t.name FROM \(table) AS t
                    WHERE t.name > found.name AND t.name < ?2 ORDER BY t.name LIMIT 1), number + 1
                FROM found WHERE found.name IS NOT NULL AND number < ?4)
            SELECT name FROM found WHERE name IS NOT NULL
            ORDER BY \(newest) DESC LIMIT ?3
            """)
        rows.bind(1, prefix)
        rows.bind(2, prefix + "\u{10FFFF}")
        rows.bind(3, limit)
        rows.bind(4, looked)
        var names: [String] = []
        while try rows.step() { names.append(rows.text(0)) }
        return names
    }
}
