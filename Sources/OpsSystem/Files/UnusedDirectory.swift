internal import COpsSpawn
internal import Glibc

/// A new directory whose last write lies far back, so that any use of it shows, also within one tick of the clock.
public enum UnusedDirectory {
    private static let mark = 1

    /// Makes a directory with mode 0700. Another one that has this name is moved aside. `owner`: nil for the user of this
    /// process.
    public static func make(_ path: String, owner: (uid: UInt32, gid: UInt32)?) throws(SystemError) {
        if unsafe mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else { throw .last("make directory \(path)") }
            try moveAside(path)
            try retrying("make directory \(path)") { unsafe mkdir(path, 0o700) }
        }
        let instant = timespec(tv_sec: mark, tv_nsec: 0)
        try retrying("set the time of \(path)") {
            unsafe withUnsafePointer(to: (instant, instant)) { pair in
                unsafe pair.withMemoryRebound(to: timespec.self, capacity: 2) { times in
                    unsafe utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW)
                }
            }
        }
        // Last: its owner can hold the lock of the directory for any time.
        if let owner, owner.uid != geteuid() || owner.gid != getegid() {
            try retrying("chown \(path)") { unsafe lchown(path, owner.uid, owner.gid) }
        }
    }

    /// Renames a directory that an attempt of the same name has left, in a database that was replaced since. Only this
    /// process may change the directory above. Takes no lock of the directory: its owner can hold that for any time.
    public static func moveAside(_ path: String) throws(SystemError) {
        var number = 1
        while try !Files.move(path, toNew: asidePath(of: path, number)) { number += 1 }
    }

    /// Returns the path to which a directory was moved aside; `number`: 1 for the first of this name.
    public static func asidePath(of path: String, _ number: Int) -> String { "\(path).old\(number)" }

    /// Instant of the last change of a directory or of its attributes. Its owner cannot set it.
    public struct Change: Hashable, Sendable {
        let seconds: Int
        let nanoseconds: Int
    }

    /// Returns the last change of a directory that may still be as `make` has left it; `nil`: it is not. If the change
    /// is the same as before, the directory was not used in between. Takes no lock of the directory.
    public static func lastChange(of path: String) throws(SystemError) -> Change? {
        let opened: DirectoryEntry?
        do throws(SystemError) {
            opened = try DirectoryEntry.open(path)
        } catch {
            // A file system is mounted there.
            guard error.errno == EXDEV else { throw error }
            return nil
        }
        guard let directory = opened else { return nil }
        let status = try directory.status
        guard isMarked(status) else { return nil }
        return Change(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
    }

    private static func isMarked(_ status: stat) -> Bool {
        status.st_mode == S_IFDIR | 0o700 && status.st_mtim.tv_sec == mark && status.st_mtim.tv_nsec == 0
    }

    /// Returns whether the directory is still as `make` has left it. Waits for a process that lists or changes it.
    ///
    /// A copy with all attributes (`cp -a`) sets any time: the time alone does not show that the directory is empty.
    public static func isUnused(_ path: String) throws(SystemError) -> Bool {
        let opened: DirectoryListing?
        do throws(SystemError) {
            opened = try DirectoryListing.open(path)
        } catch {
            // A file system is mounted there, it is not a directory any more, or its owner has taken away its rights.
            guard [EXDEV, ENOTDIR, ELOOP, EACCES].contains(error.errno) else { throw error }
            return false
        }
        guard let directory = opened else { return false }
        guard isMarked(try directory.status) else { return false }
        return try directory.isEmpty
    }
}

extension Files {
    /// Creates a directory, and those above it, that every user can enter, but only this user can list or change.
    public static func makeTraversableDirectories(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o711) == 0 {
            // The umask of this process may have removed further rights.
            try retrying("chmod \(path)") { unsafe chmod(path, 0o711) }
            return
        }
        if errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
            throw .last("make directory \(path)")
        }
        try makeTraversableDirectories(String(path[..<slash]))
        try makeTraversableDirectories(path)
    }

    /// Removes the rights of all other users to a directory of this process, if it exists.
    public static func makePrivate(_ path: String) throws(SystemError) {
        if unsafe chmod(path, 0o700) != 0 && errno != ENOENT { throw .last("chmod \(path)") }
    }

    /// Lets every user pass through a directory of ours, not list it.
    public static func makeTraversable(_ path: String) throws(SystemError) {
        var status = stat()
        try retrying("examine \(path)") { unsafe stat(path, &status) }
        if status.st_mode & 0o011 == 0o011 { return }
        try retrying("chmod \(path)") { unsafe chmod(path, status.st_mode & 0o7777 | 0o011) }
    }

    /// Renames a file or directory. Returns false, and changes nothing, if the other name is taken.
    public static func move(_ path: String, toNew other: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try retrying("move \(path) to \(other)") { unsafe ops_rename_to_new(path, other) }
            return true
        } catch {
            guard error.errno == EEXIST || error.errno == ENOTEMPTY else { throw error }
            return false
        }
    }

    /// Returns false if the directory is not empty or in use, as by a mounted file system; true if it is not there any
    /// more.
    public static func removeDirectoryIfEmpty(_ path: String) throws(SystemError) -> Bool {
        if unsafe rmdir(path) == 0 || errno == ENOENT { return true }
        if errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY { return false }
        throw .last("remove directory \(path)")
    }
}
