extension Store {
    /// Opens the database of a state directory, makes it when there is none, and brings an older one up to date.
    /// Refused, and untouched: a damaged file, a foreign one, one of a later version, one that another process holds.
    public static func open(directory: String, boot: String) throws(StoreError) -> Store {
        let lock = try StateLock(directory: directory)
        let path = directory + "/" + fileName
        let header = try DatabaseHeader.read(path)
        try header?.refuseForeign()
        try Database.rewriteLog(of: path)
        let database = try Database(path, header == nil ? .create : .readWrite)
        // Until it is known to be ours and sound (`load`), closing it must not move its write-ahead log into it.
        database.setCheckpointOnClose(false)
        if try database.isEmpty() { try prepareNew(database) }
        try Schema.bringUpToDate(database)
        try Schema.expectComplete(database)
        try configure(database)
        return try Store(database, boot: boot, lock: lock)
    }

    /// Settings that are part of a file from its first page on.
    private static func prepareNew(_ database: Database) throws(StoreError) {
        try database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        try database.execute("PRAGMA journal_mode = WAL")
    }

    private static func configure(_ database: Database) throws(StoreError) {
        try database.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            PRAGMA foreign_keys = ON;
            PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -16384;
            PRAGMA journal_size_limit = 67108864;
            """)
    }
}

extension Database {
    /// Nothing was ever stored in it.
    func isEmpty() throws(StoreError) -> Bool {
        let objects = try integer("SELECT count(*) FROM sqlite_schema")
        return try objects + integer("PRAGMA user_version") == 0
    }
}
