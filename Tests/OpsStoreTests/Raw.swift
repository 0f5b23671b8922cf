import CSQLite
import Testing

/// The database as any program may open it, without the store.
final class Raw {
    private(set) var handle: OpaquePointer?

    init(_ path: String) throws {
        // Bypasses the faults that a test may have injected.
        try #require(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix") == SQLITE_OK)
    }

    deinit { sqlite3_close(handle) }

    func integer(_ sql: String) throws -> Int64 {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_step(statement) == SQLITE_ROW)
        return sqlite3_column_int64(statement, 0)
    }

    func run(_ sql: String) throws {
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    /// Returns a column of all rows.
    func texts(_ sql: String, column: Int32 = 0) throws -> [String] {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, "\(sql)")
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            texts.append(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
        }
        return texts
    }
}
