import Testing

@testable import OpsWeb

@Suite struct GateTests {
    private let gate = Gate(address: .loopback(port: 8817))
    private var credentials: Credentials
    private let session: String

    init() throws {
        credentials = try Credentials()
        session = try #require(try credentials.exchange(credentials.link))
    }

    private func judge(_ method: String = "GET", host: String? = "127.0.0.1:8817", _ more: [String: String] = [:])
        -> Gate.Verdict
    {
        var head = RequestHead()
        head.method = method
        if let host { head.headers.append(("host", host)) }
        for (name, value) in more.sorted(by: { $0.key < $1.key }) { head.headers.append((name, value)) }
        return gate.judge(head, credentials)
    }

    private var cookie: [String: String] { ["cookie": "other=1; opsd-web-8817=\(session)"] }

    private func isRefused(_ verdict: Gate.Verdict) -> Bool {
        if case .refused = verdict { return true }
        return false
    }

    @Test func `a cookie and a bearer token are admitted`() {
        #expect(judge(cookie) == .admitted)
        #expect(judge(["authorization": "Bearer \(credentials.bearer)"]) == .admitted)
        #expect(judge(["authorization": "bearer \(credentials.bearer)"]) == .admitted)
    }

    private func judge(_ headers: [String: String]) -> Gate.Verdict { judge("GET", headers) }

    @Test func `a request without a session is a stranger's`() {
        #expect(judge() == .stranger)
        #expect(judge(["cookie": "opsd-web-8817=\(credentials.link)"]) == .stranger)
        #expect(judge(["cookie": "opsd-web-9999=\(session)"]) == .stranger)
        #expect(judge(["cookie": "opsd-web-8817="]) == .stranger)
    }

    @Test func `a wrong bearer token is refused even beside a session`() {
        #expect(isRefused(judge(cookie.merging(["authorization": "Bearer \(session)"]) { $1 })))
        #expect(isRefused(judge(["authorization": "Basic \(credentials.bearer)"])))
        #expect(isRefused(judge(["authorization": "Bearer"])))
    }

    @Test(arguments: [
        "evil.example", "evil.example:8817", "127.0.0.1:8818", "127.0.0.1", "localhost", "127.0.0.1:8817.evil.example",
        "127.0.0.1.evil.example:8817", "0.0.0.0:8817", "127.0.0.2:8817", "", "127.0.0.1:8817 evil.example",
    ])
    func `a host of another name is refused with any credentials`(host: String) {
        #expect(isRefused(judge(host: host)))
        #expect(isRefused(judge(host: host, cookie)))
        #expect(isRefused(judge(host: host, ["authorization": "Bearer \(credentials.bearer)"])))
    }

    @Test func `a request without a host or with two is refused`() {
        #expect(isRefused(judge(host: nil, cookie)))
        var head = RequestHead()
        head.headers = [("host", "127.0.0.1:8817"), ("host", "127.0.0.1:8817"), ("cookie", "opsd-web-8817=\(session)")]
        #expect(isRefused(gate.judge(head, credentials)))
    }

    @Test(arguments: ["127.0.0.1:8817", "localhost:8817", "LOCALHOST:8817", "[::1]:8817"])
    func `names of loopback are our host`(host: String) {
        #expect(judge(host: host, cookie) == .admitted)
    }

    @Test(arguments: [
        "http://evil.example", "null", "https://127.0.0.1:8817", "http://127.0.0.1:8818", "http://localhost:8817", "",
    ])
    func `another origin is refused`(origin: String) {
        #expect(
            isRefused(judge("POST", cookie.merging(["origin": origin, "content-type": "application/json"]) { $1 })))
        #expect(isRefused(judge(cookie.merging(["origin": origin]) { $1 })))
    }

    @Test func `our own origin is admitted`() {
        let headers = ["origin": "http://127.0.0.1:8817", "content-type": "application/json; charset=utf-8"]
        #expect(judge("POST", cookie.merging(headers) { $1 }) == .admitted)
    }

    @Test(arguments: ["cross-site", "same-site", "anything"])
    func `a request that another site caused is refused`(site: String) {
        #expect(isRefused(judge(cookie.merging(["sec-fetch-site": site]) { $1 })))
        let frame = ["sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"]
        #expect(isRefused(judge(cookie.merging(frame) { $1 })))
    }

    @Test(arguments: ["cross-site", "same-site"])
    func `a link of another site opens the page of a stranger`(site: String) {
        let link = ["sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"]
        #expect(judge(cookie.merging(link) { $1 }) == .stranger)
        #expect(isRefused(judge("POST", cookie.merging(link) { $1 })))
    }

    @Test func `a request of the page itself or of its user is admitted`() {
        #expect(judge(cookie.merging(["sec-fetch-site": "same-origin"]) { $1 }) == .admitted)
        #expect(judge(cookie.merging(["sec-fetch-site": "none"]) { $1 }) == .admitted)
    }

    @Test(arguments: [
        nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json+x", "",
    ])
    func `a request that is not JSON is refused`(type: String?) {
        let headers = type.map { ["content-type": $0] } ?? [:]
        #expect(isRefused(judge("POST", cookie.merging(headers) { $1 })))
    }

    @Test(arguments: ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
    func `another method is refused`(method: String) {
        #expect(isRefused(judge(method, cookie)))
    }

    @Test func `a socket admits the forwarded ports of loopback alone`() {
        let gate = Gate(address: .unix)
        func verdict(_ host: String) -> Gate.Verdict {
            var head = RequestHead()
            head.headers = [("host", host), ("cookie", "opsd-web=\(session)")]
            return gate.judge(head, credentials)
        }
        #expect(verdict("localhost") == .admitted)
        #expect(verdict("localhost:9000") == .admitted)
        #expect(verdict("127.0.0.1:9000") == .admitted)
        #expect(isRefused(verdict("localhost.evil.example")))
        #expect(isRefused(verdict("localhost:evil")))
        #expect(isRefused(verdict("evil.example:9000")))
    }
}
