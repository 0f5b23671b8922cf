public import OpsCore

extension Store {
    /// From now on reads are one transaction, which locks the file once and not for each of them; until `endReading`,
    /// or the next commit or load.
    public func beginReading() throws(StoreError) {
        if !database.isInTransaction { try statements.beginReading.run() }
    }

    /// Where there is nothing to end it does nothing.
    public func endReading() { if database.isInTransaction { database.rollBack() } }

    /// What a launch of the operation needs; nil when there is no such operation.
    public func texts(of id: OperationID) throws(StoreError) -> LaunchTexts? {
        try LaunchTexts.read(id, launchTexts)
    }
}

extension History {
    /// The same, for what is started beside the operation.
    public func texts(of id: OperationID) throws(StoreError) -> LaunchTexts? {
        try LaunchTexts.read(id, statement(LaunchTexts.sql))
    }
}

extension LaunchTexts {
    fileprivate static func read(_ id: OperationID, _ statement: Statement) throws(StoreError) -> LaunchTexts? {
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return LaunchTexts(
            name: statement.optionalText(0), graph: GraphID(statement.int(1)), queue: statement.text(2),
            command: statement.text(3), details: statement.text(4), environment: statement.text(5),
            uid: UInt32(truncatingIfNeeded: statement.int(6)), gid: UInt32(truncatingIfNeeded: statement.int(7)),
            user: statement.text(8), hasDependencies: statement.bool(9))
    }

    static let sql = """
        SELECT o.name, s.graph, q.name, c.body, d.body, e.body, s.uid, s.gid, s.user,
            EXISTS (SELECT 1 FROM edge WHERE operation = o.id)
        FROM operation o
        JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
        JOIN queue q ON q.id = o.queue
        LEFT JOIN text c ON c.id = o.command
        LEFT JOIN text d ON d.id = o.details
        LEFT JOIN text e ON e.id = o.environment
        WHERE o.id = ?1
        """
}
