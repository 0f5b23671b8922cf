public import OpsCore

extension Store {
    /// What the dependencies of an operation have published, each by its latest attempt: for a launch, from the
    /// connection whose pages are at hand.
    public func results(for id: OperationID) throws(StoreError) -> [(id: OperationID, name: String?, result: String)] {
        let rows = try kept(
            """
            SELECT DISTINCT d.id, d.name, a.result FROM edge e JOIN operation d ON d.id = e.dependency
            JOIN attempt a ON a.operation = d.id AND a.number = d.attempt
            WHERE e.operation = ?1 AND a.result IS NOT NULL ORDER BY d.id
            """)
        rows.bind(1, id.rawValue)
        var results: [(id: OperationID, name: String?, result: String)] = []
        while try rows.step() {
            results.append((id: OperationID(rows.int(0)), name: rows.optionalText(1), result: rows.text(2)))
        }
        return results
    }
}
