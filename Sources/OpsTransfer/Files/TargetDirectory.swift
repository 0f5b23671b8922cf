internal import Glibc
internal import OpsSystem

/// The directory of a target, opened once, so that later renames do not change where files are written.
final class TargetDirectory {
    private let directory: Descriptor
    /// For messages.
    let path: String

    /// Maximum number of symbolic links on the way.
    private static let linkLimit = 40

    /// Opens a directory. A symbolic link on the way that another user has put into a sticky directory that all can
    /// write to, as /tmp, is refused, whatever fs.protected_symlinks says.
    init(_ path: String) throws(SystemError) {
        self.path = path
        var names = TargetDirectory.names(path)
        var links = 0
        var current = try TargetDirectory.open(path.hasPrefix("/") ? "/" : ".", in: AT_FDCWD)
        while let name = names.popLast() {
            do throws(SystemError) {
                current = try TargetDirectory.open(name, in: current.rawValue)
                continue
            } catch {
                guard error.errno == ENOTDIR || error.errno == ELOOP else { throw error }
            }
            links += 1
            guard links <= TargetDirectory.linkLimit else { throw SystemError("open \(path)", errno: ELOOP) }
            let target = try TargetDirectory.link(name, in: current.rawValue, path)
            names += TargetDirectory.names(target)
            if target.hasPrefix("/") { current = try TargetDirectory.open("/", in: AT_FDCWD) }
        }
        // Names on the way need only be passed; this one is also synced.
        directory = try TargetDirectory.open(".", in: current.rawValue, O_RDONLY)
    }

    /// The names of a path, the first one last.
    private static func names(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }

    /// O_PATH of Linux, which the Swift overlay lacks: no right to read is asked for.
    private static let passing: Int32 = 0x20_0000

    private static func open(_ name: String, in directory: Int32, _ access: Int32 = passing) throws(SystemError)
        -> Descriptor
    {
        let flags = access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        return Descriptor(
            owning: try retrying("open directory \(name)") { unsafe openat(directory, name, flags) })
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

    /// Opens a regular file that belongs to this user and that no other user can write to. Nil: there is none.
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
        guard found.st_mode & S_IFMT == S_IFREG, found.st_uid == geteuid(), found.st_nlink <= 1,
            found.st_mode & 0o022 == 0
        else {
            throw SystemError("use \(shown(name)), which is not a private file of this user", errno: EPERM)
        }
        return file
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

    /// Syncs the directory, so that created, renamed and removed names survive a power cut.
    func sync() throws(SystemError) {
        let number = directory.rawValue
        try retrying("sync \(path)") { fsync(number) }
    }

    func shown(_ name: String) -> String { path == "." ? name : path == "/" ? "/\(name)" : "\(path)/\(name)" }
}
