internal import Glibc
internal import OpsSlurm
internal import OpsSystem

/// The record that only one start of an attempt can create.
enum Fence {
    /// Returns false if the attempt has started before. The record is on disk before the command can run.
    static func pass(_ fence: Int, _ paths: SpoolPaths, _ record: StartRecord) throws(SystemError) -> Bool {
        let path = paths.started(fence)
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if number < 0, errno == EEXIST { return false }
        guard number >= 0 else { throw SystemError("create \(path)", errno: errno) }
        let file = Descriptor(owning: number)
        guard try file.writeAll(record.bytes) else { throw SystemError("write \(path)", errno: EPIPE) }
        guard fsync(number) == 0 else { throw SystemError("sync \(path)", errno: errno) }
        let directory = open(paths.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw SystemError("open \(paths.run)", errno: errno) }
        let parent = Descriptor(owning: directory)
        guard fsync(parent.rawValue) == 0 else { throw SystemError("sync \(paths.run)", errno: errno) }
        return true
    }
}
