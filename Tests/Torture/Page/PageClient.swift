import Foundation
import Glibc

/// HTTP client for opsd-web: requests, and the stream of events.
struct PageClient {
    let port: UInt16
    let token: String

    /// One connection to a port of the loopback interface.
    final class Connection {
        private let descriptor: Int32
        private(set) var received: [UInt8] = []

        init?(port: UInt16) {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result != 0 { return nil }
        }

        deinit { close(descriptor) }

        func send(_ text: String) -> Bool {
            let bytes = Array(text.utf8)
            return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }

        /// Waits for more bytes. Returns false if none will come.
        func receive(seconds: Double) -> Bool {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, Int32(seconds * 1000)) > 0 else { return true }
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count <= 0 { return false }
            received += chunk[..<count]
            return true
        }

        /// Removes and returns the next complete line.
        func nextLine() -> String? {
            guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            var line = received[..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            let text = String(decoding: line, as: UTF8.self)
            received.removeSubrange(...end)
            return text
        }
    }

    private func head(_ method: String, _ path: String, token: String?, host: String?, _ more: String = "") -> String {
        // In HTTP/1.0 the answer ends with the connection.
        var head = "\(method) \(path) HTTP/1.0\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        return head + more
    }

    /// Returns status and body of the answer, or nil without an answer.
    func ask(_ path: String, token: String?, host: String? = nil, body: String? = nil) -> (status: Int, body: String)? {
        guard let connection = Connection(port: port) else { return nil }
        let fields = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n" } ?? ""
        let request = head(body == nil ? "GET" : "POST", path, token: token, host: host, fields) + "\r\n" + (body ?? "")
        guard connection.send(request) else { return nil }
        let end = Date().addingTimeInterval(10)
        while connection.receive(seconds: 0.5) { if Date() > end { return nil } }
        let parts = String(decoding: connection.received, as: UTF8.self).components(separatedBy: "\r\n\r\n")
        guard let status = parts[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        return (status, parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    /// Opens the stream of events, which begins after the last event that was received.
    func events(after last: Int) -> Connection? {
        guard let connection = Connection(port: port),
            connection.send(head("GET", "/events", token: token, host: nil, "Last-Event-ID: \(last)\r\n") + "\r\n")
        else { return nil }
        return connection
    }
}
