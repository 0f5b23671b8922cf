internal import CSQLite

/// The write-ahead log and the disk: what the kernel was told to bring there and could not, it holds for done ever after.
///
/// After a failed sync the pages concerned are clean to the kernel: it shows them for some time, and no later sync tries
/// again. So whatever is built on a page that was not synced has to be written once more, not synced once more.
extension Database {
    /// Extent of a checkpoint.
    enum Checkpoint {
        /// As many pages as possible without waiting for readers.
        case passive
        /// All of it, and the log's room goes back to the file system.
        case truncating

        fileprivate var mode: Int32 { self == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE }
    }

    /// Moves the log into the database as far as readers let it; true when that was all of it. `commitsGoOn`: another
    /// connection commits meanwhile.
    ///
    /// SQLite counts what a checkpoint in part has moved without a sync, and moves it no second time: should the sync
    /// of a later one fail, those pages would be lost when the log starts over. So the count holds only once a sync
    /// has succeeded, and otherwise the next checkpoint begins with the first frame.
    func checkpoint(_ kind: Checkpoint, commitsGoOn: Bool = false) throws(StoreError) -> Bool {
        if !movedIsOnDisk { try forgetMoved() }
        var frames: Int32 = -1
        var moved: Int32 = -1
        var code = unsafe sqlite3_wal_checkpoint_v2(handle, "main", kind.mode, &frames, &moved)
        // Somebody reads: what could be moved was moved.
        if code == SQLITE_BUSY { code = SQLITE_OK }
        if code == SQLITE_OK, moved < frames || commitsGoOn { code = unsafe opsd_sqlite3_sync(handle) }
        if code == SQLITE_OK { return frames >= 0 && moved == frames }
        let failure = error(code, doing: "checkpoint")
        movedIsOnDisk = false
        // At once, for readers take from the database what counts as moved; if not now, before the next checkpoint.
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

    /// Writes what an earlier process has left in the log of `path` once more. When that process was told that a sync
    /// had failed, those pages may be read back as if they had been stored, until the power goes: built upon, they would
    /// be a hole in the log, and what the log has before it would lie over a database that is ahead of it. To be done
    /// before anybody reads them, so that what is read is what is on the disk.
    static func rewriteLog(of path: String) throws(StoreError) {
        _ = isConfigured
        // The first sync may tell of what the earlier process wrote; of what is written here the second one does.
        var code = unsafe opsd_sqlite3_rewrite_log(path, path + "-wal")
        if code != SQLITE_OK { code = unsafe opsd_sqlite3_rewrite_log(path, path + "-wal") }
        if code != SQLITE_OK { throw StoreError(ResultCode.kind(code), ResultCode.text(code), file: path) }
    }
}
