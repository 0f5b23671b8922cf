import Foundation

@testable import OpsTransfer

/// The server of `Server/lying_server.py`, one for all tests of the process. It ends with the process.
final class LyingServer: Sendable {
    static let plain = Result { try LyingServer() }

    let port: Int
    let folder: String
    /// Its end, at the end of this process, is the server's.
    private let input: Pipe

    static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Server")

    init(certificate: String? = nil, key: String? = nil) throws {
        // A proxy that this machine may need for the world is not asked for its own loopback.
        setenv("no_proxy", "*", 1)
        folder = try Scratch.folder()
        input = Pipe()
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["python3", "-B", Self.scripts.appendingPathComponent("lying_server.py").path, folder]
            + [certificate, key].compactMap { $0 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else {
                throw SetUpError(description: "the test server did not start")
            }
            line += byte
        }
        guard let port = Int(String(decoding: line, as: UTF8.self).trimmed) else {
            throw SetUpError(description: "the test server printed no port")
        }
        self.port = port
    }

    /// Returns the requests that the server received for one id, oldest first: headers by their names in lower case,
    /// and `path`.
    func requests(_ id: String) throws -> [[String: String]] {
        let text = try String(contentsOfFile: "\(folder)/\(id).jsonl", encoding: .utf8)
        return try text.split(separator: "\n").map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
    }
}

struct SetUpError: Error, CustomStringConvertible { var description: String }

enum Scratch {
    /// A new folder below the system's for temporary files; `remove` deletes it.
    static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "opsd-transfer-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// The bytes that the server has: the same function as in Python.
func serverContent(version: Int = 1, size: Int) -> Data {
    let length = 65_521
    var state = version
    var block = Data(capacity: length)
    for _ in 0..<length {
        state = (state &* 1_103_515_245 &+ 12345) & 0x7FFF_FFFF
        block.append(UInt8(state >> 16 & 255))
    }
    var all = Data(capacity: size)
    while all.count < size { all += block.prefix(size - all.count) }
    return all
}

/// One file to fetch from the server, as often as a test wants.
final class Fetch {
    let server: LyingServer
    let folder: String
    let id = UUID().uuidString
    let target: String
    var notices: [String] = []
    var checksum: String?
    var headers: HeadersFile = .none
    var stallLimit = 60
    var options = Engine.Options()

    init(_ server: Result<LyingServer, any Error> = LyingServer.plain) throws {
        self.server = try server.get()
        folder = try Scratch.folder()
        target = folder + "/file"
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: folder)
        } catch {
            // The system removes it at its next start.
        }
    }

    func address(_ scenario: String, _ query: String = "", scheme: String = "http", host: String = "127.0.0.1")
        -> String
    {
        "\(scheme)://\(host):\(server.port)/\(scenario)/\(id)?\(query)"
    }

    /// Returns the size of the file, or the kind of the failure.
    func run(_ scenario: String, _ query: String = "") throws -> Result<Int64, Failure> {
        try run(url: address(scenario, query))
    }

    func run(url: String) throws -> Result<Int64, Failure> {
        do throws(Failure) {
            var request = DownloadRequest(address: try WebAddress(url), target: target)
            request.checksum = checksum.flatMap { Checksum($0) }
            request.headers = headers
            request.stallLimit = stallLimit
            return try run(request)
        } catch {
            return .failure(error)
        }
    }

    private func run(_ request: DownloadRequest) throws(Failure) -> Result<Int64, Failure> {
        var result: Result<Int64, Failure>?
        do {
            let engine = try Engine(options)
            let download = try Download(request, on: engine) { event in
                switch event {
                case .notice(let text): self.notices.append(text)
                case .ended(let end): result = end
                }
            }
            download.start()
            while true {
                if let result { return result }
                try engine.wait(milliseconds: 1000)
                try engine.step()
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.retryable, "\(error)")
        }
    }

    var file: Data? { FileManager.default.contents(atPath: target) }

    /// Names in the folder of the target.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    /// The byte that each request asked to continue from, nil for the whole file.
    var ranges: [String?] { get throws { try server.requests(id).map { $0["range"] } } }
}

extension Result where Success == Int64, Failure == OpsTransfer.Failure {
    var kind: OpsTransfer.Failure.Kind? {
        if case .failure(let failure) = self { failure.kind } else { nil }
    }
    var size: Int64? {
        if case .success(let size) = self { size } else { nil }
    }
    var message: String {
        if case .failure(let failure) = self { failure.message } else { "" }
    }
}
