public import OpsCore

/// Which operations a request is about: what all of its given members have in common.
public struct Selection: Equatable, Sendable {
    /// Any of these; nil for all there are.
    public var ids: [ClosedRange<Int64>]?
    public var graph: GraphID?
    public var queue: String?
    public var state: OperationState?
    public var outcome: Outcome?
    /// Finished in any other way than succeeded.
    public var isUnsuccessful = false
    public var labels: [String: String] = [:]
    /// User who submitted the operations.
    public var user: String?
    public init() {}
}

extension History {
    /// The next selected operations after `id`, in the order of ids, at most `limit`. Fewer: there are no more.
    public func select(
        _ selection: Selection, after id: OperationID = OperationID(0), limit: Int
    ) throws(StoreError) -> [OperationID] {
        try select(SelectionCursor(selection, after: id), limit: limit)
    }

    /// The latest selected operations, newest first.
    public func selectNewest(_ selection: Selection, limit: Int) throws(StoreError) -> [OperationID] {
        try select(SelectionCursor(selection, order: .newestFirst), limit: limit)
    }

    private func select(_ cursor: SelectionCursor, limit: Int) throws(StoreError) -> [OperationID] {
        var cursor = cursor
        var found: [OperationID] = []
        while found.count < limit, !cursor.isAtEnd { found += try cursor.next(self, limit: limit - found.count) }
        return found
    }
}

extension Selection {
    private var sortedLabels: [(key: String, value: String)] { labels.sorted { $0.key < $1.key } }

    /// Parameter 1 is a JSON array of pairs: the first and last id of each range. The others follow in the order of `bind`.
    var sql: String {
        let (first, last) = ("json_extract(r.value, '$[0]')", "json_extract(r.value, '$[1]')")
        var sql = "SELECT o.id FROM json_each(?1) AS r "
        var conditions: [String] = []
        var next = 2
        func parameter() -> String {
            defer { next += 1 }
            return "?\(next)"
        }
        // Named, because SQLite may take the ranges for more selective than they are.
        let isUnfinished = state != nil && state != .finished
        let operation = "operation AS o" + (isUnfinished ? " INDEXED BY operationUnfinished" : "")
        if graph != nil || user != nil {
            // An operation belongs to the submission whose stretch of ids it is in.
            sql += """
                CROSS JOIN submission AS s ON s.first BETWEEN
                    (SELECT ifnull(max(first), 0) FROM submission WHERE first <= \(first)) AND \(last)
                CROSS JOIN \(operation)
                    ON o.id BETWEEN max(s.first, \(first)) AND min(s.first + s.count - 1, \(last))
                """
            if graph != nil { conditions.append("s.graph = \(parameter())") }
            if user != nil { conditions.append("s.user = \(parameter())") }
        } else {
            sql += "CROSS JOIN \(operation) ON o.id BETWEEN \(first) AND \(last)"
        }
        if queue != nil { conditions.append("o.queue = (SELECT id FROM queue WHERE name = \(parameter()))") }
        if state != nil { conditions.append("o.state = \(parameter())") }
        // The words of the partial index, which SQLite does not derive by itself.
        if isUnfinished { conditions.append("o.state < 3") }
        if outcome != nil { conditions.append("o.outcome = \(parameter())") }
        if isUnsuccessful { conditions.append("o.outcome <> \(Outcome.succeeded.stored)") }
        for _ in labels {
            conditions.append(
                """
                EXISTS (
                    SELECT 1 FROM label WHERE name = \(parameter()) AND value = \(parameter()) AND details = o.details)
                """)
        }
        return conditions.isEmpty ? sql : sql + " WHERE " + conditions.joined(separator: " AND ")
    }

    func bind(to statement: Statement, ranges: [ClosedRange<Int64>]) {
        let pairs = ranges.map { "[\($0.lowerBound),\($0.upperBound)]" }
        statement.bind(1, "[" + pairs.joined(separator: ",") + "]")
        var next: Int32 = 2
        func parameter() -> Int32 {
            defer { next += 1 }
            return next
        }
        if let graph { statement.bind(parameter(), graph.rawValue) }
        if let user { statement.bind(parameter(), user) }
        if let queue { statement.bind(parameter(), queue) }
        if let state { statement.bind(parameter(), state.stored) }
        if let outcome { statement.bind(parameter(), outcome.stored) }
        for (key, value) in sortedLabels {
            statement.bind(parameter(), key)
            statement.bind(parameter(), value)
        }
    }
}
