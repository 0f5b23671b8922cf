import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// Downloads from a server that sends correct, unusual and wrong responses.
@Suite struct DownloadTests {
    private let body = serverContent(size: 100_000)
    private let other = serverContent(version: 2, size: 100_000)

    @Test(arguments: [0, 1, 100_000, 3_000_000])
    func `a file of any size is downloaded completely and leaves no other file`(size: Int) throws {
        let fetch = try Fetch()
        #expect(try fetch.run("file", "size=\(size)").size == Int64(size))
        #expect(fetch.file == serverContent(size: size))
        #expect(try fetch.names == ["file"])
    }

    @Test(arguments: ["chunked", "chunked-with-trailers", "interim", "endless"])
    func `unusual but valid responses are downloaded completely`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
    }

    @Test(arguments: ["truncates-once", "resets-once", "chunked-without-end"])
    func `the next attempt continues a body that was cut off`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        #expect(fetch.file == nil)
        #expect(try fetch.names.contains(".file.part.state"))
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.names == ["file"])
        let request = try #require(try fetch.server.requests(fetch.id).last)
        #expect(request["if-range"] == "\"v1\"")
        #expect(request["accept-encoding"] == "identity")
    }

    @Test func `a continued download requests the last byte on disk again`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        #expect(try fetch.run("truncates-once").size == 100_000)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `a paused download resumes from the bytes on disk after a response without a body`() throws {
        // The first half ends with two equal bytes: their comparison does not detect a position that is wrong by one.
        let bytes = Array(serverContent(size: 40_000))
        let half = try #require((30_000..<40_000).first { bytes[$0 - 1] == bytes[$0 - 2] })
        let size = 2 * half
        let fetch = try Fetch()
        #expect(try fetch.run("cuts-after-head", "size=\(size)").kind == .retryable)
        let engine = try Engine(.init())
        var result: Result<Int64, Failure>?
        let request = DownloadRequest(
            address: try WebAddress(fetch.address("cuts-after-head", "size=\(size)")), target: fetch.target)
        let download = try Download(request, on: engine) { event in
            if case .ended(let end) = event { result = end }
        }
        download.start()
        while try fetch.ranges.count < 2 {
            try engine.wait(milliseconds: 50)
            try engine.step()
        }
        download.setPaused(true)
        download.setPaused(false)
        try fetch.letServerContinue()
        while result == nil {
            try engine.wait(milliseconds: 1000)
            try engine.step()
        }
        #expect(result?.size == Int64(size))
        #expect(fetch.file == serverContent(size: size))
        let range = "bytes=\(half - 1)-"
        #expect(try fetch.ranges == [nil, range, range])
    }

    @Test func `a truncated download never appears at the target`() throws {
        let fetch = try Fetch()
        for _ in 0..<3 {
            #expect(try fetch.run("truncates").kind == .retryable)
            #expect(fetch.file == nil)
        }
    }

    /// The versions are never mixed: every byte of the file is of the second version.
    @Test(arguments: ["changes", "changes-in-part"])
    func `a file that changes between two attempts is downloaded from its start`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == other)
        #expect(fetch.notices.count == 1)
    }

    @Test func `a changed last byte restarts the download`() throws {
        let size = try #require(
            (60_000..<60_100).first { serverContent(size: $0 / 2).last != serverContent(version: 2, size: $0 / 2).last }
        )
        let fetch = try Fetch()
        #expect(try fetch.run("changes-silently", "size=\(size)").kind == .retryable)
        #expect(try fetch.run("changes-silently", "size=\(size)").size == Int64(size))
        #expect(fetch.file == serverContent(version: 2, size: size))
    }

    @Test func `the checksum detects a change under the same tag`() throws {
        // The last byte of the first half is the same in both versions, so only the checksum shows the change.
        let size = try #require(
            (60_000..<70_000).first {
                serverContent(size: $0 / 2).last == serverContent(version: 2, size: $0 / 2).last
            })
        let fetch = try Fetch()
        fetch.checksum = SHA256.digest(of: Array(serverContent(version: 2, size: size))).description
        #expect(try fetch.run("changes-silently", "size=\(size)").kind == .retryable)
        #expect(try fetch.run("changes-silently", "size=\(size)").size == Int64(size))
        #expect(fetch.file == serverContent(version: 2, size: size))
        #expect(try fetch.ranges == [nil, "bytes=\(size / 2 - 1)-", nil])
    }

    @Test(arguments: [
        "lies-about-start", "lies-about-end", "lies-about-total", "lies-about-unit", "short-part", "multipart",
        "no-tag-in-part", "refuses-range",
    ])
    func `a wrong partial response is discarded and the whole file is requested`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-", nil])
    }

    @Test func `messages replace the control characters of a server`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("lies-with-control-characters").kind == .retryable)
        #expect(try fetch.run("lies-with-control-characters").size == 100_000)
        #expect(fetch.notices.count == 1)
        #expect(try #require(fetch.notices.first).contains("an invalid Content-Range: ?[31mlines? "))
    }

    @Test func `a complete response to a range request restarts the file without another request`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("ignores-range").kind == .retryable)
        #expect(try fetch.run("ignores-range").size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `a second wrong response after the restart fails the download`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("lies-always").kind == .retryable)
        #expect(try fetch.run("lies-always").kind == .wrongContent)
        #expect(try fetch.names == [])
    }

    @Test func `a download with a weak tag is not continued`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("weak").kind == .retryable)
        #expect(try fetch.names == [])
        #expect(try fetch.run("weak").size == 100_000)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test func `Last-Modified that is 60 seconds before Date is a validator`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("dated", "age=60").kind == .retryable)
        #expect(try fetch.run("dated", "age=60").size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `Last-Modified that is less than 60 seconds before Date is no validator`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("dated", "age=59").kind == .retryable)
        #expect(try fetch.run("dated", "age=59").size == 100_000)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test(arguments: [
        "unasked-part", "gzip", "transfer-gzip", "two-lengths", "negative-length", "until-close", "huge-headers", "old",
        "garbage", "overflowing-length", "nothing", "long-header", "flood", "endless-trailers",
    ])
    func `responses that violate HTTP fail as wrong content`(scenario: String) throws {
        let fetch = try Fetch()
        let result = try fetch.run(scenario)
        #expect(result.kind == .wrongContent, "\(result)")
        #expect(try fetch.names == [])
    }

    /// The second response has a body that libcurl accepts, and no status of a final response.
    @Test(arguments: ["no-status", "switches-protocols"])
    func `the body of a response without a valid status never becomes part of the file`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        let result = try fetch.run(scenario)
        #expect(result.kind == .wrongContent, "\(result)")
        #expect(try fetch.names == [])
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-", nil])
    }

    @Test func `a response without its body is retryable`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("no-body").kind == .retryable)
        #expect(try fetch.names == [])
    }

    @Test func `a body of unknown length is accepted if its checksum matches`() throws {
        let fetch = try Fetch()
        fetch.checksum = SHA256.digest(of: Array(body)).description
        #expect(try fetch.run("until-close").size == 100_000)
        fetch.checksum = SHA256.digest(of: Array(other)).description
        #expect(try fetch.run("until-close").kind == .wrongContent)
        #expect(fetch.file == body, "the earlier file stays")
    }

    @Test func `a wrong checksum leaves no file`() throws {
        let fetch = try Fetch()
        fetch.checksum = String(repeating: "0", count: 64)
        #expect(try fetch.run("file").kind == .wrongContent)
        #expect(try fetch.names == [])
    }

    @Test(arguments: ["stalls", "stalls-before-head"], [0, 200_000] as [Int64])
    func `a stalled connection is closed after the limit`(scenario: String, rateLimit: Int64) throws {
        let fetch = try Fetch()
        fetch.stallLimit = 1
        fetch.rateLimit = rateLimit
        #expect(try fetch.run(scenario).kind == .retryable)
    }

    /// At this rate, libcurl pauses for ten seconds after the first bytes.
    @Test func `a pause for the limited rate does not count as a stalled connection`() throws {
        let fetch = try Fetch()
        fetch.stallLimit = 1
        fetch.rateLimit = 20_000
        #expect(try fetch.run("file", "size=220000").size == 220_000)
    }

    @Test(arguments: [
        (408, Failure.Kind.retryable), (425, .retryable), (429, .retryable), (500, .retryable), (503, .retryable),
        (400, .refused), (401, .refused), (403, .refused), (404, .refused), (407, .refused), (410, .refused),
        (416, .refused), (300, .refused), (304, .refused), (203, .wrongContent), (206, .wrongContent),
    ])
    func `each status of HTTP maps to a kind of failure`(status: Int, kind: Failure.Kind) throws {
        let fetch = try Fetch()
        let result = try fetch.run("status", "status=\(status)&retry=7")
        #expect(result.kind == kind)
        guard case .failure(let failure) = result else { return }
        #expect(failure.retryAfter == (kind == .retryable ? 7 : nil))
        #expect(try fetch.names == [])
    }

    @Test func `an overloaded server does not discard the bytes on disk`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        let part = FileManager.default.contents(atPath: fetch.folder + "/.file.part")
        #expect(try fetch.run("status", "status=503").kind == .retryable)
        #expect(FileManager.default.contents(atPath: fetch.folder + "/.file.part") == part)
    }

    @Test func `a download of another address does not continue the bytes of the first`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        #expect(try fetch.run("file", "version=2").size == 100_000)
        #expect(fetch.file == other)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test func `an unreachable server is retryable`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run(url: "http://127.0.0.1:1/file").kind == .retryable)
        #expect(try fetch.run(url: "http://nowhere.invalid/file").kind == .retryable)
        #expect(try fetch.names == [])
    }
}
