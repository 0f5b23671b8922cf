internal import CSQLite

/// The write-ahead log and failed syncs. The kernel reports a failed sync once, and then treats the data as written.
///
/// After a failed sync the kernel marks the pages as clean: it still returns their content for some time, but no later
/// sync writes them. So pages that were not synced must be written again; to sync them again is not enough.
extension Database {
    /// Extent of a checkpoint.
    enum Checkpoint {
        /// As many pages as possible without waiting for readers.
        case passive
        /// All pages; then the log is truncated.
        case truncating

        fileprivate var mode: Int32 { self == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE }
    }

    /// Moves the log into the database as far as readers permit. Returns true if all of it was moved.
    func checkpoint(_ kind: Checkpoint) throws(StoreError) -> Bool { try moveLog(kind) != nil }

    /// Moves the log into the database as far as readers permit. Returns its number of frames if all of it was moved.
    /// `commitsGoOn`: another connection commits meanwhile.
    ///
    /// SQLite counts the frames that a partial checkpoint has moved without a sync, and does not move them again: if
    /// the sync of a later checkpoint failed, their pages would be lost when the log starts over. So the count is kept
    /// only after a successful sync; else the next checkpoint begins with the first frame.
    func moveLog(_ kind: Checkpoint, commitsGoOn: Bool = false) throws(StoreError) -> Int? {
        if !movedIsOnDisk { try forgetMoved() }
        var frames: Int32 = -1
        var moved: Int32 = -1
        var code = unsafe sqlite3_wal_checkpoint_v2(handle, "main", kind.mode, &frames, &moved)
        // There is a reader: as much as possible was checkpointed.
        if code == SQLITE_BUSY { code = SQLITE_OK }
        if code == SQLITE_OK, moved < frames || commitsGoOn { code = unsafe opsd_sqlite3_sync(handle) }
        if code == SQLITE_OK { return frames >= 0 && moved == frames ? Int(frames) : nil }
        let failure = error(code, doing: "checkpoint")
        movedIsOnDisk = false
        // Done at once, since readers read pages that count as moved from the database; if it fails, it is done before
        // the next checkpoint.
        try? forgetMoved()
        throw failure
    }

    private func forgetMoved() throws(StoreError) {
        // The first read opens the log's index.
        _ = try integer("PRAGMA schema_version")
        let code = unsafe opsd_sqlite3_forget_moved(handle)
        if code != SQLITE_OK { throw error(code, doing: "begin checkpoints again") }
        movedIsOnDisk = true
    }

    /// Writes the log again that an earlier process has left at `path`. If a sync of that process has failed, its pages
    /// may be readable although they are not on the disk, and are lost with the power. Later frames after such a hole
    /// would be lost too, while the database may already contain newer pages. The log must be rewritten before it is
    /// read, so that everything that is read is on the disk.
    static func rewriteLog(of path: String) throws(StoreError) {
        _ = isConfigured
        // The first sync may report a failure of the earlier process; the second one is about the pages that are
        // written here.
        var code = unsafe opsd_sqlite3_rewrite_log(path, path + "-wal")
        if code != SQLITE_OK { code = unsafe opsd_sqlite3_rewrite_log(path, path + "-wal") }
        if code != SQLITE_OK { throw StoreError(ResultCode.kind(code), ResultCode.text(code), file: path) }
    }
}
