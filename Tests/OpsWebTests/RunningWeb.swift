import Foundation
import OpsSystem
import OpsWire
import Testing

/// A program of this build.
enum Built {
    static func path(_ name: String) -> String {
        let bundle = CommandLine.arguments.dropFirst().first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        let folder = URL(fileURLWithPath: bundle).deletingLastPathComponent().path
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        return [folder, source + "/.build/debug"].map { $0 + "/" + name }.first(where: Files.isExecutable) ?? name
    }
}

/// A daemon that answers every call with the call's own method and parameters.
struct FakeDaemon {
    let path: String

    init(folder: String) throws {
        path = folder + "/control.sock"
        let listener = try UnixSocket.listen(at: path)
        let number = try Descriptor.duplicate(of: listener.rawValue).release()
        Thread { FakeDaemon.serve(number) }.start()
    }

    private static func serve(_ number: Int32) {
        let listener = Descriptor(owning: number)
        // The thread ends with the test process; while it waits, it costs nothing.
        while true {
            do throws(SystemError) {
                try listener.waitUntil(.readable)
                guard let client = try UnixSocket.accept(from: listener) else { continue }
                let descriptor = client.release()
                Thread { FakeDaemon.answer(descriptor) }.start()
            } catch { return }
        }
    }

    private static func answer(_ number: Int32) {
        let client = Descriptor(owning: number)
        var frames = FrameDecoder()
        do {
            while true {
                try client.waitUntil(.readable)
                var bytes: [UInt8] = []
                guard case .moved = try client.read(atMost: 1 << 16, onto: &bytes) else { return }
                frames.append(bytes)
                while let message = try frames.next() {
                    let text = #"{"parameters":{"asked":\#(String(decoding: message, as: UTF8.self))}}"#
                    _ = try client.writeAll(Array(text.utf8) + [0])
                }
            }
        } catch { return }
    }
}

/// opsd-web as a process, with a fake daemon.
final class RunningWeb {
    struct Answer {
        var status = 0
        var text = ""
        var body: String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n") }
        func has(_ header: String) -> Bool { text.lowercased().contains("\r\n" + header.lowercased()) }
    }

    let folder: String
    let process = Process()
    /// First line of its output, which contains the link.
    let announcement: String
    let port: UInt16
    let token: String
    let bearer: String
    let daemon: FakeDaemon
    let output: FileHandle

    init(_ options: [String] = ["--port", "0"], environment: [String: String] = [:]) throws {
        folder = try Self.makeFolder()
        daemon = try FakeDaemon(folder: folder)
        process.executableURL = URL(fileURLWithPath: Built.path("opsd-web"))
        process.arguments = options
        process.environment = ProcessInfo.processInfo.environment
            .merging(["OPS_SOCKET": daemon.path, "XDG_RUNTIME_DIR": folder]) { $1 }.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        output = pipe.fileHandleForReading
        let link = try Self.line(from: output)
        let words = try Self.line(from: output)
        announcement = link
        port = UInt16(link.firstMatch(of: #/:(\d+)\//#)?.output.1 ?? "0") ?? 0
        token = try String(#require(link.firstMatch(of: #/#token=(\w+)/#)).output.1)
        bearer = try String(#require(words.firstMatch(of: #/Bearer (\w+)/#)).output.1)
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
        do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) }
    }

    static func makeFolder() throws -> String {
        let folder = NSTemporaryDirectory() + "/web-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }

    static func line(from handle: FileHandle) throws -> String {
        var bytes: [UInt8] = []
        while let next = try handle.read(upToCount: 1), let byte = next.first {
            if byte == UInt8(ascii: "\n") { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Connects to the port as a browser does.
    func connect() throws -> Descriptor {
        let socket = Descriptor(
            owning: try retrying("socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
        let number = socket.rawValue
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try retrying("connect") {
                    Glibc.connect(number, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        return socket
    }

    /// Sends a request, and returns the response up to the end of the connection.
    func send(_ request: String, to path: String? = nil) throws -> Answer {
        let socket: Descriptor
        if let path { socket = try UnixSocket.connect(to: path) } else { socket = try connect() }
        _ = try socket.writeAll(Array(request.utf8))
        return try Self.answer(from: socket)
    }

    static func answer(from socket: borrowing Descriptor) throws -> Answer {
        var bytes: [UInt8] = []
        reading: while try socket.waitUntil(.readable, milliseconds: 60_000) {
            switch try socket.read(atMost: 1 << 16, onto: &bytes) {
            case .moved: continue
            case .wouldBlock, .ended: break reading
            }
        }
        var answer = Answer(text: String(decoding: bytes, as: UTF8.self))
        answer.status = Int(answer.text.dropFirst(9).prefix(3)) ?? 0
        return answer
    }

    /// Requests a path; headers that are nil are left out.
    func ask(_ path: String, _ headers: [String: String?] = [:], body: String? = nil) throws -> Answer {
        var all: [String: String?] = ["Host": "127.0.0.1:\(port)", "Connection": "close"]
        if let body {
            all["Content-Type"] = "application/json"
            all["Content-Length"] = "\(body.utf8.count)"
        }
        all.merge(headers) { $1 }
        let lines = all.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.sorted().joined()
        return try send("\(body == nil ? "GET" : "POST") \(path) HTTP/1.1\r\n\(lines)\r\n\(body ?? "")")
    }

    var authorized: [String: String?] { ["Authorization": "Bearer \(bearer)"] }

    /// Opens a session and returns its cookie.
    func session() throws -> String {
        let answer = try ask("/session", body: #"{"token":"\#(token)"}"#)
        return try String(#require(answer.text.firstMatch(of: #/Set-Cookie: ([^;\r]+)/#)).output.1)
    }
}
