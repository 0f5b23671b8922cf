internal import CSQLite
internal import Glibc

/// One connection to one file. It belongs to the thread that made it and is deliberately not `Sendable`.
@safe
final class Database {
    enum Access {
        case readOnly, readWrite
        /// Opens for reading and writing, and creates the file if it does not exist.
        case create
        /// As `create`, but refuses a symbolic link: for a copy in a directory that others can write.
        case createInPlace
    }
    let handle: OpaquePointer
    let path: String
    /// True if the pages that the log's index counts as moved into the database are known to be on disk (`checkpoint`).
    var movedIsOnDisk = false
    /// Returns true if the present read has taken too long (`interrupting`).
    var isOver: (() -> Bool)?
    /// Number of rows that were read while a limit was set.
    var rows = 0
    /// Configures SQLite once, before its first use. If another part of the process has used SQLite before, the call
    /// has no effect.
    static let isConfigured = opsd_sqlite3_omit_memory_statistics() == SQLITE_OK

    init(_ path: String, _ access: Access) throws(StoreError) {
        let mode =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .createInPlace: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
            }
        _ = Self.isConfigured
        if access == .create && path != ":memory:" { Self.makePrivate(path, flags: 0) }
        if access == .createInPlace { Self.makePrivate(path, flags: O_NOFOLLOW) }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &opened, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let made = unsafe opened else {
            // Even a failed open leaves a handle to close.
            unsafe sqlite3_close_v2(opened)
            throw StoreError(ResultCode.kind(code), ResultCode.text(code), file: path)
        }
        unsafe handle = made
        self.path = path
        setPatience(milliseconds: Self.patience)
    }

    /// Sets the time for which a statement waits for a lock of another connection.
    func setPatience(milliseconds: Int32) { unsafe sqlite3_busy_timeout(handle, milliseconds) }

    static let patience: Int32 = 2000

    /// Makes the file private: SQLite would make it readable for all, and it contains environments. Its log gets the
    /// same mode.
    private static func makePrivate(_ path: String, flags: Int32) {
        let made = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0o600)
        // If it cannot be made, SQLite fails for the same reason and reports it.
        if made >= 0 { close(made) }
    }

    // With v2 the connection ends with the last of its statements, in any order.
    deinit { unsafe sqlite3_close_v2(handle) }

    /// Runs statements without parameters and drops their rows.
    func execute(_ sql: String) throws(StoreError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw error(code, doing: sql) }
    }

    func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(sql, self) }

    /// Returns the first column of the first row, for pragmas and counts; 0 if there is no row.
    func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : 0
    }

    /// Writes everything that `body` writes, or nothing.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            rollBack()
            throw error
        }
    }

    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Ends an open transaction after any failure. SQLite has ended some transactions by itself.
    func rollBack() {
        guard isInTransaction else { return }
        // A rollback only discards changes. It reports the error that made it necessary, which the caller already has.
        unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }

    /// Sets if closing the last connection moves the write-ahead log into the file and removes the log.
    func setCheckpointOnClose(_ isOn: Bool) {
        unsafe opsd_sqlite3_set_option(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isOn ? 0 : 1)
    }

    /// Number of rows that the latest statement has changed.
    var changes: Int { unsafe Int(sqlite3_changes64(handle)) }

    func error(_ code: Int32, doing sql: String) -> StoreError {
        if ResultCode.kind(code) == .corrupt, hasDeviceFailed {
            return StoreError(.ioError, "the device cannot be read (SQLite \(code))", file: path)
        }
        let said = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
        let message = said.isEmpty || said == "not an error" ? ResultCode.text(code) : "\(said) (SQLite \(code))"
        let kind = ResultCode.kind(code)
        // The statement does not help if the disk is full.
        guard kind == .other else { return StoreError(kind, message, file: path) }
        // A migration has hundreds of lines; the message is one.
        let beginning = sql.prefix(200).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return StoreError(kind, "\(message) in: \(beginning)", file: path)
    }

    /// True if the system has failed to read the file. SQLite reports this as damage, but the file may be sound when
    /// the disk works again.
    private var hasDeviceFailed: Bool { unsafe opsd_sqlite3_has_device_failed(handle) != 0 }
}
