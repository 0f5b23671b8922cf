extension Store {
    /// Gives up to `pages` unused pages back to the file system; true while there are more.
    public func vacuum(pages: Int) throws(StoreError) -> Bool {
        try database.execute("PRAGMA incremental_vacuum(\(pages))")
        return try database.integer("PRAGMA freelist_count") > 0
    }

    /// Moves the write-ahead log into the database once it has grown: for when there is nothing else to do.
    /// Left undone, it happens after some commit, and who waits for the next turn waits for it.
    public func checkpointWhenIdle() throws(StoreError) {
        if log.frames >= Self.idleFrames { try checkpoint() }
    }

    /// After a commit: bounds the log when there was never time.
    func checkpointWhenLarge() {
        guard log.frames >= Self.mostFrames else { return }
        // The commit is on the disk; a checkpoint that fails loses nothing and is tried again after the next.
        try? checkpoint()
    }

    /// Moves what it can of the write-ahead log into the database, without waiting for readers.
    public func checkpoint() throws(StoreError) {
        log.frames = 0
        try database.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    private static let idleFrames = 1000
    private static let mostFrames = 8000
}
