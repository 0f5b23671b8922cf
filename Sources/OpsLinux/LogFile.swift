internal import COpsSpawn
internal import Glibc

/// The file that an operation's output goes to: written by its processes directly, bounded from the front.
public enum LogFile {
    /// Makes the file (with the directories above it), in the place of one that has this name: who owned or linked that
    /// one has nothing of this. 0600, and `owner`'s where given, so that the operation can open its own /dev/stderr.
    public static func create(
        _ path: String, owner: (uid: UInt32, gid: UInt32)?
    ) throws(SystemError) -> Descriptor {
        let descriptor: Descriptor
        do throws(SystemError) {
            descriptor = try create(path)
        } catch {
            switch error.errno {
            case EEXIST: try Files.remove(path)
            case ENOENT:
                guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw error }
                try Files.makeDirectories(String(path[..<slash]), mode: 0o700)
            default: throw error
            }
            descriptor = try create(path)
        }
        let number = descriptor.rawValue
        if let owner, owner.uid != geteuid() || owner.gid != getegid() {
            try retrying("chown \(path)") { fchown(number, owner.uid, owner.gid) }
        }
        return descriptor
    }

    private static func create(_ path: String) throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        return Descriptor(owning: try retrying("create \(path)") { unsafe Glibc.open(path, flags, 0o600) })
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
