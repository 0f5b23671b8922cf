import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

@Suite struct RedirectTests {
    @Test func `ten redirects are followed and eleven are not`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("redirects", "redirects=10").size == 100_000)
        #expect(fetch.file == serverContent(size: 100_000))
        #expect(try fetch.run("redirects", "redirects=11").kind == .refused)
        #expect(try fetch.run("circle").kind == .refused)
    }

    @Test(arguments: ["leads-nowhere", "leads-to-file", "leads-to-password"])
    func `a redirect without a valid web address is refused`(scenario: String) throws {
        let fetch = try Fetch()
        let result = try fetch.run(scenario)
        #expect(result.kind == .refused)
        #expect(!result.message.contains("secret"))
    }

    @Test func `headers of the user are not sent to another origin`() throws {
        let fetch = try Fetch()
        fetch.headers = try HeadersFile(text: "Authorization: Bearer secret\nX-Token: secret\n", path: "headers")
        let away = fetch.address("file", host: "localhost")
        let escaped = try #require(away.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        #expect(try fetch.run("leads-away", "to=\(escaped)").size == 100_000)
        let requests = try fetch.server.requests(fetch.id)
        #expect(requests.map { $0["authorization"] } == ["Bearer secret", nil])
        #expect(requests.map { $0["x-token"] } == ["secret", nil])
    }

    @Test func `headers of the user are not sent after a redirect back to the first origin`() throws {
        let fetch = try Fetch()
        fetch.headers = try HeadersFile(text: "X-Token: secret\n", path: "headers")
        let escape = { (text: String) in text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
        let back = fetch.address("file")
        let away = fetch.address("leads-away", "to=\(escape(back))", host: "localhost")
        #expect(try fetch.run("leads-away", "to=\(escape(away))").size == 100_000)
        #expect(try fetch.server.requests(fetch.id).map { $0["x-token"] } == ["secret", nil, nil])
    }

    @Test func `headers of the user are sent along with redirects within the origin`() throws {
        let fetch = try Fetch()
        fetch.headers = try HeadersFile(text: "X-Token: secret\n", path: "headers")
        #expect(try fetch.run("redirects", "redirects=2").size == 100_000)
        #expect(try fetch.server.requests(fetch.id).map { $0["x-token"] } == ["secret", "secret", "secret"])
    }

    @Test func `a redirect whose target differs only in its query continues the file`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("signed").kind == .retryable)
        #expect(try fetch.run("signed").size == 100_000)
        #expect(fetch.file == serverContent(size: 100_000))
        #expect(try fetch.server.requests(fetch.id + "-file").map { $0["range"] } == [nil, "bytes=49999-"])
    }

    @Test func `a redirect to another file with the same tag restarts the download`() throws {
        let fetch = try Fetch()
        #expect(try fetch.run("moves").kind == .retryable)
        #expect(try fetch.run("moves").size == 100_000)
        #expect(fetch.file == serverContent(version: 2, size: 100_000))
        #expect(try fetch.server.requests(fetch.id + "-2").map { $0["range"] } == [nil])
    }
}
