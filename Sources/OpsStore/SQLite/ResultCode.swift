internal import CSQLite

/// Translates result codes of SQLite to kinds of `StoreError`.
enum ResultCode {
    /// SQLITE_IOERR_SHMSIZE: no room to extend the index of the log, which other processes share.
    private static let noRoomForIndex = SQLITE_IOERR | 19 << 8

    static func kind(_ code: Int32) -> StoreError.Kind {
        if code == noRoomForIndex { return .full }
        return switch code & 0xff {
        case SQLITE_FULL: .full
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOLFS: .ioError
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .readOnly
        case SQLITE_CORRUPT: .corrupt
        case SQLITE_NOTADB: .notADatabase
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_INTERRUPT: .interrupted
        default: .other
        }
    }

    /// Returns the message of SQLite for a code, with its number: extended codes have no messages of their own.
    static func text(_ code: Int32) -> String {
        guard let words = unsafe sqlite3_errstr(code) else { return "SQLite error \(code)" }
        return unsafe "\(String(cString: words)) (SQLite \(code))"
    }
}
