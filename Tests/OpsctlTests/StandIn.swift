import Foundation
import Glibc

/// A daemon that always gives the same answers, so that the output of opsctl can be compared exactly.
final class StandIn {
    let path: String
    private let listener: Int32

    /// - Parameters:
    ///   - answers: Parameters of each reply, or a whole reply with an error, by method. There is no answer to others.
    ///   - losing: Methods at whose calls the connection is closed.
    init(_ answers: [String: [String]], losing: Set<String> = []) throws {
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
                Thread.detachNewThread { Self.serve(connection, answers, losing) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
    }

    /// Runs opsctl with this daemon.
    ///
    /// - Parameter file: Standard output, if it is not to be returned.
    func opsctl(_ words: [String], to file: FileHandle? = nil) throws -> (status: Int32, out: String, err: String) {
        // opsctl is beside the test bundle; if the link cannot be read, the error of the start contains the path.
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let program = Process()
        program.executableURL = URL(fileURLWithPath: (bundle as NSString).deletingLastPathComponent + "/opsctl")
        program.arguments = words
        program.environment = ProcessInfo.processInfo.environment.merging(["OPS_SOCKET": path]) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        if let file { program.standardOutput = file } else { program.standardOutput = output }
        program.standardError = errors
        program.standardInput = FileHandle.nullDevice
        try program.run()
        let err = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        var out = ""
        if file == nil { out = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
        program.waitUntilExit()
        return (program.terminationStatus, out, err)
    }

    private static func serve(_ connection: Int32, _ answers: [String: [String]], _ losing: Set<String>) {
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
                if losing.contains(method) { return }
                for (index, parameters) in (answers[method] ?? []).enumerated() {
                    let more = index + 1 < answers[method]?.count ?? 0 ? ",\"continues\":true" : ""
                    let isWhole = parameters.hasPrefix(#"{"error""#)
                    let reply = Array((isWhole ? parameters : "{\"parameters\":\(parameters)\(more)}").utf8) + [0]
                    guard send(connection, reply, reply.count, Int32(MSG_NOSIGNAL)) == reply.count else { return }
                }
            }
        }
    }
}
