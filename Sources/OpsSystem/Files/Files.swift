internal import COpsSpawn
internal import Glibc

/// Identity of a file that exists: another file that takes its name is not equal.
public struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// Identifies the file with this name, and not that which a link names; nil: there is none, or it cannot be examined.
    public init?(of path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }
}

/// Operations on whole files and directories.
public enum Files {
    public static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let number = try retrying("open \(path)") { unsafe open(path, O_RDONLY | O_CLOEXEC) }
        let descriptor = Descriptor(owning: number)
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard case .moved = try descriptor.read(atMost: min(65_536, limit + 1), onto: &bytes) else { return bytes }
        }
        throw SystemError("read \(path)", errno: EFBIG)
    }

    /// Reads a file whose path another user has chosen: an ordinary file of at most `limit` bytes, and nothing else. To open
    /// a device or a pipe may wait, or have effects.
    public static func readOrdinary(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let reference = Descriptor(
            owning: try retrying("open \(path)") { unsafe ops_open_reference(path) })
        var status = stat()
        let number = reference.rawValue
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        // Files that the kernel makes up have no size; reading some of them removes messages.
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            throw SystemError("read \(path)", errno: EINVAL)
        }
        return try read("/proc/self/fd/\(number)", limit: limit)
    }

    /// Reads a file; `nil`: there is no such file (or, below /proc, no such process).
    public static func readIfPresent(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try read(path, limit: limit)
        } catch {
            if error.errno == ENOENT || error.errno == ESRCH || error.errno == ENOTDIR { return nil }
            throw error
        }
    }

    /// Writes to a file of the kernel, in one write.
    static func write(_ text: String, to path: String) throws(SystemError) {
        let number = try retrying("open \(path)") { unsafe open(path, O_WRONLY | O_CLOEXEC) }
        let descriptor = Descriptor(owning: number)
        guard try descriptor.writeAll(Array(text.utf8)) else { throw SystemError("write \(path)", errno: EPIPE) }
    }

    /// Replaces a file. A reader, or a crash at any moment, finds either the old or the new one complete.
    public static func replace(_ path: String, with bytes: [UInt8], mode: UInt32) throws(SystemError) {
        let fresh = path + ".new"
        do {
            let descriptor = try writeNew(fresh, bytes, mode)
            let number = descriptor.rawValue
            try retrying("sync \(fresh)") { fdatasync(number) }
        }
        try retrying("rename \(fresh)") { unsafe rename(fresh, path) }
        try syncDirectory(holding: path)
    }

    /// Replaces a file. A reader finds either the old or the new one complete. If the machine stops soon after, both may be
    /// lost.
    public static func replaceWithoutSync(_ path: String, with bytes: [UInt8], mode: UInt32) throws(SystemError) {
        let fresh = path + ".new"
        _ = try writeNew(fresh, bytes, mode)
        try retrying("rename \(fresh)") { unsafe rename(fresh, path) }
    }

    private static func writeNew(_ path: String, _ bytes: [UInt8], _ mode: UInt32) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
        let descriptor = Descriptor(owning: try retrying("create \(path)") { unsafe open(path, flags, mode) })
        guard try descriptor.writeAll(bytes) else { throw SystemError("write \(path)", errno: EPIPE) }
        return descriptor
    }

    /// Makes a file that does not exist, and opens it for writing.
    public static func create(_ path: String, mode: UInt32) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        return Descriptor(owning: try retrying("create \(path)") { unsafe open(path, flags, mode) })
    }

    /// Syncs the directory of `path`, so that names just created or renamed in it survive a crash.
    static func syncDirectory(holding path: String) throws(SystemError) {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let number = try retrying("open \(parent)") { unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        let directory = Descriptor(owning: number)
        try retrying("sync \(parent)") { fsync(directory.rawValue) }
    }

    public static func bytesOnDisk(of path: String) throws(SystemError) -> Int64 {
        var status = stat()
        try retrying("stat \(path)") { unsafe lstat(path, &status) }
        return Int64(status.st_blocks) * 512
    }

    public static func isExecutable(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

    /// Makes root and a group the owners of a file.
    public static func give(_ path: String, toGroup group: UInt32) throws(SystemError) {
        try retrying("chown \(path)") { unsafe chown(path, 0, group) }
    }

    /// Makes a user and a group the owners of a file or directory in a directory of this process. A link is not followed.
    public static func give(_ path: String, toUser user: UInt32, group: UInt32) throws(SystemError) {
        try retrying("chown \(path)") { unsafe lchown(path, user, group) }
    }

    public static func move(_ path: String, to other: String) throws(SystemError) {
        try retrying("move \(path) to \(other)") { unsafe rename(path, other) }
    }

    /// Removes a file. Returns `false` if there was none.
    @discardableResult
    public static func remove(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try retrying("remove \(path)") { unsafe unlink(path) }
            return true
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    public static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Reads the first line of a small file.
    public static func readFirstLine(_ path: String) throws(SystemError) -> String {
        let bytes = try read(path, limit: 4096)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Removes an empty directory, if it exists.
    public static func removeDirectory(_ path: String) throws(SystemError) {
        guard unsafe rmdir(path) != 0, errno != ENOENT else { return }
        throw .last("remove \(path)")
    }

    /// Returns the path in a symbolic link; nil: there is no link, or it cannot be read.
    public static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns whether every user may pass through the directories above a file.
    public static func isReachableByAll(_ path: String) -> Bool {
        var parent = path[...]
        while let slash = parent.lastIndex(of: "/"), slash != parent.startIndex {
            parent = parent[..<slash]
            var status = stat()
            guard unsafe stat(String(parent), &status) == 0, status.st_mode & 0o001 != 0 else { return false }
        }
        return true
    }

    public static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the names in a directory, without `.` and `..`, in no order.
    public static func list(_ path: String) throws(SystemError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw .last("open directory \(path)") }
        return try unsafe names(in: directory)
    }

    /// Closes the directory.
    static func names(in directory: OpaquePointer) throws(SystemError) -> [String] {
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while true {
            // Tells the end from an error.
            errno = 0
            guard let entry = unsafe readdir(directory) else {
                if errno == 0 { return names }
                throw .last("read directory")
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Makes a directory and those above it. An existing one must be a directory that belongs to this user or to root and
    /// that no other user can write to; otherwise files in it could be replaced by others.
    public static func makePrivateDirectory(_ path: String, mode: UInt32 = 0o700) throws(SystemError) {
        try makeDirectories(path, mode: mode)
        var status = stat()
        try retrying("examine \(path)") { unsafe stat(path, &status) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError("directory \(path)", errno: ENOTDIR) }
        let isOurs = status.st_uid == geteuid() || status.st_uid == 0
        guard isOurs, status.st_mode & 0o022 == 0 else { throw SystemError("directory \(path)", errno: EPERM) }
    }

    public static func makeDirectories(_ path: String, mode: UInt32) throws(SystemError) {
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw .last("make directory \(path)")
        }
        try makeDirectories(String(path[..<slash]), mode: 0o755)
        if unsafe mkdir(path, mode) != 0 && errno != EEXIST { throw .last("make directory \(path)") }
    }

    /// Current directory of this process.
    public static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
