internal import COpsSpawn
internal import Glibc

/// Lock on a file, held by one process at a time. It ends with its holder, also when that one is killed.
public struct FileLock: ~Copyable {
    public let descriptor: Descriptor

    /// Acquires the lock; `nil`: another process holds it. The file is made (mode 0600) and stays.
    public static func acquire(_ path: String) throws(SystemError) -> FileLock? {
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

    /// Returns whether the locked file no longer has this name. Another process may then hold a lock on a new file.
    public func isLost(at path: String) -> Bool {
        var held = stat()
        var named = stat()
        guard unsafe fstat(descriptor.rawValue, &held) == 0 else { return false }
        guard unsafe stat(path, &named) == 0 else { return errno == ENOENT }
        return held.st_ino != named.st_ino || held.st_dev != named.st_dev
    }

    /// Takes over a lock that this process acquired before it re-executed itself.
    public init(descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }
}
