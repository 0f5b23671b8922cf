internal import CSQLite

/// Number of pages in the write-ahead log of a connection, which SQLite reports after every commit.
/// It replaces SQLite's automatic checkpoints, which it turns off.
@safe
final class LogSize {
    var frames = 0
    /// Number of pages in the file after the last commit.
    private(set) var length = 0
    /// Largest number of pages since the file was truncated.
    var peak = 0
    /// True if all pages were moved into the database.
    var isMoved = false
    private(set) var commits = 0

    init(of database: Database) {
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe sqlite3_wal_hook(
            database.handle,
            { size, _, _, frames in
                // The owner of the connection keeps this object until the connection is closed.
                if let size = unsafe size {
                    unsafe Unmanaged<LogSize>.fromOpaque(size).takeUnretainedValue().committed(Int(frames))
                }
                return SQLITE_OK
            }, this)
    }

    private func committed(_ frames: Int) {
        self.frames = frames
        length = frames
        isMoved = false
        peak = max(peak, frames)
        commits &+= 1
    }
}
