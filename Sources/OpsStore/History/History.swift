/// Reads past and present operations for queries, through a read-only connection of its own.
///
/// Each query sees what was committed before it, and no transaction is open between two queries. It belongs to the
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

    /// Lets all reads from now on see the present state, whatever is committed meanwhile. If it throws, they see later
    /// commits as before.
    public func pinSnapshot() throws(StoreError) {
        do throws(StoreError) {
            try statement("BEGIN").run()
            // The first read determines the state that is seen.
            let first = try statement("SELECT 1 FROM meta")
            defer { first.reset() }
            _ = try first.step()
        } catch {
            database.rollBack()
            throw error
        }
    }

    /// Lets reads see later commits again.
    public func unpinSnapshot() { database.rollBack() }

    /// Reads in one transaction, so that the parts fit together and the file is locked once, not for each statement.
    func inOneRead<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        if database.isInTransaction { return try body() }
        try statement("BEGIN").run()
        defer { database.rollBack() }
        return try body()
    }

    /// Returns the statement for a text, prepared at its first use.
    func statement(_ sql: String) throws(StoreError) -> Statement {
        if let known = kept[sql] { return known }
        let made = try database.prepare(sql)
        // Selections have many forms, and a client could request all of them.
        if kept.count >= Self.mostKept { kept.removeAll() }
        kept[sql] = made
        return made
    }
}
