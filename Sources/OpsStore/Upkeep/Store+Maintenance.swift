extension Store {
    /// True if a busy time has left work for `tidy`.
    public var wantsTidying: Bool { mayHaveFreePages || log.peak >= Self.idleFrames }

    /// Number of commits. While it stays the same, no client has used the disk.
    public var commits: Int { log.commits }

    /// Does a bounded part of the work for idle times. Returns true while there is more. Unused pages are returned to
    /// the file system first, for that is written to the log, too; then the log is moved into the database and
    /// truncated. Work that cannot be done now is found again after the next commit.
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

    /// Returns up to `pages` unused pages to the file system. Returns true while there are more.
    func vacuum(pages: Int) throws(StoreError) -> Bool {
        try database.execute("PRAGMA incremental_vacuum(\(pages))")
        return try database.integer("PRAGMA freelist_count") > 0
    }

    /// Bounds the log after a commit, if there was no idle time.
    func checkpointWhenLarge() {
        guard log.frames >= Self.mostFrames else { return }
        // The commit is on the disk. A checkpoint that fails loses nothing, and is tried again after the next commit.
        try? checkpoint()
    }

    /// Moves as much of the write-ahead log as possible into the database, without waiting for readers.
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

    /// Moves as much of the log as possible into the database, through a connection of its own, for another thread.
    /// Commits can continue meanwhile, but without checkpoints (`isLogBeingMoved`). The log must not have been moved
    /// already. Returns its number of frames if all of them were moved; `endMove` needs it.
    public static func moveLog(ofDatabaseAt path: String) throws(StoreError) -> Int? {
        let database = try Database(path, .readWrite)
        database.setCheckpointOnClose(false)
        return try database.moveLog(.passive, commitsGoOn: true)
    }

    /// Permits checkpoints again after the log was moved through another connection. `frames`: what `moveLog` returned.
    public func endMove(of frames: Int?) {
        isLogBeingMoved = false
        // Else a commit has added frames since. A new log of the same length is taken for a moved one only until the next
        // commit.
        if frames == log.length { log.isMoved = true }
    }

    /// Frees the pages of the database that are cached in memory.
    public func forgetPages() throws(StoreError) { try database.execute("PRAGMA shrink_memory") }

    private static let idleFrames = 1000
    /// Maximum number of frames in the log before it is moved. A small log is overwritten in place; a sync of a growing
    /// file takes twice the time.
    private static let mostFrames = 1000
    private static let pagesAtOnce = 256
}
