internal import Glibc

/// A directory with everything in it, which another user may change at any time.
///
/// Every step goes through descriptors and follows no link, so that nothing outside of the tree is ever touched. The
/// number of open descriptors does not grow with the depth of the tree.
public struct DirectoryTree: Sendable {
    private let parent: String
    private let name: String
    /// Depth down to which directories stay open. Deeper ones are moved up to the top.
    private static let depth = 32

    public init(_ path: String) {
        let slash = path.lastIndex(of: "/")
        parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// Removes the tree; does nothing if it is not there.
    public func remove() throws(SystemError) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let top = Descriptor(owning: try retrying("open \(parent)") { unsafe Glibc.open(parent, flags) })
        guard let directory = try Self.open(name, in: top.rawValue) else { return }
        var moved = 0
        var isDone = false
        // Whatever was moved up is removed in the next pass, deeper by so many levels.
        while !isDone {
            let before = moved
            try Self.empty(directory.rawValue, top: directory.rawValue, depth: 0, &moved)
            isDone = moved == before
        }
        try Self.unlink(name, in: top.rawValue, AT_REMOVEDIR)
    }

    /// Returns the bytes of its files on disk, of directories down to a bounded depth.
    public func bytesOnDisk() throws(SystemError) -> Int64 {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let top = Descriptor(owning: try retrying("open \(parent)") { unsafe Glibc.open(parent, flags) })
        guard let directory = try Self.open(name, in: top.rawValue) else { return 0 }
        return try Self.bytes(in: directory.rawValue, depth: 0)
    }

    private static func open(_ name: String, in directory: Int32) throws(SystemError) -> Descriptor? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        var number = unsafe openat(directory, name, flags)
        // The user has taken its own right away; root needs none.
        if number < 0, errno == EACCES, unsafe fchmodat(directory, name, 0o700, 0) == 0 {
            number = unsafe openat(directory, name, flags)
        }
        if number >= 0 { return Descriptor(owning: number) }
        // A file, a link, or nothing any more.
        if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
        throw .last("open directory \(name)")
    }

    private static func unlink(_ name: String, in directory: Int32, _ flags: Int32) throws(SystemError) {
        if unsafe unlinkat(directory, name, flags) == 0 || errno == ENOENT { return }
        throw .last("remove \(name)")
    }

    private static func empty(_ directory: Int32, top: Int32, depth: Int, _ moved: inout Int) throws(SystemError) {
        // Without the right to write, this user could remove nothing of its own here.
        if geteuid() != 0, fchmod(directory, 0o700) != 0 { throw .last("chmod directory") }
        for name in try names(in: directory) {
            if unsafe unlinkat(directory, name, 0) == 0 || errno == ENOENT { continue }
            guard errno == EISDIR || errno == EPERM else { throw .last("remove \(name)") }
            if depth >= self.depth {
                moved += 1
                if unsafe renameat(directory, name, top, ".\(moved)") != 0 { throw .last("move \(name)") }
                continue
            }
            guard let child = try open(name, in: directory) else {
                throw SystemError("remove \(name)", errno: EPERM)
            }
            try empty(child.rawValue, top: top, depth: depth + 1, &moved)
            try unlink(name, in: directory, AT_REMOVEDIR)
        }
    }

    private static func bytes(in directory: Int32, depth: Int) throws(SystemError) -> Int64 {
        var sum: Int64 = 0
        for name in try names(in: directory) {
            var status = stat()
            if unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
                if errno == ENOENT { continue }
                throw .last("examine \(name)")
            }
            sum = sum.clampedSum(Int64(status.st_blocks).clampedProduct(512))
            guard status.st_mode & S_IFMT == S_IFDIR, depth < self.depth, let child = try open(name, in: directory)
            else { continue }
            sum = sum.clampedSum(try bytes(in: child.rawValue, depth: depth + 1))
        }
        return sum
    }

    /// Returns the names in a directory, without `.` and `..`.
    private static func names(in directory: Int32) throws(SystemError) -> [String] {
        let again = unsafe openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard again >= 0 else { throw .last("open directory") }
        guard let stream = unsafe fdopendir(again) else {
            let error = SystemError.last("read directory")
            close(again)
            throw error
        }
        return try unsafe Files.names(in: stream)
    }
}
