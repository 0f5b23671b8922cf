internal import Glibc

extension History {
    /// Begins a consistent copy of what is stored now, whatever is committed meanwhile; drive it with `step`.
    /// This connection reads nothing newer until it is closed: it is one for the copy alone.
    public func backUp(to path: String) throws(StoreError) -> RunningBackup {
        try hold()
        return try RunningBackup(of: database, to: path)
    }
}

/// A backup under way. The file has its name only once it is whole and on the disk; dropped half way, it is gone.
public final class RunningBackup {
    let path: String
    private let part: String
    private var backup: Backup?

    init(of database: Database, to path: String) throws(StoreError) {
        self.path = path
        part = path + ".part"
        // What an earlier, interrupted backup left is no database to go on with.
        unsafe unlink(part)
        do throws(StoreError) {
            backup = try Backup(from: database, to: part)
        } catch {
            unsafe unlink(part)
            throw error
        }
    }

    deinit {
        guard backup != nil else { return }
        backup = nil
        unsafe unlink(part)
    }

    /// Copies some pages; true while there are more.
    public func step(pages: Int32 = 1000) throws(StoreError) -> Bool {
        guard let backup else { return false }
        if try backup.step(pages: pages) { return true }
        // Closing the copy completes it before it gets its name.
        self.backup = nil
        guard unsafe rename(part, path) == 0 else {
            let code = errno
            unsafe unlink(part)
            throw StoreError(
                .ioError, "cannot rename the finished copy: \(unsafe String(cString: strerror(code)))", file: path)
        }
        return false
    }
}
