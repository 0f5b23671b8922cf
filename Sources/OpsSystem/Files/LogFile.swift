internal import COpsSpawn
internal import Glibc

/// File for the output of an operation. Its processes write to it directly; this process drops its oldest part.
///
/// The user of the operation owns the file, and can do with it what an owner can. This process has it open for writing from
/// the beginning: so no process can take a lease that would delay others at opening it, its name is not followed again, and
/// it can be bounded even when it has no name any more.
public final class LogFile {
    public let path: String
    /// Descriptor; `nil` for a file of the program before this one, until it can be opened.
    private var descriptor: Descriptor?
    /// True if the file was taken from the user of the operation, who cannot open it any more.
    public private(set) var isOwnershipTaken = false

    /// Takes over a file of the program before this one. Without a descriptor it is opened when it is needed.
    public init(_ path: String, descriptor number: Int32?, isOwnershipTaken: Bool) {
        self.path = path
        self.isOwnershipTaken = isOwnershipTaken
        descriptor = number.map { Descriptor(owning: $0) }
    }

    /// Takes over a file of a process that has ended; `nil`: the file is not there any more, or its ownership was taken from
    /// that user, which is the last thing that happens to it.
    public static func adopt(_ path: String, inode: UInt64, owner: UInt32) throws(SystemError) -> LogFile? {
        let file = LogFile(path, descriptor: nil, isOwnershipTaken: false)
        // While its owner has a lease on the file, its owner cannot be determined.
        guard let number = try file.number() else { return Files.exists(path) ? file : nil }
        var status = stat()
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        return status.st_ino == inode && status.st_uid == owner ? file : nil
    }

    /// Makes the file and the directories above it. Replaces an existing file, so that owners of that one and links to it
    /// give no access to the new one. Mode 0600; `owner` owns it, so that the operation can open its own /dev/stderr.
    public static func create(_ path: String, owner: (uid: UInt32, gid: UInt32)?) throws(SystemError) -> LogFile {
        let number: Int32
        do throws(SystemError) {
            number = try create(path)
        } catch {
            switch error.errno {
            case EEXIST: try Files.remove(path)
            case ENOENT:
                guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw error }
                try Files.makeDirectories(String(path[..<slash]), mode: 0o700)
            default: throw error
            }
            number = try create(path)
        }
        let file = LogFile(path, descriptor: number, isOwnershipTaken: false)
        if let owner, owner.uid != geteuid() || owner.gid != getegid() {
            try retrying("chown \(path)") { fchown(number, owner.uid, owner.gid) }
        }
        return file
    }

    private static func create(_ path: String) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        return try retrying("create \(path)") { unsafe open(path, flags, 0o600) }
    }

    /// Opens the file once more, for the operation, which may do anything with its descriptor.
    public func openForAppending() throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        return Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags) })
    }

    /// Opens the file, although a process may have a lease of it: Linux takes that away after some time. `nil`: there is
    /// no file.
    private func waitForLease() throws(SystemError) -> Int32? {
        guard Files.exists(path) else { return nil }
        let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        descriptor = Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags) })
        return openNumber
    }

    /// Returns the descriptor, and opens the file if needed; `nil`: there is no such file, or its owner has a lease on it.
    private func number() throws(SystemError) -> Int32? {
        if descriptor == nil {
            do throws(SystemError) {
                let flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
                descriptor = Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags) })
            } catch {
                if error.errno == EAGAIN || error.errno == ENOENT { return nil }
                throw error
            }
        }
        return openNumber
    }

    /// Descriptor, for the program that this one becomes.
    public var openNumber: Int32? { descriptor?.rawValue }

    public func setInherited(_ inherited: Bool) throws(SystemError) { try descriptor?.setInherited(inherited) }
}

extension LogFile {
    /// Returns the bytes written so far and the bytes on disk; `nil`: the file cannot be opened now.
    public func size() throws(SystemError) -> (length: Int64, stored: Int64)? {
        guard let number = try number() else { return nil }
        var status = stat()
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        return (Int64(status.st_size), Int64(status.st_blocks).clampedProduct(512))
    }

    /// Returns the identity of the file, which distinguishes it from others with its name; `nil`: it cannot be opened
    /// now.
    public func inode() throws(SystemError) -> UInt64? {
        guard let number = try number() else { return nil }
        var status = stat()
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        return UInt64(status.st_ino)
    }

    /// Returns the length and the instant of the last write; `nil`: the file cannot be opened now.
    public func lastWrite() throws(SystemError) -> (length: Int64, at: WallInstant)? {
        guard let number = try number() else { return nil }
        var status = stat()
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        return (Int64(status.st_size), status.lastWrite)
    }

    /// Makes the file longer by a hole, which takes no space on disk.
    public func extend(to length: Int64) throws(SystemError) {
        guard let number = try number() else { return }
        try retrying("extend \(path)") { ftruncate(number, Int(length)) }
    }

    /// Frees the disk space of all but the newest `keep` bytes; offsets stay. Waits for processes that are writing to the
    /// file. Throws EOPNOTSUPP on a file system that cannot do this.
    public func trim(keeping keep: Int64) throws(SystemError) {
        guard let number = try number() else { return }
        try retrying("trim \(path)") { ops_trim_log(number, keep) }
    }

    /// Does the same in a new process, which exits with an errno, since a process that is writing to the file may take any
    /// time. Returns the pid; `nil`: the file cannot be opened now.
    public func trimApart(keeping keep: Int64) throws(SystemError) -> Int32? {
        guard let number = try number() else { return nil }
        return try retrying("trim \(path)") { ops_trim_log_apart(number, keep) }
    }

    /// Other processes that have a file open.
    public enum Others: Hashable, Sendable {
        case none, some
        /// The kernel or the file system does not say.
        case unknown
    }

    /// Calls `body` if no other process has the file open. Until `body` returns none can open it.
    public func whileExclusive(_ body: () throws(SystemError) -> Void) throws(SystemError) -> Others {
        guard let number = try number() else { return Files.exists(path) ? .some : .none }
        do throws(SystemError) {
            try retrying("lease \(path)") { ops_take_lease(number) }
        } catch {
            return error.errno == EAGAIN ? .some : .unknown
        }
        defer { _ = ops_end_lease(number) }
        try body()
        return .none
    }

    /// Takes the file from its owner, who may have kept a way to open it again.
    public func acquireOwnership() throws(SystemError) {
        guard let number = try number() else { return }
        try retrying("chown \(path)") { ops_take_from_owner(number) }
        isOwnershipTaken = true
    }

    /// Returns whether the path no longer names this file.
    public func isRemoved() throws(SystemError) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT }
        return try inode() != UInt64(status.st_ino)
    }

    /// Removes the file, and its content even if the file has other names: its user can have made them before it was
    /// taken from them, and its space counts in no quota of theirs. Waits for processes that are writing to the file.
    public func remove() throws(SystemError) {
        var opened: Int32?
        do throws(SystemError) {
            opened = try number()
            if opened == nil { opened = try waitForLease() }
        } catch {
            // A file that cannot be opened still belongs to its user.
        }
        // The content is removed first: to remove the name would lock the directory while a process is writing, so that
        // no other log could be created there.
        if let opened { try retrying("truncate \(path)") { ftruncate(opened, 0) } }
        try Files.remove(path)
    }
}
