import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// Downloads from a server that lies.
@Suite struct DownloadTests {
    private let body = serverContent(size: 100_000)
    private let other = serverContent(version: 2, size: 100_000)

    @Test(arguments: [0, 1, 100_000, 3_000_000])
    func `an honest file of any size arrives whole and alone`(size: Int) throws {
        let fetch = try Fetch()
        #expect(try fetch.run("file", "size=\(size)").size == Int64(size))
        #expect(fetch.file == serverContent(size: size))
        #expect(try fetch.names == ["file"])
    }

    @Test(arguments: ["chunked", "chunked-with-trailers", "interim", "endless"])
    func `unusual forms of an honest file arrive whole`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
    }

    @Test(arguments: ["truncates-once", "resets-once", "chunked-without-end"])
    func `a body that breaks off is continued by the next attempt`(scenario: String) throws {
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

    @Test func `the last byte on disk is asked for once more`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        #expect(try fetch.run("truncates-once").size == 100_000)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `a truncated file never stands at its target`() throws {
        let fetch = try Fetch()
        for _ in 0..<3 {
            #expect(try fetch.run("truncates").kind == .retryable)
            #expect(fetch.file == nil)
        }
    }

    /// Versions are never mixed: the file is the second one, from its first byte.
    @Test(arguments: ["changes", "changes-in-part"])
    func `a file that changes between two attempts is fetched again`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == other)
        #expect(fetch.notices.count == 1)
    }

    @Test func `a change that the last byte betrays starts the file again`() throws {
        let size = try #require(
            (60_000..<60_100).first { serverContent(size: $0 / 2).last != serverContent(version: 2, size: $0 / 2).last }
        )
        let fetch = try Fetch()
        #expect(try fetch.run("changes-silently", "size=\(size)").kind == .retryable)
        #expect(try fetch.run("changes-silently", "size=\(size)").size == Int64(size))
        #expect(fetch.file == serverContent(version: 2, size: size))
    }

    @Test func `a change behind the same tag is found by the checksum`() throws {
        // The last byte of the first half is the same in both versions, so that nothing else shows the change.
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
    func `a wrong part is dropped and the whole file is asked for`(scenario: String) throws {
        let fetch = try Fetch()
        #expect(try fetch.run(scenario).kind == .retryable)
        #expect(try fetch.run(scenario).size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-", nil])
    }

    @Test func `a server that ignores ranges starts the file again in the same answer`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("ignores-range").kind == .retryable)
        #expect(try fetch.run("ignores-range").size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `a server that lies again after the restart is given up`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("lies-always").kind == .retryable)
        #expect(try fetch.run("lies-always").kind == .wrongContent)
        #expect(try fetch.names == [])
    }

    @Test func `bytes under a weak tag are not continued`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("weak").kind == .retryable)
        #expect(try fetch.names == [])
        #expect(try fetch.run("weak").size == 100_000)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test func `a date that was settled is a validator`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("dated", "age=60").kind == .retryable)
        #expect(try fetch.run("dated", "age=60").size == 100_000)
        #expect(fetch.file == body)
        #expect(try fetch.ranges == [nil, "bytes=49999-"])
    }

    @Test func `a fresh date is none`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("dated", "age=59").kind == .retryable)
        #expect(try fetch.run("dated", "age=59").size == 100_000)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test(arguments: [
        "unasked-part", "gzip", "transfer-gzip", "two-lengths", "negative-length", "until-close", "huge-headers", "old",
        "garbage", "overflowing-length", "nothing", "long-header", "flood",
    ])
    func `answers that break the rules are wrong content`(scenario: String) throws {
        let fetch = try Fetch()
        let result = try fetch.run(scenario)
        #expect(result.kind == .wrongContent, "\(result)")
        #expect(try fetch.names == [])
    }

    @Test func `a head without its body is worth a retry`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("no-body").kind == .retryable)
        #expect(try fetch.names == [])
    }

    @Test func `a body without length is accepted with its checksum`() throws {
        let fetch = try Fetch()
        fetch.checksum = SHA256.digest(of: Array(body)).description
        #expect(try fetch.run("until-close").size == 100_000)
        fetch.checksum = SHA256.digest(of: Array(other)).description
        #expect(try fetch.run("until-close").kind == .wrongContent)
        #expect(fetch.file == body, "the file that was there stays")
    }

    @Test func `a wrong checksum leaves nothing`() throws {
        let fetch = try Fetch()
        fetch.checksum = String(repeating: "0", count: 64)
        #expect(try fetch.run("file").kind == .wrongContent)
        #expect(try fetch.names == [])
    }

    @Test(arguments: ["stalls", "stalls-before-head"])
    func `a server that stalls is left`(scenario: String) throws {
        let fetch = try Fetch()
        fetch.stallLimit = 1
        #expect(try fetch.run(scenario).kind == .retryable)
    }

    @Test(arguments: [
        (408, Failure.Kind.retryable), (425, .retryable), (429, .retryable), (500, .retryable), (503, .retryable),
        (400, .refused), (401, .refused), (403, .refused), (404, .refused), (407, .refused), (410, .refused),
        (416, .refused), (300, .refused), (304, .refused), (203, .wrongContent), (206, .wrongContent),
    ])
    func `each status has its kind`(status: Int, kind: Failure.Kind) throws {
        let fetch = try Fetch()
        let result = try fetch.run("status", "status=\(status)&retry=7")
        #expect(result.kind == kind)
        guard case .failure(let failure) = result else { return }
        #expect(failure.retryAfter == (kind == .retryable ? 7 : nil))
        #expect(try fetch.names == [])
    }

    @Test func `bytes on disk outlive a server that is overloaded`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        let part = FileManager.default.contents(atPath: fetch.folder + "/.file.part")
        #expect(try fetch.run("status", "status=503").kind == .retryable)
        #expect(FileManager.default.contents(atPath: fetch.folder + "/.file.part") == part)
    }

    @Test func `another address does not continue the bytes of the first`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("truncates-once").kind == .retryable)
        #expect(try fetch.run("file", "version=2").size == 100_000)
        #expect(fetch.file == other)
        #expect(try fetch.ranges == [nil, nil])
    }

    @Test func `a server that is not there is worth a retry`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run(url: "http://127.0.0.1:1/file").kind == .retryable)
        #expect(try fetch.run(url: "http://nowhere.invalid/file").kind == .retryable)
        #expect(try fetch.names == [])
    }
}
