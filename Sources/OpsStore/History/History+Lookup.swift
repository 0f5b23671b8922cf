public import OpsCore

/// An earlier submission, found by its idempotency key.
public struct KeyedSubmission: Equatable, Sendable {
    public var graph: GraphID
    public var first: OperationID
    public var count: Int
    public var isUnfinished: Bool
}

/// The part of an operation that reading its log needs.
public struct OperationBrief: Sendable {
    public var uid: UInt32
    public var state: OperationState
    /// 0 before the first start.
    public var attempt: Int32
    public var isGroup: Bool
    /// The JSON object of `SubmissionTexts.details`.
    public var details: String
}

/// One graph, without its operations.
public struct GraphRecord: Equatable, Sendable {
    public var id: GraphID
    public var name: String?
    public var count: Int
    public var isSuspended: Bool
}

extension History {
    /// Returns the newest operation with this name in one graph.
    public func newest(named name: String, in graph: GraphID) throws(StoreError) -> OperationID? {
        let row = try statement(
            """
            SELECT max(o.id) FROM submission s CROSS JOIN operation o
                ON o.name = ?1 AND o.uid = s.uid AND o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?2
            """)
        row.bind(1, name)
        row.bind(2, graph.rawValue)
        return try number(row).map { OperationID($0) }
    }

    /// Returns the newest operation with this name of a user; if the user has none, the newest of all users.
    public func newest(named name: String, for uid: UInt32) throws(StoreError) -> OperationID? {
        let own = try statement("SELECT max(id) FROM operation WHERE name = ?1 AND uid = ?2")
        own.bind(1, name)
        own.bind(2, uid)
        if let id = try number(own) { return OperationID(id) }
        let all = try statement("SELECT \(Self.newestOperation(named: "?1"))")
        all.bind(1, name)
        return try number(all).map { OperationID($0) }
    }

    /// Returns the newest graph with this name of a user; if the user has none, the newest of all users.
    public func newestGraph(named name: String, for uid: UInt32) throws(StoreError) -> GraphID? {
        let own = try statement("SELECT graph FROM submission WHERE name = ?1 AND uid = ?2 ORDER BY first DESC LIMIT 1")
        own.bind(1, name)
        own.bind(2, uid)
        if let id = try number(own) { return GraphID(id) }
        let all = try statement("SELECT graph FROM submission WHERE name = ?1 ORDER BY first DESC LIMIT 1")
        all.bind(1, name)
        return try number(all).map { GraphID($0) }
    }

    /// Returns the SQL expression for the newest operation with a name. The index has the operations of a name by user,
    /// so it compares the newest one of each.
    static func newestOperation(named name: String) -> String {
        """
        (WITH RECURSIVE submitter(uid) AS (
            SELECT min(uid) FROM operation WHERE name = \(name)
            UNION ALL
            SELECT (SELECT min(uid) FROM operation WHERE name = \(name) AND uid > submitter.uid)
            FROM submitter WHERE submitter.uid IS NOT NULL)
        SELECT max((SELECT max(id) FROM operation WHERE name = \(name) AND uid = submitter.uid)) FROM submitter)
        """
    }

    /// Returns the number that a statement finds; nil: it finds none.
    private func number(_ row: Statement) throws(StoreError) -> Int64? {
        defer { row.reset() }
        return try row.step() ? row.optionalInt(0) : nil
    }

    /// Returns the first operation of a graph; nil if there is no such graph.
    public func firstOperation(of graph: GraphID) throws(StoreError) -> OperationID? {
        let row = try statement("SELECT min(first) FROM submission WHERE graph = ?1")
        row.bind(1, graph.rawValue)
        defer { row.reset() }
        return try row.step() ? row.optionalInt(0).map { OperationID($0) } : nil
    }

