import Foundation
import TestSupport

@testable import OpsTransfer

enum Scratch {
    /// Creates a folder for temporary files. The caller removes it.
    static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "opsd-transfer-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// A download of one file, which a test can run several times, with the server and the folder that it uses.
final class Fetch {
    let server: LyingServer
    let folder: String
    let id = UUID().uuidString
    let target: String
    var notices: [String] = []
    var checksum: String?
    var headers: HeadersFile = .none
    var stallLimit = 60
    var rateLimit: Int64 = 0
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
            // The system removes the folder at its next start.
        }
    }

    func address(_ scenario: String, _ query: String = "", scheme: String = "http", host: String = "127.0.0.1")
        -> String
    {
        "\(scheme)://\(host):\(server.port)/\(scenario)/\(id)?\(query)"
    }

    /// Runs the download once, and returns the size of the file or the failure.
    func run(_ scenario: String, _ query: String = "") throws -> Result<Int64, Failure> {
        try run(url: address(scenario, query))
    }

    func run(url: String) throws -> Result<Int64, Failure> {
        do throws(Failure) {
            var request = DownloadRequest(address: try WebAddress(url), target: target)
            request.checksum = checksum.flatMap { Checksum($0) }
            request.headers = headers
            request.stallLimit = stallLimit
            request.rateLimit = rateLimit
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
                case .waits: break
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

    /// Names of all files in the target's folder.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    /// Lets a response continue that waits for a file ID.go.
    func letServerContinue() throws {
        try Data().write(to: URL(fileURLWithPath: "\(server.folder)/\(id).go"))
    }

    /// Range header of each request; nil for a request for the whole file.
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
