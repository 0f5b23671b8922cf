internal import Glibc

/// Files that this process writes for the user. A link that the user has put in the place of a file is never followed.
extension ForeignDirectory {
    /// Reserves a name, durably, with a link to nowhere. Returns false if anything else than this link has the name.
    public borrowing func reserve(_ name: String, withLinkTo text: String) throws(SystemError) -> Bool {
        let number = reference.rawValue
        if unsafe symlinkat(text, number, name) != 0 {
            guard errno == EEXIST else { throw .last("make \(name)") }
            guard linkText(name) == text else { return false }
            // The process that made the link may have ended before the link was durable.
        }
        try sync()
        return true
    }

    /// Replaces a file that the user can read.
    public borrowing func replace(_ name: String, with bytes: [UInt8]) throws(SystemError) {
        let directory = reference.rawValue
        let fresh = name + ".new"
        if unsafe unlinkat(directory, fresh, 0) != 0, errno != ENOENT { throw .last("remove \(fresh)") }
        do {
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
            let number = try retrying("create \(fresh)") { unsafe openat(directory, fresh, flags, 0o644) }
            let file = Descriptor(owning: number)
            guard try file.writeAll(bytes) else { throw SystemError("write \(fresh)", errno: EPIPE) }
            try retrying("chmod \(fresh)") { fchmod(number, 0o644) }
        }
        try retrying("rename \(fresh)") { unsafe renameat(directory, fresh, directory, name) }
    }

    private borrowing func linkText(_ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = unsafe readlinkat(reference.rawValue, name, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private borrowing func sync() throws(SystemError) {
        let number = reference.rawValue
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let directory = Descriptor(owning: try retrying("open directory") { unsafe openat(number, ".", flags) })
        try retrying("sync directory") { fsync(directory.rawValue) }
    }
}
