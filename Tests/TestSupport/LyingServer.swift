public import Foundation

/// The server of `OpsTransferTests/Server/lying_server.py`. It ends with the process that has started it.
public final class LyingServer: Sendable {
    /// One server without TLS for all tests of the process.
    public static let plain = Result { try LyingServer() }

    public let port: Int
    public var folder: String { directory.path }
    private let directory = TemporaryDirectory()
    /// Standard input of the server, which ends when this is closed.
    private let input: Pipe

    /// Directory of the server and of the programs that use it.
    public static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("OpsTransferTests/Server")

    public init(certificate: String? = nil, key: String? = nil) throws {
        // A proxy of this machine cannot reach its loopback.
        setenv("no_proxy", "*", 1)
        input = Pipe()
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["python3", "-B", Self.scripts.appendingPathComponent("lying_server.py").path, directory.path]
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
        guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else {
            throw SetUpError(description: "the test server printed no port")
        }
        self.port = port
    }

    /// Returns the requests that the server received for one id, oldest first: headers by their names in lower case,
    /// and `path`.
    public func requests(_ id: String) throws -> [[String: String]] {
        let text = try String(contentsOfFile: "\(folder)/\(id).jsonl", encoding: .utf8)
        return try text.split(separator: "\n").map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
    }
}

public struct SetUpError: Error, CustomStringConvertible {
    public var description: String

    public init(description: String) { self.description = description }
}

/// The bytes of one version of a file on the server: the same function as in Python.
public func serverContent(version: Int = 1, size: Int) -> Data {
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
