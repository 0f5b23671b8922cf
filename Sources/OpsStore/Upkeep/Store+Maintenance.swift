extension Store {
    /// True if a busy time has left work for `tidy`.
    public var wantsTidying: Bool { mayHaveFreePages || log.peak >= Self.idleFrames }

    /// Number of commits. While it stays the same, no client has used the disk.
    public var commits: Int { log.commits }

    /// One bounded piece of what is done when there is nothing else to do; true while there is more of it.
    /// Pages that nobody uses go back to the file system first, for that is written to the log too; then the log is
    /// moved into the database and cut. What cannot be done now is found again after the next commit.
    public func tidy() throws(StoreError) -> Bool {
        if needsRecovery { return false }
        if mayHaveFreePages {
            mayHaveFreePages = false
            mayHaveFreePages = try vacuum(pages: Self.pagesAtOnce)
            checkpointWhenLarge()
        } else if wantsTidying {
            try cutLog()
        }
        return wantsTidying
    }

    /// Gives up to `pages` unused pages back to the file system; true while there are more.
    func vacuum(pages: Int) throws(StoreError) -> Bool {
        try database.execute("PRAGMA incremental_vacuum(\(pages))")
        return try database.integer("PRAGMA freelist_count") > 0
    }

    /// After a commit: bounds the log when there was never time.
    func checkpointWhenLarge() {
        guard log.frames >= Self.mostFrames else { return }
        // The commit is on the disk; a checkpoint that fails loses nothing and is tried again after the next.
        try? checkpoint()
    }

    /// Moves what it can of the write-ahead log into the database, without waiting for readers.
    public func checkpoint() throws(StoreError) {
        // Two checkpoints and a commit at once can damage the database: the WAL-reset bug of SQLite before 3.51.3.
        if isLogBeingMoved { return }
        log.frames = 0
        log.isMoved = try database.checkpoint(.passive)
    }

    /// Does the same, and truncates the log unless another connection reads from it.
    func cutLog() throws(StoreError) {
        if isLogBeingMoved { return }
        log.frames = 0
        log.peak = 0
        database.setPatience(milliseconds: 0)
        defer { database.setPatience(milliseconds: Database.patience) }
        log.isMoved = try database.checkpoint(.truncating)
    }

    /// True if the log has grown so long that moving it into the database would delay the caller.
    public var hasLongLog: Bool { log.peak >= Self.mostFrames && !log.isMoved }

    /// Moves what it can of the log into the database through a connection of its own: for another thread. Commits go
    /// on meanwhile; checkpoints of theirs must not (`isLogBeingMoved`), and the log must not have been moved already.
    public static func moveLog(ofDatabaseAt path: String) throws(StoreError) {
        let database = try Database(path, .readWrite)
        database.setCheckpointOnClose(false)
        _ = try database.checkpoint(.passive, commitsGoOn: true)
    }

    /// Frees the pages of the database that are kept in memory; what is needed again is read again.
    public func forgetPages() throws(StoreError) { try database.execute("PRAGMA shrink_memory") }

    private static let idleFrames = 1000
    /// Small enough for the log to be written over and over in place: growing the file costs a sync twice the time.
    private static let mostFrames = 1000
    private static let pagesAtOnce = 256
}
