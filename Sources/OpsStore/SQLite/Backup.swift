internal import CSQLite

/// A consistent copy of a database that stays in use meanwhile, made in steps.
@safe
final class Backup {
    private let handle: OpaquePointer
    private let target: Database

    init(from source: Database, to path: String) throws(StoreError) {
        target = try Database(path, .createInPlace)
        guard let begun = unsafe sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.error(unsafe sqlite3_extended_errcode(target.handle), doing: "backup")
        }
        unsafe handle = begun
    }

    deinit { unsafe sqlite3_backup_finish(handle) }

    /// Copies some pages. Returns true while there are more.
    func step(pages: Int32) throws(StoreError) -> Bool {
        switch unsafe sqlite3_backup_step(handle, pages) {
        case SQLITE_OK: return true
        case SQLITE_DONE: return false
        case let code: throw target.error(code, doing: "backup")
        }
    }
}
