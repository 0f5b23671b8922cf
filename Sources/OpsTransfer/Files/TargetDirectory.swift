internal import Glibc
internal import OpsSystem
internal import Synchronization

/// The directory of a target, opened once, so that later renames do not change where files are written.
final class TargetDirectory: Sendable {
    private let directory: Descriptor
    private let device: UInt64
    private let inode: UInt64
    /// For messages.
    let path: String
    /// Numbers of changes that were made, and that are synced.
    private let changes = Mutex((made: 0, synced: 0))

    /// Maximum number of symbolic links on the way.
    private static let linkLimit = 40

    /// Opens a directory. A symbolic link on the way that another user has put into a sticky directory that all can
    /// write to, as /tmp, is refused, whatever fs.protected_symlinks says.
    init(_ path: String) throws(SystemError) {
        self.path = path
        var names = TargetDirectory.names(path)
        var links = 0
        var current = try TargetDirectory.open(path.hasPrefix("/") ? "/" : ".", in: AT_FDCWD, of: path)
        while let name = names.popLast() {
            do throws(SystemError) {
                current = try TargetDirectory.open(name, in: current.rawValue, of: path)
                continue
            } catch {
                guard error.errno == ENOTDIR || error.errno == ELOOP else { throw error }
            }
            links += 1
            guard links <= TargetDirectory.linkLimit else { throw SystemError("open \(path)", errno: ELOOP) }
            let target = try TargetDirectory.link(name, in: current.rawValue, path)
            names += TargetDirectory.names(target)
            if target.hasPrefix("/") { current = try TargetDirectory.open("/", in: AT_FDCWD, of: path) }
        }
        // Names on the way need only be passed; this one is also synced.
        directory = try TargetDirectory.open(".", in: current.rawValue, of: path, O_RDONLY)
        var status = stat()
        let number = directory.rawValue
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Returns true if the path still leads to this directory.
    func isCurrent() -> Bool {
        var status = stat()
        return unsafe stat(path.isEmpty ? "." : path, &status) == 0 && UInt64(status.st_dev) == device
            && UInt64(status.st_ino) == inode
    }

    /// The names of a path, the first one last.
    private static func names(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }

    /// O_PATH of Linux, which the Swift overlay lacks: no right to read is asked for.
    private static let passing: Int32 = 0x20_0000

    /// Opens a part of a path.
    private static func open(
        _ name: String, in directory: Int32, of path: String, _ access: Int32 = passing
    ) throws(SystemError) -> Descriptor {
        let flags = access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        return Descriptor(
            owning: try retrying("open directory \(path)") { unsafe openat(directory, name, flags) })
    }

    private static func link(_ name: String, in directory: Int32, _ path: String) throws(SystemError) -> String {
        var link = stat()
        try retrying("examine \(name)") { unsafe fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) }
        guard link.st_mode & S_IFMT == S_IFLNK else { throw SystemError("open \(path)", errno: ENOTDIR) }
        var around = stat()
        try retrying("examine \(path)") { unsafe fstat(directory, &around) }
        let isShared = around.st_mode & S_ISVTX != 0 && around.st_mode & 0o002 != 0
        guard !isShared || link.st_uid == geteuid() || link.st_uid == around.st_uid else {
            throw SystemError("follow \(name), the symbolic link of another user, to \(path)", errno: EPERM)
        }
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = try retrying("read link \(name)") { unsafe readlinkat(directory, name, &buffer, buffer.count) }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Opens a regular file that belongs to this user and has no other name. Nil: there is none.
    func open(_ name: String, _ flags: Int32) throws(SystemError) -> Descriptor? {
        let file: Descriptor
        do throws(SystemError) {
            let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
            let number = directory.rawValue
            file = Descriptor(owning: try retrying("open \(shown(name))") { unsafe openat(number, name, flags, 0o600) })
        } catch {
            if error.errno == ENOENT && flags & O_CREAT == 0 { return nil }
            throw error
        }
        let found = try status(file, name)
        guard found.st_mode & S_IFMT == S_IFREG, found.st_uid == geteuid(), found.st_nlink <= 1 else {
            throw SystemError("use \(shown(name)), which is not a private file of this user", errno: EPERM)
        }
        return file
    }

    /// Creates a private file. Nil: something has this name already.
    func create(_ name: String) throws(SystemError) -> Descriptor? {
        let number = directory.rawValue
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        do throws(SystemError) {
            let created = try retrying("create \(shown(name))") { unsafe openat(number, name, flags, 0o600) }
            return Descriptor(owning: created)
        } catch {
            if error.errno == EEXIST { return nil }
            throw error
        }
    }

    func status(_ file: borrowing Descriptor, _ name: String) throws(SystemError) -> stat {
        var status = stat()
        let number = file.rawValue
        try retrying("examine \(shown(name))") { unsafe fstat(number, &status) }
        return status
    }

    /// Nil: nothing has this name. A symbolic link is not followed.
    func status(of name: String) throws(SystemError) -> stat? {
        var status = stat()
        let number = directory.rawValue
        do throws(SystemError) {
            try retrying("examine \(shown(name))") { unsafe fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
            return status
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
    }

    /// Returns whether there was such a file.
    @discardableResult
    func remove(_ name: String) throws(SystemError) -> Bool {
        let number = directory.rawValue
        do throws(SystemError) {
            try retrying("remove \(shown(name))") { unsafe unlinkat(number, name, 0) }
            return true
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    func rename(_ name: String, to other: String) throws(SystemError) {
        let number = directory.rawValue
        try retrying("rename \(shown(name)) to \(other)") { unsafe renameat(number, name, number, other) }
    }

    /// Notes a change of names, and returns its number.
    func noteChange() -> Int {
        changes.withLock { changes in
            changes.made += 1
            return changes.made
        }
    }

    /// Syncs the directory, so that created, renamed and removed names survive a power cut. Does nothing if a sync has
    /// begun after the change of this number.
    func sync(_ change: Int) throws(SystemError) {
        let number = directory.rawValue
        // A thread that has waited here often finds that the sync of another one included its change.
        try changes.withLock { changes throws(SystemError) in
            guard changes.synced < change else { return }
            let made = changes.made
            try retrying("sync \(path)") { fsync(number) }
            changes.synced = made
        }
    }

    func shown(_ name: String) -> String { path == "." ? name : path == "/" ? "/\(name)" : "\(path)/\(name)" }
}

/// The directory that was opened last for a user, as long as a file in it is open: most transfers of a user follow
/// others into the same directory.
final class DirectoryCache: Sendable {
    private struct Content: Sendable { weak var last: TargetDirectory? }
    private let content = Mutex(Content())

    func open(_ path: String) throws(SystemError) -> TargetDirectory {
        if let last = content.withLock({ $0.last }), last.path == path, last.isCurrent() { return last }
        let directory = try TargetDirectory(path)
        content.withLock { $0.last = directory }
        return directory
    }
}
