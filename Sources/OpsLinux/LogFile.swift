internal import COpsSpawn
internal import Glibc

/// The file that an operation's output goes to: written by its processes directly, bounded from the front.
public enum LogFile {
    /// Opens for appending, made (with the directories above it) where missing; 0600, and `owner`'s where given,
    /// so that the operation can open its own /dev/stderr.
    public static func open(_ path: String, owner: (uid: UInt32, gid: UInt32)?) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            return try create(path, owner: owner)
        } catch {
            guard error.errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
                throw error
            }
            try Files.makeDirectories(String(path[..<slash]), mode: 0o700)
            return try create(path, owner: owner)
        }
    }

    private static func create(_ path: String, owner: (uid: UInt32, gid: UInt32)?) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        let number = try retrying("open \(path)") { unsafe Glibc.open(path, flags, 0o600) }
        let descriptor = Descriptor(owning: number)
        if let owner, owner.uid != geteuid() || owner.gid != getegid() {
            try retrying("chown \(path)") { fchown(number, owner.uid, owner.gid) }
        }
        return descriptor
    }

    /// Bytes written so far and bytes on disk; `nil`: there is no such file.
    public static func size(_ path: String) throws(SystemError) -> (length: Int64, stored: Int64)? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw .last("examine \(path)")
        }
        return (Int64(status.st_size), Int64(status.st_blocks).clampedProduct(512))
    }

    /// Gives back the disk space of all but the newest `keep` bytes; offsets stay as they were.
    /// A file system that cannot do this throws EOPNOTSUPP.
    public static func drop(_ path: String, keeping keep: Int64) throws(SystemError) {
        guard let size = try size(path), size.length > keep else { return }
        let number = try retrying("open \(path)") { unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) }
        let descriptor = Descriptor(owning: number)
        let length = (size.length - keep) / 4096 * 4096
        guard length > 0 else { return }
        try retrying("punch \(path)") { ops_punch(descriptor.rawValue, length) }
    }
}
