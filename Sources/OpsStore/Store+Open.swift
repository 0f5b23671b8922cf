internal import CSQLite
internal import Glibc

extension Store {
    /// Opens the database of a state directory; creates it if it does not exist, and migrates an older one. Refuses,
    /// without changing it, a file that is damaged, foreign, of a later version, or used by another process.
    public static func open(directory: String, boot: String) throws(StoreError) -> Store {
        let lock = try StateLock(directory: directory)
        let path = directory + "/" + fileName
        let header = try DatabaseHeader.read(path)
        try header?.refuseForeign()
        if header == nil { try refuseTraces(of: path, in: directory) }
        try Database.rewriteLog(of: path)
        unsafe opsd_sqlite3_write_index_in_place(directory, path + "-shm")
        let database = try Database(path, header == nil ? .create : .readWrite)
        // Until `load` has shown that the file belongs to opsd and is sound, closing it must not move its write-ahead
        // log into it.
        database.setCheckpointOnClose(false)
        if try database.isEmpty() { try prepareNew(database) }
        try Schema.bringUpToDate(database)
        try Schema.expectComplete(database)
        try configure(database)
        return try Store(database, boot: boot, lock: lock)
    }

    /// Refuses an empty file if traces show that there was a database: SQLite would remove its log.
    private static func refuseTraces(of path: String, in directory: String) throws(StoreError) {
        var file = stat()
        let isThere = unsafe stat(path, &file) == 0
        for trace in [path + "-wal", directory + "/logs"] {
            var found = stat()
            guard unsafe stat(trace, &found) == 0 else { continue }
            let isLog = found.st_mode & S_IFMT == S_IFREG
            // An empty log of a database that was moved away does not harm a new one.
            guard isLog ? found.st_size > 0 : isThere else { continue }
            throw StoreError(
                .corrupt, "it is \(isThere ? "empty" : "not there"), but \(trace) belongs to a database", file: path,
                advice: "nothing was changed; put a backup in its place (opsctl backup makes them), "
                    + "or move \(trace) away to begin with nothing")
        }
    }

    /// Sets the options that must be chosen before the first page is written.
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
    /// Returns whether nothing was ever stored in the database.
    func isEmpty() throws(StoreError) -> Bool {
        let objects = try integer("SELECT count(*) FROM sqlite_schema")
        return try objects + integer("PRAGMA user_version") == 0
    }
}
