internal import Glibc

/// Small files, whole.
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

    /// `nil`: no such file (or, below /proc, no such process any more).
    public static func readIfPresent(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try read(path, limit: limit)
        } catch {
            if error.errno == ENOENT || error.errno == ESRCH || error.errno == ENOTDIR { return nil }
            throw error
        }
    }

    /// Writes over what is there, for kernel files: one write, nothing kept of errors of close.
    static func write(_ text: String, to path: String) throws(SystemError) {
        let number = try retrying("open \(path)") { unsafe open(path, O_WRONLY | O_CLOEXEC) }
        let descriptor = Descriptor(owning: number)
        guard try descriptor.writeAll(Array(text.utf8)) else { throw SystemError("write \(path)", errno: EPIPE) }
    }

    /// Puts a file in place so that a reader, or a crash at any moment, finds the old or the new one whole.
    public static func replace(_ path: String, with bytes: [UInt8], mode: UInt32) throws(SystemError) {
        let fresh = path + ".new"
        do {
            let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
            let number = try retrying("create \(fresh)") { unsafe open(fresh, flags, mode) }
            let descriptor = Descriptor(owning: number)
            guard try descriptor.writeAll(bytes) else { throw SystemError("write \(fresh)", errno: EPIPE) }
            try retrying("sync \(fresh)") { fdatasync(number) }
        }
        try retrying("rename \(fresh)") { unsafe rename(fresh, path) }
        try syncDirectory(holding: path)
    }

    /// Makes names just created or renamed beside `path` last.
    static func syncDirectory(holding path: String) throws(SystemError) {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let number = try retrying("open \(parent)") { unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        let directory = Descriptor(owning: number)
        try retrying("sync \(parent)") { fsync(directory.rawValue) }
    }

    public static func isExecutable(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

    /// Makes a file root's and a group's.
    public static func give(_ path: String, toGroup group: UInt32) throws(SystemError) {
        try retrying("chown \(path)") { unsafe chown(path, 0, group) }
    }

    public static func move(_ path: String, to other: String) throws(SystemError) {
        try retrying("move \(path) to \(other)") { unsafe rename(path, other) }
    }

    /// `false`: there was nothing.
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

    /// A small file of one line, without its end.
    public static func readText(_ path: String) throws(SystemError) -> String {
        let bytes = try read(path, limit: 4096)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Removes an empty directory; one that is not there is no error.
    public static func removeDirectory(_ path: String) throws(SystemError) {
        guard unsafe rmdir(path) != 0, errno != ENOENT else { return }
        throw .last("remove \(path)")
    }

    /// Whether every user may pass through the directories above a file.
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

    /// Names in a directory, without `.` and `..`, in no order.
    public static func list(_ path: String) throws(SystemError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw .last("open directory \(path)") }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while true {
            // The end and an error look the same but for this.
            errno = 0
            guard let entry = unsafe readdir(directory) else {
                if errno == 0 { return names }
                throw .last("read directory \(path)")
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Makes a directory and those above it. One that exists must be a directory, ours or root's, and nobody
    /// else's to write in; else what is kept there could be exchanged under our hands.
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

    /// Where this process was started, as long as it has not moved.
    public static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