    public func graph(_ id: GraphID) throws(StoreError) -> GraphRecord? {
        let row = try statement(
            """
            SELECT name, (SELECT sum(count) FROM submission WHERE graph = ?1),
                EXISTS (SELECT 1 FROM suspendedGraph WHERE graph = ?1)
            FROM submission WHERE graph = ?1 ORDER BY first LIMIT 1
            """)
        row.bind(1, id.rawValue)
        guard try row.step() else { return nil }
        defer { row.reset() }
        return GraphRecord(
            id: id, name: row.optionalText(0), count: Int(row.int(1)), isSuspended: row.bool(2))
    }

    /// Returns the latest submission of a user with this key.
    public func submission(key: String, uid: UInt32) throws(StoreError) -> KeyedSubmission? {
        let row = try statement(
            """
            SELECT graph, first, count, EXISTS (
                SELECT 1 FROM operation WHERE id BETWEEN first AND first + count - 1 AND state < 3)
            FROM submission WHERE key = ?1 AND uid = ?2 ORDER BY first DESC LIMIT 1
            """)
        row.bind(1, key)
        row.bind(2, uid)
        guard try row.step() else { return nil }
        defer { row.reset() }
        return KeyedSubmission(
            graph: GraphID(row.int(0)), first: OperationID(row.int(1)), count: Int(row.int(2)),
            isUnfinished: row.bool(3))
    }

    /// Returns true if a user has made a submission with one of these keys since `first` was the next operation.
    public func hasSubmission(keys: [String], uid: UInt32, from first: OperationID) throws(StoreError) -> Bool {
        // Searched by id, for there are few since: the index of keys contains those of all users.
        let rows = try statement("SELECT key FROM submission WHERE first >= ?1 AND uid = ?2 AND +key IS NOT NULL")
        rows.bind(1, first.rawValue)
        rows.bind(2, uid)
        defer { rows.reset() }
        while try rows.step() { if keys.contains(rows.text(0)) { return true } }
        return false
    }

    /// Returns the names of those operations that exist and have one.
    public func names(of ids: [OperationID]) throws(StoreError) -> [OperationID: String] {
        let row = try statement("SELECT name FROM operation WHERE id = ?1")
        var names: [OperationID: String] = [:]
        for id in ids {
            row.bind(1, id.rawValue)
            if try row.step() {
                names[id] = row.optionalText(0)
                row.reset()
            }
        }
        return names
    }

    /// Returns the text of one condition of an operation: `pathExists /x`.
    public func condition(_ index: Int, of id: OperationID) throws(StoreError) -> String? {
        let row = try statement(OperationStatements.conditionText)
        defer { row.reset() }
        row.bind(1, id.rawValue)
        row.bind(2, index)
        return try row.step() ? row.text(0) : nil
    }

    /// Returns the submitter of each operation that exists, who may change it.
    public func owners(of ids: [OperationID]) throws(StoreError) -> [OperationID: UInt32] {
        var owners: [OperationID: UInt32] = [:]
        for id in ids { owners[id] = try owner(of: id) }
        return owners
    }

    /// Returns the submitter of an operation; `nil`: it is not stored.
    public func owner(of id: OperationID) throws(StoreError) -> UInt32? {
        let row = try statement(
            """
            SELECT uid FROM submission
            WHERE first = (SELECT max(first) FROM submission WHERE first <= ?1) AND ?1 < first + count
            """)
        row.bind(1, id.rawValue)
        defer { row.reset() }
        return try row.step() ? UInt32(truncatingIfNeeded: row.int(0)) : nil
    }

    /// Returns facts about the finished operations among the ids. A submission that names them needs these.
    public func finishedFacts(_ ids: [OperationID]) throws(StoreError) -> [OperationID: FinishedFact] {
        try FinishedFact.read(ids) { (sql) throws(StoreError) in try statement(sql) }
    }

    /// Returns the policy of an operation, with which an edit is merged.
    public func policy(of id: OperationID) throws(StoreError) -> Policy? {
        let row = try statement("SELECT policy FROM operation WHERE id = ?1")
        row.bind(1, id.rawValue)
        guard try row.step() else { return nil }
        let policy = row.optionalInt(0)
        row.reset()
        return if let policy { try self.policy(policy) } else { Policy() }
    }

