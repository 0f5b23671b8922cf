public import OpsCore

/// The result that a dependency has published, and the attempt that has left outputs.
public struct DependencyResult: Sendable {
    public let id: OperationID
    public let name: String?
    public let result: String?
    /// Attempt that has left outputs; nil if there is none.
    public let outputs: AttemptID?
}

extension Store {
    /// Returns the results that the latest attempts of an operation's dependencies have published. It uses the
    /// connection of the store, whose pages are cached. `owner`: only results of this user's operations; nil: of all
    /// users. Returns nil if names and texts have more than `limit` bytes.
    public func results(
        for id: OperationID, of owner: UInt32?, atMost limit: Int
    ) throws(StoreError) -> [DependencyResult]? {
        try DependencyResult.read(for: id, of: owner, atMost: limit) { (sql) throws(StoreError) in try kept(sql) }
    }
}

extension History {
    /// Returns the results of an operation's dependencies, for a caller outside the loop.
    public func results(
        for id: OperationID, of owner: UInt32?, atMost limit: Int
    ) throws(StoreError) -> [DependencyResult]? {
        try DependencyResult.read(for: id, of: owner, atMost: limit) { (sql) throws(StoreError) in try statement(sql) }
    }
}

extension DependencyResult {
    fileprivate static func read(
        for id: OperationID, of owner: UInt32?, atMost limit: Int, _ prepare: (String) throws(StoreError) -> Statement
    ) throws(StoreError) -> [DependencyResult]? {
        let rows = try prepare(
            """
            SELECT DISTINCT d.id, d.name, a.result, a.outputs, a.number FROM edge e JOIN operation d ON d.id = e.dependency
            JOIN attempt a ON a.operation = d.id AND a.number = d.attempt
            WHERE e.operation = ?1 AND (a.result IS NOT NULL OR a.outputs) AND (?2 IS NULL OR ?2 =
                (SELECT uid FROM submission WHERE first <= d.id ORDER BY first DESC LIMIT 1))
            ORDER BY d.id
            """)
        rows.bind(1, id.rawValue)
        rows.bind(2, owner.map(Int64.init))
        var results: [DependencyResult] = []
        var bytes = 0
        defer { rows.reset() }
        while try rows.step() {
            let row = DependencyResult(
                id: OperationID(rows.int(0)), name: rows.optionalText(1), result: rows.optionalText(2),
                outputs: rows.bool(3) ? AttemptID(OperationID(rows.int(0)), rows.int32(4)) : nil)
            bytes += (row.name?.utf8.count ?? 0) + (row.result?.utf8.count ?? 0)
            if bytes > limit { return nil }
            results.append(row)
        }
        return results
    }
}
