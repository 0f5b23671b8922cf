internal import COpsSpawn
internal import Glibc

/// Who is at the other end of a Unix socket, as the kernel recorded it at connect.
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
    /// Longest path that fits a socket's address: what others than we are told must be no longer.
    public static let pathLimit = 107

    /// Connections that wait to be accepted.
    private static let waiting: Int32 = 128

    /// A non-blocking listening socket. A socket file left by a dead listener is replaced (hold a lock).
    public static func listen(at path: String, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        let descriptor = try make(nonBlocking: true)
        let number = descriptor.rawValue
        if unsafe unlink(path) != 0 && errno != ENOENT { throw .last("unlink \(path)") }
        // The kernel gives the file the socket's own mode: nobody gets in between bind and chmod.
        try retrying("fchmod") { fchmod(number, 0o600) }
        try retrying("bind \(path)") { unsafe ops_bind_unix(number, path) }
        if mode != 0o600 { try retrying("chmod \(path)") { unsafe chmod(path, mode) } }
        try retrying("listen \(path)") { Glibc.listen(number, waiting) }
        return descriptor
    }

    /// The next waiting connection, non-blocking; `nil` when there is none.
    /// Running out of descriptors (EMFILE, ENFILE) is thrown: the caller must stop accepting for a while.
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
