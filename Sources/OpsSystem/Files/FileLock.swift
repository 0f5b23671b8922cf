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

    /// The locked file has no longer this name: another process can hold a lock that has it.
    public func isLost(at path: String) -> Bool {
        var held = stat()
        var named = stat()
        guard unsafe fstat(descriptor.rawValue, &held) == 0 else { return false }
        guard unsafe stat(path, &named) == 0 else { return errno == ENOENT }
        return held.st_ino != named.st_ino || held.st_dev != named.st_dev
    }

    /// Takes over a lock that this process held before it re-executed itself.
    public init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
