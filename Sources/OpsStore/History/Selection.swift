public import OpsCore

/// Which operations a request is about: what all of its given members have in common.
public struct Selection: Sendable {
    /// Any of these; nil for all there are.
    public var ids: [ClosedRange<Int64>]?
    public var graph: GraphID?
    public var queue: String?
    public var state: OperationState?
    public var outcome: Outcome?
    /// Finished in any other way than succeeded.
    public var isUnsuccessful = false
    public var labels: [String: String] = [:]
    /// Who submitted them.
    public var user: String?
    public init() {}
}

extension History {
    /// The next selected operations after `id`, in the order of ids, at most `limit`. Fewer: there are no more.
    public func select(
        _ selection: Selection, after id: OperationID = OperationID(0), limit: Int
    ) throws(StoreError) -> [OperationID] {
        try select(selection, after: id.rawValue, isNewestFirst: false, limit: limit)
    }

    /// The latest selected operations, newest first.
    public func selectNewest(_ selection: Selection, limit: Int) throws(StoreError) -> [OperationID] {
        try select(selection, after: 0, isNewestFirst: true, limit: limit)
    }

    private func select(
        _ selection: Selection, after id: Int64, isNewestFirst: Bool, limit: Int
    ) throws(StoreError) -> [OperationID] {
        var ranges = disjoint(selection.ids ?? [1...Int64.max])
        if isNewestFirst { ranges.reverse() }
        let rows = try statement(selection.sql(isNewestFirst: isNewestFirst))
        var found: [OperationID] = []
        for range in ranges where found.count < limit {
            if range.upperBound <= id { continue }
            rows.bind(1, max(range.lowerBound, id + 1))
            rows.bind(2, range.upperBound)
            rows.bind(3, limit - found.count)
            selection.bind(to: rows)
            while try rows.step() { found.append(OperationID(rows.int(0))) }
        }
        return found
    }

    /// In order and without overlap, so that nothing is told twice.
    private func disjoint(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
        var result: [ClosedRange<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}

extension Selection {
    private var sortedLabels: [(key: String, value: String)] { labels.sorted { $0.key < $1.key } }

    /// Parameters 1 to 3 are the first and last id and the limit; the others follow in the order of `bind`.
    fileprivate func sql(isNewestFirst: Bool) -> String {
        let order = isNewestFirst ? "DESC" : "ASC"
        var sql = "SELECT o.id FROM "
        var conditions = ["o.id BETWEEN ?1 AND ?2"]
        var next = 4
        func parameter() -> String {
            defer { next += 1 }
            return "?\(next)"
        }
        if graph != nil || user != nil {
            // An operation belongs to the submission whose stretch of ids it is in.
            sql += "submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1 WHERE "
            conditions.append(
                "s.first BETWEEN (SELECT ifnull(max(first), 0) FROM submission WHERE first <= ?1) AND ?2")
            if graph != nil { conditions.append("s.graph = \(parameter())") }
            if user != nil { conditions.append("s.user = \(parameter())") }
        } else {
            sql += "operation o WHERE "
        }
        if queue != nil { conditions.append("o.queue = (SELECT id FROM queue WHERE name = \(parameter()))") }
        if state != nil { conditions.append("o.state = \(parameter())") }
        // The words of the partial index, which SQLite does not derive by itself.
        if let state, state != .finished { conditions.append("o.state < 3") }
        if outcome != nil { conditions.append("o.outcome = \(parameter())") }
        if isUnsuccessful { conditions.append("o.outcome <> \(Outcome.succeeded.stored)") }
        for _ in labels {
            conditions.append(
                """
                o.details IN (SELECT id FROM text WHERE hash IS NOT NULL AND EXISTS (
                    SELECT 1 FROM json_each(body, '$.labels') WHERE key = \(parameter()) AND value = \(parameter())))
                """)
        }
        let keys = graph != nil || user != nil ? "s.first \(order), o.id \(order)" : "o.id \(order)"
        return sql + conditions.joined(separator: " AND ") + " ORDER BY \(keys) LIMIT ?3"
    }

    fileprivate func bind(to statement: Statement) {
        var next: Int32 = 4
        func place() -> Int32 {
            defer { next += 1 }
            return next
        }
        if let graph { statement.bind(place(), graph.rawValue) }
        if let user { statement.bind(place(), user) }
        if let queue { statement.bind(place(), queue) }
        if let state { statement.bind(place(), state.stored) }
        if let outcome { statement.bind(place(), outcome.stored) }
        for (key, value) in sortedLabels {
            statement.bind(place(), key)
            statement.bind(place(), value)
        }
    }
}
