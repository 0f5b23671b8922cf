import Foundation
import Glibc

/// Acts as systemd for one opsd: receives its messages and passes a socket to it.
final class ServiceManager {
    /// Environment of the service.
    private(set) var environment: [String: String]
    /// Socket that it keeps for the service, if there is one.
    private(set) var listener: Int32?
    /// All assignments received so far.
    private(set) var said: [String] = []
    private let descriptor: Int32

    init(in directory: String, watchdog microseconds: Int? = nil) throws {
        // Not `notify.sock`: the runner uses that name if it has no directory of its own.
        let path = directory + "/manager.sock"
        environment = ["NOTIFY_SOCKET": path]
        environment["WATCHDOG_USEC"] = microseconds.map(String.init)
        descriptor = try Self.bound(SOCK_DGRAM, to: path)
    }

    deinit {
        close(descriptor)
        if let listener { close(listener) }
    }

    /// Listens for the service; a client that connects now waits for it.
    func listen(at path: String) throws {
        let socket = try Self.bound(SOCK_STREAM, to: path)
        guard Glibc.listen(socket, 16) == 0 else { throw SetupError("cannot listen at \(path)") }
        listener = socket
    }

    /// Returns true if a client has connected to the socket that is kept for the service.
    func hasCaller() -> Bool {
        var wanted = pollfd(fd: listener ?? -1, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 60_000) == 1
    }

    private static func bound(_ type: __socket_type, to path: String) throws -> Int32 {
        unlink(path)
        let descriptor = Glibc.socket(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SetupError("cannot bind \(path): \(String(cString: strerror(errno)))") }
        return descriptor
    }

    /// Waits for a message with an assignment that begins like this, and returns its assignments; nil if none arrives
    /// in time.
    func hear(_ beginning: String, seconds: Double = 60) throws -> [String]? {
        let end = Date().addingTimeInterval(seconds)
        while true {
            let left = end.timeIntervalSinceNow
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&wanted, 1, Int32(left * 1000)) == 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = max(0, recv(descriptor, &bytes, bytes.count, 0))
            let message = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
            said += message
            if message.contains(where: { $0.hasPrefix(beginning) }) { return message }
        }
    }
}
