import Foundation
import Testing

@testable import OpsWeb

@Suite struct GzipTests {
    /// Returns the output of gzip for compressed bytes.
    private func expand(_ bytes: [UInt8]) throws -> [UInt8] {
        let folder = try RunningWeb.makeFolder()
        defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }
        try Data(bytes).write(to: URL(fileURLWithPath: folder + "/file.gz"))
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", folder + "/file.gz"]
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return Array(output)
    }

    private static let samples: [[UInt8]] = [
        [], [0], Array("ab".utf8), Array("aaa".utf8), [UInt8](repeating: 7, count: 1000),
        Array(0...255) + Array(0...255),
        // Repetitions of every length, at distances up to beyond the window.
        (0..<600).flatMap { length in (0..<length % 270).map { UInt8(truncatingIfNeeded: $0 &* length) } },
        (0..<40_000).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 7) } + Array("the end, the end".utf8),
    ]

    @Test(arguments: samples) func `gzip reads back what was compressed`(sample: [UInt8]) throws {
        #expect(try expand(Gzip.compress(sample)) == sample)
    }

    @Test func `the whole page is smaller than 60 KiB on the wire`() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var total = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: source.path + "/web") {
            let bytes = Array(try Data(contentsOf: source.appendingPathComponent("web/" + name)))
            let compressed = Gzip.compress(bytes)
            #expect(try expand(compressed) == bytes, "\(name)")
            total += compressed.count
        }
        #expect(total > 20 << 10 && total < 60 << 10)
    }

    @Test(arguments: [
        ("gzip, deflate, br", true), ("br;q=1.0, gzip;q=0.8", true), ("GZIP", true), ("gzip;q=0", false),
        ("gzip; q=0.0", false), ("xgzip", false), ("", false), ("identity", false),
    ])
    func `only clients that accept gzip get it`(header: String, isAccepted: Bool) {
        var head = RequestHead()
        #expect(!head.acceptsGzip)
        head.headers = [("accept-encoding", header)]
        #expect(head.acceptsGzip == isAccepted)
    }

    @Test func `a file is served compressed, and a caller that does not ask gets it as it is`() throws {
        let web = try RunningWeb()
        let asked = web.authorized.merging(["Accept-Encoding": "gzip"]) { $1 }
        let (small, plain) = (try web.ask("/app.css", asked), try web.ask("/app.css", web.authorized))
        #expect(small.has("Content-Encoding: gzip") && small.has("Vary: Cookie, Authorization, Accept-Encoding"))
        #expect(!plain.has("Content-Encoding") && plain.body.contains("--background"))
        #expect(try web.ask("/call", asked, body: #"{"method":"Status"}"#).has("Content-Encoding") == false)
    }
}
