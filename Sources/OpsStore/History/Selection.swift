public import OpsCore

/// The operations that a request names: those that match all given members.
public struct Selection: Equatable, Sendable {
    /// Ranges of ids; nil for all operations.
    public var ids: [ClosedRange<Int64>]?
    public var graph: GraphID?
    public var queue: String?
    public var state: OperationState?
    public var outcome: Outcome?
    /// True for operations that have finished without success.
    public var isUnsuccessful = false
    /// Outcomes; empty for any.
    public var outcomes: Set<Outcome> = []
    public var standings: Set<Standing> = []
    public var labels: [String: String] = [:]
    /// User who submitted the operations.
    public var user: String?
    public init() {}
}

/// State, outcome or flag of an operation, as people name it.
public enum Standing: Hashable, Sendable {
    case state(OperationState)
    case outcome(Outcome)
    /// Held, waiting for its start time or a back-off, ending, or frozen.
    case held, scheduled, cancelling, frozen

    /// States that an operation with this standing can have.
    public var states: Set<OperationState> {
        switch self {
        case .state(let state): [state]
        case .outcome: [.finished]
        case .held: [.pending, .ready]
        case .scheduled: [.ready]
        case .cancelling, .frozen: [.executing]
        }
    }

    /// SQL condition on the row `o`. It contains no text of a user.
    var sql: String {
        switch self {
        case .state(let state): "o.state = \(state.stored)"
        case .outcome(.skipped): "o.outcome IN (4, 6)"
        case .outcome(let outcome): "o.outcome = \(outcome.stored)"
        case .held: "(o.state < 2 AND o.flags & 4)"
        case .scheduled:
            """
            (o.state = 1 AND NOT o.flags & 4
                AND \(Self.earliestStart) > CAST(strftime('%s', 'now') AS INTEGER) * 1000000000)
            """
        case .cancelling: "(o.state = 2 AND EXISTS (SELECT 1 FROM ending e WHERE e.operation = o.id))"
        case .frozen: "(o.state = 2 AND o.frozen <> 0)"
        }
    }

    /// SQL for the instant before which the row `o` does not start: its start time or the end of its back-off; 0: none.
    static let earliestStart = """
        max(ifnull(o.notBefore, 0), ifnull((SELECT p.notBefore FROM policy p WHERE p.id = o.policy), 0))
        """

    /// SQL for the instant from which the waiting time of the row `o` counts; null if it was never ready.
    static let waitsSince = "max(o.readyAt, \(earliestStart))"
}

extension History {
    /// Returns the next selected operations after `id`, in the order of ids, at most `limit`. Fewer mean that there are
    /// no more.
    public func select(
        _ selection: Selection, after id: OperationID = OperationID(0), limit: Int
    ) throws(StoreError) -> [OperationID] {
        try select(SelectionCursor(selection, after: id), limit: limit)
    }

    /// Returns the latest selected operations, the newest first.
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
        let isUnfinished =
            state != nil && state != .finished
            || !standings.isEmpty && standings.allSatisfy { !$0.states.contains(.finished) }
        let operation = "operation AS o" + (isUnfinished ? " INDEXED BY operationUnfinished" : "")
        if graph != nil || user != nil {
            // An operation belongs to the submission whose range of ids contains it.
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
        // The condition of the partial index, which SQLite does not derive by itself, and the states to look up in it.
        if isUnfinished {
            let states = Set(standings.flatMap(\.states).map(\.stored)).sorted().map { "\($0)" }
            if !states.isEmpty { conditions.append("o.state IN (\(states.joined(separator: ", ")))") }
            conditions.append("o.state < 3")
        }
        if let outcome { conditions.append(Standing.outcome(outcome).sql) }
        for choice in [outcomes.map(Standing.outcome), Array(standings)] where !choice.isEmpty {
            conditions.append("(" + choice.map(\.sql).sorted().joined(separator: " OR ") + ")")
        }
        if isUnsuccessful { conditions.append("o.outcome NOT IN (0, 6)") }
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
        for (key, value) in sortedLabels {
            statement.bind(parameter(), key)
            statement.bind(parameter(), value)
        }
    }
}
