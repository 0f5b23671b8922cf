internal import CSQLite
internal import OpsCore

/// A prepared statement, kept for the life of its connection. Bind every parameter, then `run` it or `step` through it.
@safe
final class Statement {
    private let handle: OpaquePointer
    private let database: Database
    /// Code of the first binding that failed (out of memory, text too long). The next step throws it.
    private var bindFailure: Int32 = SQLITE_OK

    init(_ sql: String, _ database: Database) throws(StoreError) {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let made = unsafe prepared else { throw database.error(code, doing: sql) }
        unsafe handle = made
        self.database = database
    }

    deinit { unsafe sqlite3_finalize(handle) }

    // MARK: Parameters, numbered from 1

    func bind(_ index: Int32, _ value: Int64) { unsafe note(sqlite3_bind_int64(handle, index, value)) }
    func bind(_ index: Int32, _ value: some BinaryInteger) { bind(index, Int64(value)) }
    func bind(_ index: Int32, _ value: Bool) { bind(index, value ? 1 as Int64 : 0) }
    func bindNull(_ index: Int32) { unsafe note(sqlite3_bind_null(handle, index)) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    func bind(_ index: Int32, _ time: some NanosecondCount) { bind(index, time.nanoseconds) }
    func bind(_ index: Int32, _ time: (some NanosecondCount)?) { bind(index, time?.nanoseconds) }

    func bind(_ index: Int32, _ text: String) {
        // SQLite copies the text: a binding outlives this call.
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        var text = text
        let code = text.withUTF8 { bytes -> Int32 in
            // An empty buffer may have no address, which would bind NULL.
            guard let start = bytes.baseAddress else {
                return unsafe sqlite3_bind_text(handle, index, "", 0, transient)
            }
            return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                unsafe sqlite3_bind_text64(
                    handle, index, $0, UInt64(bytes.count), transient, UInt8(SQLITE_UTF8))
            }
        }
        note(code)
    }

    func bind(_ index: Int32, _ text: String?) {
        if let text { bind(index, text) } else { bindNull(index) }
    }

    private func note(_ code: Int32) {
        if code != SQLITE_OK, bindFailure == SQLITE_OK { bindFailure = code }
    }

    // MARK: Running

    /// Steps to the next row; returns false after the last one. Then the statement is ready for new parameters.
    func step() throws(StoreError) -> Bool {
        if bindFailure != SQLITE_OK {
            let code = bindFailure
            bindFailure = SQLITE_OK
            reset()
            throw database.error(code, doing: sql)
        }
        do throws(StoreError) {
            try database.countRow()
        } catch {
            reset()
            throw error
        }
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        case let code:
            let error = database.error(code, doing: sql)
            reset()
            throw error
        }
    }

    /// Runs a statement that returns no rows.
    func run() throws(StoreError) {
        while try step() {}
    }

    /// Ends a read before its last row; an open one would keep its snapshot of the database alive.
    func reset() { unsafe sqlite3_reset(handle) }

    var sql: String { unsafe sqlite3_sql(handle).map { unsafe String(cString: $0) } ?? "" }

    // MARK: Columns, numbered from 0

    func int(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }
    func int32(_ column: Int32) -> Int32 { unsafe sqlite3_column_int(handle, column) }
    func bool(_ column: Int32) -> Bool { int32(column) != 0 }
    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }
    func optionalInt(_ column: Int32) -> Int64? { isNull(column) ? nil : int(column) }
    func optionalInt32(_ column: Int32) -> Int32? { isNull(column) ? nil : int32(column) }
    func time<Time: NanosecondCount>(_ column: Int32) -> Time { Time(nanoseconds: int(column)) }
    func optionalTime<Time: NanosecondCount>(_ column: Int32) -> Time? { isNull(column) ? nil : time(column) }
    /// Reads a moment from the column of its monotonic instant and the column after that.
    func moment(_ column: Int32) -> Moment { Moment(monotonic: time(column), wall: time(column + 1)) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func text(_ column: Int32) -> String {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
