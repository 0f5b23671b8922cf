internal import COpsSpawn
internal import Glibc

/// Process at the other end of a Unix socket, as the kernel recorded it at connect.
public struct Credentials: Hashable, Sendable {
    public var pid: Int32
    public var uid: UInt32
    public var gid: UInt32
    public init(pid: Int32, uid: UInt32, gid: UInt32) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
    }
}

/// Stream sockets in the file system. Every descriptor made here is close-on-exec.
public enum UnixSocket {
    /// Longest path that fits into a socket address. Paths that other programs connect to must not be longer.
    public static let pathLimit = 107

    /// Most connections that wait to be accepted.
    private static let waiting: Int32 = 128

    /// Returns a non-blocking listening socket. Replaces the socket file of a dead listener; the caller holds a lock.
    /// `acceptsDescriptors`: clients may pass descriptors. A client whose descriptor does not close could stop a reader
    /// that does not expect it.
    public static func listen(
        at path: String, mode: UInt32 = 0o600, acceptsDescriptors: Bool = false
    ) throws(SystemError) -> Descriptor {
        let descriptor = try make(nonBlocking: true)
        if !acceptsDescriptors { try refuseDescriptors(at: descriptor) }
        let number = descriptor.rawValue
        try removeLeftover(path)
        // The kernel gives the file the mode of the socket: no other user can connect between bind and chmod.
        try retrying("fchmod") { fchmod(number, 0o600) }
        try retrying("bind \(path)") { unsafe ops_bind_unix(number, path) }
        if mode != 0o600 { try retrying("chmod \(path)") { unsafe chmod(path, mode) } }
        try retrying("listen \(path)") { Glibc.listen(number, waiting) }
        return descriptor
    }

    /// Lets no client of a listening socket pass descriptors from now on. Before Linux 6.16 this has no effect.
    public static func refuseDescriptors(at listener: borrowing Descriptor) throws(SystemError) {
        let number = listener.rawValue
        try retrying("refuse descriptors") { ops_refuse_descriptors(number) }
    }

    /// Removes the socket file of a dead listener; refuses any other file.
    private static func removeLeftover(_ path: String) throws(SystemError) {
        var status = stat()
        if unsafe lstat(path, &status) != 0 {
            if errno == ENOENT { return }
            throw .last("stat \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError("\(path) is not a socket; remove it, or choose another path", errno: EEXIST)
        }
        if unsafe unlink(path) != 0 && errno != ENOENT { throw .last("unlink \(path)") }
    }

    /// True if a process uses the socket at a path. It must not be replaced.
    public static func isServed(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try connect(to: path, nonBlocking: true)
            return true
        } catch {
            // A full backlog, or a socket of another type, such as that of a log.
            return error.errno == EAGAIN || error.errno == EPROTOTYPE
        }
    }

    /// Returns the path to which a socket is bound; nil if it has none.
    public static func path(of number: Int32) throws(SystemError) -> String? {
        var path = [CChar](repeating: 0, count: Int(OPS_UNIX_PATH))
        try retrying("getsockname") { unsafe ops_unix_path(number, &path) }
        let text = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.isEmpty ? nil : text
    }

    /// Accepts the next waiting connection, as a non-blocking socket; `nil`: there is none.
    /// Throws EMFILE or ENFILE without a free descriptor: the caller must stop accepting for a while.
    public static func accept(from listener: borrowing Descriptor) throws(SystemError) -> Descriptor? {
        let number = listener.rawValue
        while true {
            do throws(SystemError) {
                return Descriptor(owning: try retrying("accept") { ops_accept(number) })
            } catch {
                switch error.errno {
                case EAGAIN: return nil
                case ECONNABORTED, EPROTO: continue
                default: throw error
                }
            }
        }
    }

    public static func connect(to path: String, nonBlocking: Bool = false) throws(SystemError) -> Descriptor {
        let descriptor = try make(nonBlocking: nonBlocking)
        let number = descriptor.rawValue
        try retrying("connect \(path)") { unsafe ops_connect_unix(number, path) }
        return descriptor
    }

    public static func peer(of socket: borrowing Descriptor) throws(SystemError) -> Credentials {
        var peer = ops_credentials()
        let number = socket.rawValue
        try retrying("peer credentials") { unsafe ops_peer_credentials(number, &peer) }
        return Credentials(pid: peer.pid, uid: peer.uid, gid: peer.gid)
    }

    private static func make(nonBlocking: Bool) throws(SystemError) -> Descriptor {
        let number = try retrying("socket") {
            ops_unix_socket(nonBlocking ? 1 : 0)
        }
        return Descriptor(owning: number)
    }
}
