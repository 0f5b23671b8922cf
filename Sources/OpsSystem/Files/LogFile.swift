internal import COpsSpawn
internal import Glibc

/// The file that an operation's output goes to: written by its processes directly, bounded from the front.
///
/// Its user owns it, and can do with it what an owner can. This process has it open for writing from its beginning on:
/// so nobody can take a lease that would hold up whoever opens it, no name has to be followed again, and it can be
/// bounded when it has no name any more.
public final class LogFile {
    public let path: String
    /// `nil` for one of a program before this, until it can be opened.
    private var descriptor: Descriptor?
    /// Taken from the operation's user, who cannot open it any more.
    public private(set) var isTaken = false

    /// An open file that the program before this one handed on; without a number it is opened when it is needed.
    public init(_ path: String, descriptor number: Int32?, isTaken: Bool) {
        self.path = path
        self.isTaken = isTaken
        descriptor = number.map { Descriptor(owning: $0) }
    }

    /// Makes the file (with the directories above it), in the place of one that has this name: who owned or linked that
    /// one has nothing of this. 0600, and `owner`'s where given, so that the operation can open its own /dev/stderr.
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
        let file = LogFile(path, descriptor: number, isTaken: false)
        if let owner, owner.uid != geteuid() || owner.gid != getegid() {
            try retrying("chown \(path)") { fchown(number, owner.uid, owner.gid) }
        }
        return file
    }

    private static func create(_ path: String) throws(SystemError) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        return try retrying("create \(path)") { unsafe open(path, flags, 0o600) }
    }

    /// Opens it once more, for the operation: what that does with its descriptor is no matter of ours.
    public func openForAppending() throws(SystemError) -> Descriptor {
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
        return Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags) })
    }

    /// The number of its descriptor, once it is open; `nil`: there is no such file, or its owner has a lease on it.
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

    /// Its descriptor, for the program that this one becomes.
    public var openNumber: Int32? { descriptor?.rawValue }

    public func setInherited(_ inherited: Bool) throws(SystemError) { try descriptor?.setInherited(inherited) }
}

extension LogFile {
    /// Bytes written so far and bytes on disk; `nil`: it cannot be opened now.
    public func size() throws(SystemError) -> (length: Int64, stored: Int64)? {
        guard let number = try number() else { return nil }
        var status = stat()
        try retrying("examine \(path)") { unsafe fstat(number, &status) }
        return (Int64(status.st_size), Int64(status.st_blocks).clampedProduct(512))
    }

    /// Gives back the disk space of all but the newest `keep` bytes; offsets stay as they were. Waits for whoever is
    /// writing to it. A file system that cannot do this throws EOPNOTSUPP.
    public func trim(keeping keep: Int64) throws(SystemError) {
        guard let number = try number() else { return }
        try retrying("trim \(path)") { ops_trim_log(number, keep) }
    }

    /// Does the same in a new process, which exits with an errno: whoever is writing to it may take any time. Returns
    /// its pid; `nil`: the file cannot be opened now.
    public func trimApart(keeping keep: Int64) throws(SystemError) -> Int32? {
        guard let number = try number() else { return nil }
        return try retrying("trim \(path)") { ops_trim_log_apart(number, keep) }
    }

    /// Others that have a file open.
    public enum Others: Hashable, Sendable {
        case none, some
        /// The kernel or the file system does not say.
        case unknown
    }

    /// Calls `body` if nobody else has the file open; until it returns nobody can open it.
    public func whileAlone(_ body: () throws(SystemError) -> Void) throws(SystemError) -> Others {
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

    /// Takes it from its owner, who may have kept a way to open it again.
    public func take() throws(SystemError) {
        guard let number = try number() else { return }
        try retrying("chown \(path)") { ops_take_from_owner(number) }
        isTaken = true
    }
}
