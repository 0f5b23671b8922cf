public import OpsCore

extension Store {
    /// What the dependencies of an operation have published, each by its latest attempt: for a launch, from the
    /// connection whose pages are at hand. `owner`: only those of this user's operations; nil: of everybody's. Returns nil
    /// where their names and texts are of more than `limit` bytes.
    public func results(
        for id: OperationID, of owner: UInt32?, atMost limit: Int
    ) throws(StoreError) -> [(id: OperationID, name: String?, result: String)]? {
        let rows = try kept(
            """
            SELECT DISTINCT d.id, d.name, a.result FROM edge e JOIN operation d ON d.id = e.dependency
            JOIN attempt a ON a.operation = d.id AND a.number = d.attempt
            WHERE e.operation = ?1 AND a.result IS NOT NULL AND (?2 IS NULL OR ?2 =
                (SELECT uid FROM submission WHERE first <= d.id ORDER BY first DESC LIMIT 1))
            ORDER BY d.id
            """)
        rows.bind(1, id.rawValue)
        rows.bind(2, owner.map(Int64.init))
        var results: [(id: OperationID, name: String?, result: String)] = []
        var bytes = 0
        defer { rows.reset() }
        while try rows.step() {
            let row = (id: OperationID(rows.int(0)), name: rows.optionalText(1), result: rows.text(2))
            bytes += (row.name?.utf8.count ?? 0) + row.result.utf8.count
            if bytes > limit { return nil }
            results.append(row)
        }
        return results
    }
}
