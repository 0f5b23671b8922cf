internal import COpsSpawn
internal import Glibc

/// A name in a directory that another user may change at any time.
///
/// It stays what it was when it was opened, follows no link, and never enters a file system that is mounted there: a user
/// can mount one that never answers.
struct DirectoryEntry: ~Copyable {
    private let reference: Descriptor

    /// Opens a name; `nil`: nothing is there any more.
    static func open(_ name: [CChar], in directory: Int32) throws(SystemError) -> DirectoryEntry? {
        let number = unsafe ops_open_entry(directory, name)
        if number >= 0 { return DirectoryEntry(reference: Descriptor(owning: number)) }
        if errno == ENOENT { return nil }
        throw .last("open \(Self.text(name))")
    }

    var status: stat {
        borrowing get throws(SystemError) {
            try Self.status(of: reference.rawValue)
        }
    }

    /// Opens the directory for reading.
    ///
    /// `regainsRights`: also one whose rights its user, the one of this process, has taken away.
    borrowing func list(regainsRights: Bool = false) throws(SystemError) -> DirectoryListing {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        // Root needs no rights. Others change only what is theirs.
        if regainsRights, geteuid() != 0 {
            // A reference cannot be changed itself, only through its name.
            let path = "/proc/self/fd/\(reference.rawValue)"
            try retrying("chmod directory") { unsafe chmod(path, 0o700) }
        }
        let number = reference.rawValue
        return DirectoryListing(
            directory: Descriptor(owning: try retrying("open directory") { unsafe openat(number, ".", flags) }))
    }

    /// Opens the file itself, whatever its name stands for by now.
    borrowing func reopen(_ flags: Int32) throws(SystemError) -> Descriptor {
        let path = "/proc/self/fd/\(reference.rawValue)"
        return Descriptor(owning: try retrying("open file") { unsafe Glibc.open(path, flags) })
    }

    fileprivate static func status(of number: Int32) throws(SystemError) -> stat {
        var status = stat()
        try retrying("examine a file") { unsafe fstat(number, &status) }
        return status
    }

    consuming func consumeReference() -> Descriptor { reference }

    static func text(_ name: [CChar]) -> String {
        String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// An open directory. Its names are bytes: a user may give names that are not text.
struct DirectoryListing: ~Copyable {
    let directory: Descriptor

    /// Returns at most `limit` names, without `.` and `..`.
    borrowing func names(limit: Int) throws(SystemError) -> [[CChar]] {
        var names: [[CChar]] = []
        try forEachName { (name: [CChar]) throws(SystemError) -> Bool in
            names.append(name)
            return names.count < limit
        }
        return names
    }

    /// Calls `body` with each name, without `.` and `..`, until it returns false. Keeps no names: a user can make any number.
    borrowing func forEachName(_ body: ([CChar]) throws(SystemError) -> Bool) throws(SystemError) {
        let again = unsafe openat(directory.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard again >= 0 else { throw .last("open directory") }
        guard let stream = unsafe fdopendir(again) else {
            let error = SystemError.last("read directory")
            close(again)
            throw error
        }
        defer { unsafe closedir(stream) }
        while true {
            // Tells the end from an error.
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                if errno == 0 { return }
                throw .last("read directory")
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
                    unsafe [CChar](UnsafeBufferPointer(start: text, count: strlen(text) + 1))
                }
            }
            if name == [46, 0] || name == [46, 46, 0] { continue }
            guard try body(name) else { return }
        }
    }
}

extension DirectoryEntry {
    /// Opens the entry at a path, whose directories above it are ours; `nil`: nothing is there.
    static func open(_ path: String) throws(SystemError) -> DirectoryEntry? {
        guard let directory = try parent(of: path) else { return nil }
        return try open(name(of: path), in: directory.rawValue)
    }

    fileprivate static func parent(of path: String) throws(SystemError) -> Descriptor? {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let number = unsafe Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number >= 0 { return Descriptor(owning: number) }
        if errno == ENOENT { return nil }
        throw .last("open directory \(parent)")
    }

    fileprivate static func name(of path: String) -> [CChar] {
        Array((path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path).utf8CString)
    }
}

extension DirectoryListing {
    /// Opens the directory at a path, whose directories above it are ours, as an entry is opened; `nil`: nothing is there.
    static func open(_ path: String) throws(SystemError) -> DirectoryListing? {
        guard let directory = try DirectoryEntry.parent(of: path) else { return nil }
        let number = unsafe ops_open_subdirectory(directory.rawValue, DirectoryEntry.name(of: path))
        if number >= 0 { return DirectoryListing(directory: Descriptor(owning: number)) }
        if errno == ENOENT { return nil }
        throw .last("open directory \(path)")
    }

    var status: stat {
        borrowing get throws(SystemError) {
            try DirectoryEntry.status(of: directory.rawValue)
        }
    }

    /// True if the directory has no entries. Its names must not have been read before.
    var isEmpty: Bool {
        borrowing get throws(SystemError) {
            let number = directory.rawValue
            return try retrying("read directory") { ops_has_entries(number) } == 0
        }
    }
}
