public import OpsCore

extension History {
    /// Returns the events after `sequence`, oldest first, at most `limit` of them. Fewer than that means that there are
    /// no more.
    public func events(after sequence: Int64, limit: Int) throws(StoreError) -> [Report] {
        let rows = try statement("\(Self.eventColumns) WHERE seq > ?1 ORDER BY seq LIMIT ?2")
        rows.bind(1, sequence)
        rows.bind(2, limit)
        defer { rows.reset() }
        var reports: [Report] = []
        while try rows.step() { reports.append(try report(rows)) }
        return reports
    }

    /// Returns the newest event of a kind of an operation, searched among a number of the latest events.
    public func newestEvent(
        _ kind: Report.Kind, of operation: OperationID, product: OperationID? = nil, amongLast count: Int64
    ) throws(StoreError) -> Report? {
        let rows = try statement(
            """
            \(Self.eventColumns) WHERE seq > (SELECT max(seq) FROM event) - ?4
            AND operation = ?1 AND kind = ?2 AND product IS ?3 ORDER BY seq DESC LIMIT 1
            """)
        defer { rows.reset() }
        rows.bind(1, operation.rawValue)
        rows.bind(2, kind.stored)
        rows.bind(3, product?.rawValue)
        rows.bind(4, count)
        return try rows.step() ? try report(rows) : nil
    }

    private static let eventColumns =
        "SELECT seq, at, kind, operation, graph, old, new, outcome, product, detail FROM event"

    private func report(_ rows: Statement) throws(StoreError) -> Report {
        guard let kind = Report.Kind(stored: rows.int(2)) else {
            throw StoreError(.corrupt, "event \(rows.int(0)) has an unknown kind", file: database.path)
        }
        return Report(
            sequence: rows.int(0), kind: kind, operation: rows.optionalInt(3).map { OperationID($0) },
            graph: rows.optionalInt(4).map { GraphID($0) },
            old: rows.optionalInt(5).flatMap { OperationState(stored: $0) },
            new: rows.optionalInt(6).flatMap { OperationState(stored: $0) },
            product: rows.optionalInt(8).map { OperationID($0) },
            outcome: Outcome(stored: rows.optionalInt(7)), at: rows.time(1),
            detail: rows.optionalText(9))
    }
}
