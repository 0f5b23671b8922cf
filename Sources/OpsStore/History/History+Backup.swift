internal import Glibc

extension History {
    /// Begins a consistent copy of the present state, whatever is committed meanwhile. The caller calls `step`
    /// repeatedly. This connection reads nothing newer until it is closed: it is one for the copy alone.
    ///
    /// `replacesAnything`: the copy may take the name of any file, not only that of an earlier copy.
    public func backUp(to path: String, replacesAnything: Bool = false) throws -> RunningBackup {
        let target = try BackupDestination(path, of: database.path, replacesAnything: replacesAnything)
        return try copy(to: target.path, through: try target.makePart())
    }

    /// Begins a copy to a path that was checked before.
    func copy(to path: String, through part: String) throws(StoreError) -> RunningBackup {
        try pinSnapshot()
        return try RunningBackup(of: database, to: path, through: part)
    }
}

/// A backup in progress. The file gets its name only when it is complete and on the disk; if the backup is dropped
/// before, the file is removed.
public final class RunningBackup {
    let path: String
    private let part: String
    private var backup: Backup?

    /// `part` is the file of the unfinished copy, made for it if it exists.
    init(of database: Database, to path: String, through part: String) throws(StoreError) {
        self.path = path
        self.part = part
        do throws(StoreError) {
            backup = try Backup(from: database, to: part)
        } catch {
            removePart()
            throw error
        }
    }

    deinit { giveUp() }

    /// Copies some pages. Returns true while there are more.
    public func step(pages: Int32 = 1000) throws(StoreError) -> Bool {
        guard backup != nil else { return false }
        do throws(StoreError) {
            if try backup?.step(pages: pages) == true { return true }
        } catch {
            giveUp()
            throw error
        }
        // Closing the copy completes it before it gets its name.
        self.backup = nil
        guard unsafe rename(part, path) == 0 else {
            let code = errno
            removePart()
            throw StoreError(
                .ioError, "cannot rename the finished copy: \(unsafe String(cString: strerror(code)))", file: path)
        }
        try syncName()
        return false
    }

    /// Brings the new name to the disk, as far as the directory can be read.
    private func syncName() throws(StoreError) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let directory = unsafe open(String(path[...slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        // Some file systems do not sync directories.
        guard fsync(directory) != 0, errno != EINVAL else { return }
        let code = errno
        throw StoreError(
            .ioError, "cannot sync the directory of the copy: \(unsafe String(cString: strerror(code)))", file: path)
    }

    private func giveUp() {
        guard backup != nil else { return }
        // The copy is closed, and so written for the last time, before it is removed.
        backup = nil
        removePart()
    }

    private func removePart() {
        for suffix in ["", "-journal"] { unsafe unlink(part + suffix) }
    }
}
