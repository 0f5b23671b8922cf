internal import Glibc

/// A directory that a user can change at any time, while this process, which may be root, reads files in it. The user
/// can delay every call here, so none is made in the loop.
///
/// Only ordinary files of that user are opened, whose bytes the user could read as well: no link, no pipe, no other name of a
/// file elsewhere, nothing in a file system that is mounted there.
public struct ForeignDirectory: ~Copyable {
    let reference: Descriptor
    private let user: UInt32

    /// Opens a directory in one of this process; nil: there is none.
    public static func open(_ path: String, of user: UInt32) throws(SystemError) -> ForeignDirectory? {
        guard let entry = try DirectoryEntry.open(path), try entry.status.st_mode & S_IFMT == S_IFDIR else {
            return nil
        }
        return ForeignDirectory(reference: entry.consumeReference(), user: user)
    }

    /// Returns the owner of a file in a directory of this process; nil: there is none, or a file system is mounted there.
    /// That file system is not asked, so this may be called in the loop.
    public static func owner(of path: String) -> UInt32? {
        // The reason of an error makes no difference: no owner is known.
        try? DirectoryEntry.open(path)?.status.st_uid
    }

    private init(reference: consuming Descriptor, user: UInt32) {
        self.reference = reference
        self.user = user
    }

    /// Makes files visible that another machine has made. A client of NFS may remember for a minute that a name was
    /// missing, unless the directory is opened for reading. Without the right to do that, the minute passes.
    public borrowing func refresh() {
        let number = unsafe openat(reference.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number >= 0 { close(number) }
    }

    /// Opens a file; nil: there is no ordinary file of the user with this name.
    public borrowing func file(_ name: String) throws(SystemError) -> ReadableFile? {
        guard let entry = try entry(name) else { return nil }
        let status = try entry.status
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == user, status.st_nlink == 1 else { return nil }
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        do throws(SystemError) {
            return ReadableFile(descriptor: try entry.reopen(flags))
        } catch {
            // The user has a lease on the file.
            if error.errno == EAGAIN { return nil }
            throw error
        }
    }

    private borrowing func entry(_ name: String) throws(SystemError) -> DirectoryEntry? {
        do throws(SystemError) {
            return try DirectoryEntry.open(Array(name.utf8CString), in: reference.rawValue)
        } catch {
            // A file system of the user.
            if error.errno == EXDEV { return nil }
            throw error
        }
    }
}