    /// Returns true if one operation has an edge on another.
    public func hasEdge(from id: OperationID, on: OperationID) throws(StoreError) -> Bool {
        let row = try statement("SELECT 1 FROM edge WHERE operation = ?1 AND dependency = ?2")
        row.bind(1, id.rawValue)
        row.bind(2, on.rawValue)
        defer { row.reset() }
        return try row.step()
    }

    public func brief(of id: OperationID) throws(StoreError) -> OperationBrief? {
        let row = try statement(
            """
            SELECT (SELECT uid FROM submission WHERE first = (SELECT max(first) FROM submission WHERE first <= ?1)),
                o.state, o.attempt, o.flags & 1, t.body
            FROM operation o LEFT JOIN text t ON t.id = o.details WHERE o.id = ?1
            """)
        row.bind(1, id.rawValue)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return OperationBrief(
            uid: UInt32(truncatingIfNeeded: row.int(0)), state: OperationState(stored: row.int(1)) ?? .pending,
            attempt: row.int32(2), isGroup: row.bool(3), details: row.optionalText(4) ?? "{}")
    }

    /// Returns the graph of an operation.
    public func graph(of id: OperationID) throws(StoreError) -> GraphID? {
        let row = try statement(
            """
            SELECT graph FROM submission
            WHERE first = (SELECT max(first) FROM submission WHERE first <= ?1) AND ?1 < first + count
            """)
        row.bind(1, id.rawValue)
        defer { row.reset() }
        return try row.step() ? GraphID(row.int(0)) : nil
    }

    /// Returns the captured environment as a JSON object. Only its owner and root may see it.
    public func environment(of id: OperationID) throws(StoreError) -> String? {
        let row = try statement("SELECT body FROM text WHERE id = (SELECT environment FROM operation WHERE id = ?1)")
        row.bind(1, id.rawValue)
        guard try row.step() else { return nil }
        defer { row.reset() }
        return row.text(0)
    }

    /// Returns the number of operations in each state.
    public func counts() throws(StoreError) -> [OperationState: Int] {
        var counts: [OperationState: Int] = [:]
        let all = try integer("SELECT ifnull(sum(count), 0) FROM submission")
        let rows = try statement("SELECT state, count(*) FROM operation WHERE state < 3 GROUP BY state")
        var unfinished = 0
        while try rows.step() {
            guard let state = OperationState(stored: rows.int(0)) else { continue }
            counts[state] = Int(rows.int(1))
            unfinished += Int(rows.int(1))
        }
        counts[.finished] = all - unfinished
        return counts
    }

    private func integer(_ sql: String) throws(StoreError) -> Int {
        let row = try statement(sql)
        defer { row.reset() }
        return try row.step() ? Int(row.int(0)) : 0
    }
}

extension FinishedFact {
    /// Reads facts about the finished operations among the ids.
    static func read(
        _ ids: [OperationID], _ prepare: (String) throws(StoreError) -> Statement
    ) throws(StoreError) -> [OperationID: FinishedFact] {
        let row = try prepare(
            """
            SELECT o.outcome, o.root, o.startedAt IS NOT NULL, r.outcome
            FROM operation o LEFT JOIN operation r ON r.id = o.root WHERE o.id = ?1 AND o.state = 3
            """)
        var facts: [OperationID: FinishedFact] = [:]
        for id in ids {
            row.bind(1, id.rawValue)
            guard try row.step() else { continue }
            defer { row.reset() }
            guard let outcome = Outcome(stored: row.optionalInt(0)) else { continue }
            // A root that was reopened since has no outcome: then the operation itself is named.
            let rootOutcome = Outcome(stored: row.optionalInt(3))
            let root = rootOutcome == nil ? id : row.optionalInt(1).map { OperationID($0) } ?? id
            facts[id] = FinishedFact(
                outcome: outcome, root: root, hasStarted: row.bool(2), rootOutcome: rootOutcome)
        }
        return facts
    }
}
