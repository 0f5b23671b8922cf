/// The read side: a read-only connection of its own, for what people ask about the past and the present.
///
/// It sees what was committed before each of its queries and holds no transaction between them. It belongs to the
/// thread that opened it; another thread opens another one.
public final class History {
    let database: Database

    public static func open(path: String) throws(StoreError) -> History { try History(path) }

    private init(_ path: String) throws(StoreError) {
        database = try Database(path, .readOnly)
        try database.execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA query_only = 1")
    }

    private var kept: [String: Statement] = [:]
    private static let mostKept = 256

    /// From now on everything is read as it is at this moment, whatever is committed meanwhile.
    public func pinSnapshot() throws(StoreError) {
        try statement("BEGIN").run()
        // The first read decides what is seen.
        let first = try statement("SELECT 1 FROM meta")
        defer { first.reset() }
        _ = try first.step()
    }

    /// Reads what is committed again.
    public func letGo() { database.rollBack() }

    /// Reads in one transaction, so that the parts fit together and the file is locked once, not for each statement.
    func inOneRead<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        if database.isInTransaction { return try body() }
        try statement("BEGIN").run()
        defer { database.rollBack() }
        return try body()
    }

    /// The statement for a text, prepared at its first use.
    func statement(_ sql: String) throws(StoreError) -> Statement {
        if let known = kept[sql] { return known }
        let made = try database.prepare(sql)
        // Selections are of many forms; a client could ask for all of them.
        if kept.count >= Self.mostKept { kept.removeAll() }
        kept[sql] = made
        return made
    }
}
