internal import Glibc
internal import OpsSystem

/// Sockets that opsd-web listens at: on loopback or in the file system, nowhere else.
enum Listener {
    /// A listening socket and its port.
    struct Loopback: ~Copyable {
        var socket: Descriptor
        var port: UInt16
    }

    /// Listens on loopback. Without a port it takes the default one, or a free one if that is in use.
    static func loopback(port: UInt16?) throws(SystemError) -> Loopback {
        guard port == nil else { return try bind(port ?? 0) }
        do throws(SystemError) {
            return try bind(WebOptions.usualPort)
        } catch {
            guard error.errno == EADDRINUSE else { throw error }
            return try bind(0)
        }
    }

    private static func bind(_ port: UInt16) throws(SystemError) -> Loopback {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Descriptor(owning: try retrying("socket") { Glibc.socket(AF_INET, type, 0) })
        let number = socket.rawValue
        var isReused: Int32 = 1
        try retrying("setsockopt") {
            unsafe setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try unsafe withUnsafeMutablePointer(to: &address) { (address) throws(SystemError) in
            try unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { (address) throws(SystemError) in
                try retrying("bind 127.0.0.1:\(port)") { unsafe Glibc.bind(number, address, length) }
                // The kernel drops connections while the queue is full, and clients repeat them only after a second.
                try retrying("listen") { Glibc.listen(number, SOMAXCONN) }
                try retrying("getsockname") { unsafe getsockname(number, address, &length) }
            }
        }
        return Loopback(socket: socket, port: UInt16(bigEndian: address.sin_port))
    }
}
