internal import Glibc

/// The reason why a copy cannot be made at the requested path, with advice: one sentence.
public struct BackupRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String
}

/// The file that a copy of a database becomes. Its directory is resolved, so that nothing in the name can lead elsewhere.
struct BackupDestination {
    let path: String
    private let database: String

    /// `replacesAnything`: any present file but a device or a directory may be replaced, and not only an earlier copy.
    init(_ wanted: String, of database: String, replacesAnything: Bool) throws(BackupRefusal) {
        let slash = wanted.lastSlash ?? wanted.startIndex
        let name = wanted[slash...].drop { $0 == "/" }
        guard !name.isEmpty, name != ".", name != ".." else { throw Self.directoryRefusal(wanted) }
        let directory = try Self.resolved(String(wanted[..<slash]) + "/", for: wanted)
        self.database = database
        path = (directory == "/" ? "" : directory) + "/" + name
        try refuseStateDirectory(around: directory)
        try refuseUse()
        let present = PresentFile(path, followsLink: false)
        if present?.isDirectory == true { throw Self.directoryRefusal(path) }
        if present?.isDevice == true {
            throw BackupRefusal(description: "\(path) is a device, which no copy replaces; name a file")
        }
        if !replacesAnything { try refuseOthers() }
    }

    /// Makes the file of the unfinished copy, empty and private: no other copy, and no file of a user, has its name.
    func makePart() throws(BackupRefusal) -> String {
        let suffix = ".part"
        var template = Array("\(path).XXXXXX\(suffix)".utf8CString)
        let made = unsafe mkstemps(&template, Int32(suffix.utf8.count))
        guard made >= 0 else {
            let code = errno
            throw BackupRefusal(
                description: "\(path) cannot be written by the daemon: \(unsafe String(cString: strerror(code))); "
                    + "name a file in a directory that its user can write")
        }
        close(made)
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func directoryRefusal(_ path: String) -> BackupRefusal {
        BackupRefusal(description: "\(path) is a directory; name a file in it")
    }

    private static func resolved(_ directory: String, for wanted: String) throws(BackupRefusal) -> String {
        guard let resolved = unsafe realpath(directory, nil) else {
            let code = errno
            throw BackupRefusal(
                description: "\(wanted) cannot be written by the daemon: \(unsafe String(cString: strerror(code))); "
                    + "name a file in a directory that its user can write")
        }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Refuses the directory of the database, by any path: its files belong to opsd.
    private func refuseStateDirectory(around directory: String) throws(BackupRefusal) {
        let slash = database.lastSlash ?? database.startIndex
        let state = PresentFile(String(database[..<slash]) + "/")
        var ancestor = directory
        while true {
            if let state, PresentFile(ancestor) == state {
                throw BackupRefusal(
                    description: "\(path) is inside the state directory of opsd; name a file outside of it")
            }
            guard ancestor != "/", let end = ancestor.lastSlash else { return }
            ancestor = end == ancestor.startIndex ? "/" : String(ancestor[..<end])
        }
    }

    /// Refuses to replace a database that is in use: it would continue as a file without a name, and its log would be
    /// mistaken for that of the copy.
    private func refuseUse() throws(BackupRefusal) {
        // Compared before anything opens the file: closing it would release the locks that this process has on it.
        if let own = PresentFile(database), PresentFile(path) == own {
            throw BackupRefusal(description: "\(path) is the database of opsd itself; name another file")
        }
        for suffix in ["-wal", "-journal"] where (PresentFile(path + suffix)?.size ?? 0) > 0 {
            throw BackupRefusal(
                description: "\(path)\(suffix) is the log of a database that is in use, or was left by a crash; "
                    + "name another file")
        }
    }

    /// Refuses to replace anything but an earlier copy.
    private func refuseOthers() throws(BackupRefusal) {
        guard let found = PresentFile(path, followsLink: false) else { return }
        guard found.isRegular else {
            throw BackupRefusal(description: "\(path) is not a regular file; name another one, or use --force")
        }
        var isCopy = false
        do throws(StoreError) {
            isCopy = try DatabaseHeader.read(path)?.isOurs ?? false
        } catch {
            throw BackupRefusal(description: "\(path) cannot be read: \(error.message); name another file")
        }
        if !isCopy {
            throw BackupRefusal(description: "\(path) is not an opsd database; name another file, or use --force")
        }
    }
}

/// A file that is present. Two are equal if they are the same file, by any path.
private struct PresentFile: Equatable {
    private let device: dev_t
    private let inode: ino_t
    let size: Int64
    let isRegular: Bool
    let isDirectory: Bool
    let isDevice: Bool

    /// Nil if there is no file.
    init?(_ path: String, followsLink: Bool = true) {
        var status = stat()
        guard unsafe fstatat(AT_FDCWD, path, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        device = status.st_dev
        inode = status.st_ino
        size = Int64(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        isDevice = [S_IFCHR, S_IFBLK].contains(status.st_mode & S_IFMT)
    }

    static func == (one: PresentFile, other: PresentFile) -> Bool {
        one.device == other.device && one.inode == other.inode
    }
}

extension String {
    /// Index of the last slash in the bytes: with a combining character, a slash is another character.
    fileprivate var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}
