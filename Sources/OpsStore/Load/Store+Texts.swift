public import OpsCore

extension Store {
    /// Begins one transaction for the following reads, so that the file is not locked for each of them. `endReading`,
    /// the next commit or load ends it.
    public func beginReading() throws(StoreError) {
        if !database.isInTransaction { try statements.beginReading.run() }
    }

    /// Ends the transaction of `beginReading`, if there is one.
    public func endReading() { if database.isInTransaction { database.rollBack() } }

    /// Returns the texts that a launch of the operation needs; nil when there is no such operation.
    public func texts(of id: OperationID) throws(StoreError) -> LaunchTexts? {
        try interned.latestTexts.texts(of: id) { (sql) throws(StoreError) in try kept(sql) }
    }
}

extension History {
    /// Returns the texts of an operation, for helper processes that are started for it.
    public func texts(of id: OperationID) throws(StoreError) -> LaunchTexts? {
        var latest = LatestTexts()
        return try latest.texts(of: id) { (sql) throws(StoreError) in try statement(sql) }
    }
}

/// The last texts that were read and that consecutive launches share. To read them again for each launch would take
/// most of the time of reading. They never change.
struct LatestTexts {
    private var submission = Submission()
    private var queue: (row: Int64, text: String) = (0, "")
    private var details: (row: Int64, text: String) = (0, "")
    private var environment: (row: Int64, text: String) = (0, "")

    private struct Submission {
        var operations: Range<Int64> = 0..<0
        var graph = GraphID(0)
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        var user = ""
    }

    typealias Prepare = (String) throws(StoreError) -> Statement

    mutating func texts(of id: OperationID, _ prepare: Prepare) throws(StoreError) -> LaunchTexts? {
        let row = try prepare(
            """
            SELECT o.name, o.queue, c.body, o.details, o.environment, EXISTS (SELECT 1 FROM edge WHERE operation = o.id)
            FROM operation o LEFT JOIN text c ON c.id = o.command WHERE o.id = ?1
            """)
        row.bind(1, id.rawValue)
        guard try row.step() else { return nil }
        defer { row.reset() }
        if !submission.operations.contains(id.rawValue) { try readSubmission(of: id, prepare) }
        guard submission.operations.contains(id.rawValue) else { return nil }
        try Self.read(&queue, row.int(1), "SELECT name FROM queue WHERE id = ?1", prepare)
        try Self.read(&details, row.int(3), Self.text, prepare)
        try Self.read(&environment, row.int(4), Self.text, prepare)
        return LaunchTexts(
            name: row.optionalText(0), graph: submission.graph, queue: queue.text, command: row.text(2),
            details: details.text, environment: environment.text, uid: submission.uid, gid: submission.gid,
            user: submission.user, hasDependencies: row.bool(5))
    }

    private static let text = "SELECT body FROM text WHERE id = ?1"

    private static func read(
        _ latest: inout (row: Int64, text: String), _ row: Int64, _ sql: String, _ prepare: Prepare
    ) throws(StoreError) {
        if latest.row == row { return }
        let statement = try prepare(sql)
        statement.bind(1, row)
        defer { statement.reset() }
        latest = (row, try statement.step() ? statement.text(0) : "")
    }

    private mutating func readSubmission(of id: OperationID, _ prepare: Prepare) throws(StoreError) {
        let row = try prepare(
            """
            SELECT first, count, graph, uid, gid, user FROM submission WHERE first <= ?1 ORDER BY first DESC LIMIT 1
            """)
        row.bind(1, id.rawValue)
        defer { row.reset() }
        guard try row.step() else { return }
        submission = Submission(
            operations: row.int(0)..<row.int(0) + row.int(1), graph: GraphID(row.int(2)),
            uid: UInt32(truncatingIfNeeded: row.int(3)), gid: UInt32(truncatingIfNeeded: row.int(4)),
            user: row.text(5))
    }
}
