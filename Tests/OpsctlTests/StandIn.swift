import Foundation
import Glibc

/// A daemon that always gives the same answers, so that the output of opsctl can be compared exactly.
final class StandIn {
    let path: String
    private let listener: Int32

    /// - Parameter answers: Parameters of each reply, by method.
    init(_ answers: [String: [String]]) throws {
        path = NSTemporaryDirectory() + "/opsd-stand-in-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        let end = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        listener = end
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(end, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(end, 8) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread {
            while true {
                let connection = accept(end, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { Self.serve(connection, answers) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
    }

    private static func serve(_ connection: Int32, _ answers: [String: [String]]) {
        defer { close(connection) }
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            text += String(decoding: buffer[..<count], as: UTF8.self)
            while let end = text.firstIndex(of: "\0") {
                let method = text.components(separatedBy: "\"org.opsd.Control.")[1].components(separatedBy: "\"")[0]
                text = String(text[text.index(after: end)...])
                for (index, parameters) in (answers[method] ?? []).enumerated() {
                    let more = index + 1 < answers[method]?.count ?? 0 ? ",\"continues\":true" : ""
                    let reply = Array("{\"parameters\":\(parameters)\(more)}\0".utf8)
                    guard send(connection, reply, reply.count, Int32(MSG_NOSIGNAL)) == reply.count else { return }
                }
            }
        }
    }
}
