internal import COpsSpawn
internal import Glibc

/// A lock on a file, held by one process at a time, that ends with its holder however that one dies.
public struct FileLock: ~Copyable {
    public let descriptor: Descriptor

    /// `nil`: somebody else holds it. The file is made (0600) and stays.
    public static func take(_ path: String) throws(SystemError) -> FileLock? {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let number = try retrying("open \(path)") { unsafe open(path, flags, 0o600) }
        let descriptor = Descriptor(owning: number)
        do throws(SystemError) {
            try retrying("lock \(path)") { ops_lock_file(number) }
        } catch {
            if error.errno == EAGAIN || error.errno == EACCES { return nil }
            throw error
        }
        return FileLock(descriptor: descriptor)
    }

    /// The file has been removed: another process can take a lock of the same name.
    public var isRemoved: Bool {
        var status = stat()
        return unsafe fstat(descriptor.rawValue, &status) == 0 && status.st_nlink == 0
    }

    /// Takes over a lock that this process held before it re-executed itself.
    public init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
