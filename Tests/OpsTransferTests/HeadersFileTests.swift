import Foundation
import Testing

@testable import OpsTransfer

@Suite struct HeadersFileTests {
    private func file(_ text: String, mode: Int) throws -> String {
        let path = try Scratch.folder() + "/headers"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
        return path
    }

    @Test func `each line of the file is a header`() throws {
        let headers = try HeadersFile(text: "Authorization: Bearer a:b \n\nX-Empty:\nX-Tab:\ta\n", path: "f")
        #expect(headers.lines == ["Authorization: Bearer a:b", "X-Empty;", "X-Tab: a"])
    }

    @Test(arguments: [
        "no colon", ": no name", "Two Words: a", "X: a\rY: b", "X: a\u{0}", "X: a\r", "Host: a", "range: bytes=0-",
        "IF-RANGE: \"a\"", "Content-Length: 5", "Transfer-Encoding: chunked", "Accept-Encoding: gzip",
        "If-None-Match: *", "Proxy-Authorization: Basic a", "X\u{E9}: a",
    ])
    func `a line that would change the request is refused, and the error does not show its value`(line: String) throws {
        let failure = try #require(throws: Failure.self) {
            try HeadersFile(text: "X-Fine: yes\n\(line)", path: "headers")
        }
        #expect(failure.kind == .usage)
        #expect(failure.message.hasPrefix("headers:2: "))
        #expect(!failure.message.contains("bytes=0-") && !failure.message.contains("Basic"))
    }

    @Test(arguments: [(0o600, true), (0o400, true), (0o640, false), (0o620, false), (0o604, false), (0o602, false)])
    func `a file that others can read or change is refused`(mode: Int, isAccepted: Bool) throws {
        let path = try file("X: a\n", mode: mode)
        if isAccepted {
            #expect(try HeadersFile(path: path).lines == ["X: a"])
        } else {
            let failure = try #require(throws: Failure.self) { try HeadersFile(path: path) }
            #expect(failure.kind == .usage)
        }
        try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
    }

    @Test func `an error of the system while the file is read is retryable`() throws {
        // The first page of a process is not mapped.
        let failure = try #require(throws: Failure.self) { try HeadersFile(path: "/proc/self/mem") }
        #expect(failure.kind == .retryable, "\(failure.message)")
    }

    @Test func `a file that is missing or too large is refused`() throws {
        #expect(throws: Failure.self) { try HeadersFile(path: "/nowhere/headers") }
        let path = try file(String(repeating: "X: a\n", count: 20_000), mode: 0o600)
        #expect(throws: Failure.self) { try HeadersFile(path: path) }
        try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
    }
}
