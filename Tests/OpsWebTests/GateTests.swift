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

    private func access(_ method: String = "GET", host: String? = "127.0.0.1:8817", _ more: [String: String] = [:])
        -> Gate.Access
    {
        var head = RequestHead()
        head.method = method
        if let host { head.headers.append(("host", host)) }
        for (name, value) in more.sorted(by: { $0.key < $1.key }) { head.headers.append((name, value)) }
        return gate.access(for: head, credentials)
    }

    private var cookie: [String: String] { ["cookie": "other=1; opsd-web-8817=\(session)"] }

    private func isRefused(_ access: Gate.Access) -> Bool {
        if case .refused = access { return true }
        return false
    }

    @Test func `a cookie and a bearer token are admitted`() {
        #expect(access(cookie) == .admitted)
        #expect(access(["authorization": "Bearer \(credentials.bearer)"]) == .admitted)
        #expect(access(["authorization": "bearer \(credentials.bearer)"]) == .admitted)
        #expect(access(["authorization": "Bearer  \(credentials.bearer) \t"]) == .admitted)
    }

    private func access(_ headers: [String: String]) -> Gate.Access { access("GET", headers) }

    @Test func `a request without a session or token is without credentials`() {
        #expect(access() == .withoutCredentials)
        #expect(access(["cookie": "opsd-web-8817=\(credentials.link)"]) == .withoutCredentials)
        #expect(access(["cookie": "opsd-web-9999=\(session)"]) == .withoutCredentials)
        #expect(access(["cookie": "opsd-web-8817="]) == .withoutCredentials)
    }

    @Test func `a wrong bearer token is refused even beside a session`() {
        #expect(isRefused(access(cookie.merging(["authorization": "Bearer \(session)"]) { $1 })))
        #expect(isRefused(access(["authorization": "Basic \(credentials.bearer)"])))
        #expect(isRefused(access(["authorization": "Bearer"])))
        #expect(isRefused(access(["authorization": "Bearer \(credentials.bearer) x"])))
    }

    @Test(arguments: [
        "evil.example", "evil.example:8817", "127.0.0.1:8818", "127.0.0.1", "localhost", "127.0.0.1:8817.evil.example",
        "127.0.0.1.evil.example:8817", "0.0.0.0:8817", "127.0.0.2:8817", "", "127.0.0.1:8817 evil.example",
    ])
    func `a host of another name is refused with any credentials`(host: String) {
        #expect(isRefused(access(host: host)))
        #expect(isRefused(access(host: host, cookie)))
        #expect(isRefused(access(host: host, ["authorization": "Bearer \(credentials.bearer)"])))
    }

    @Test func `a request without a host or with two is refused`() {
        #expect(isRefused(access(host: nil, cookie)))
        var head = RequestHead()
        head.headers = [("host", "127.0.0.1:8817"), ("host", "127.0.0.1:8817"), ("cookie", "opsd-web-8817=\(session)")]
        #expect(isRefused(gate.access(for: head, credentials)))
    }

    @Test(arguments: ["127.0.0.1:8817", "localhost:8817", "LOCALHOST:8817", "[::1]:8817"])
    func `names of loopback are our host`(host: String) {
        #expect(access(host: host, cookie) == .admitted)
    }

    @Test(arguments: [
        "http://evil.example", "null", "https://127.0.0.1:8817", "http://127.0.0.1:8818", "http://localhost:8817", "",
    ])
    func `another origin is refused`(origin: String) {
        #expect(
            isRefused(access("POST", cookie.merging(["origin": origin, "content-type": "application/json"]) { $1 })))
        #expect(isRefused(access(cookie.merging(["origin": origin]) { $1 })))
    }

    @Test func `our own origin is admitted`() {
        let headers = ["origin": "http://127.0.0.1:8817", "content-type": "application/json; charset=utf-8"]
        #expect(access("POST", cookie.merging(headers) { $1 }) == .admitted)
    }

    @Test(arguments: ["cross-site", "same-site", "anything"])
    func `a request that another site caused is refused`(site: String) {
        #expect(isRefused(access(cookie.merging(["sec-fetch-site": site]) { $1 })))
        let frame = ["sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"]
        #expect(isRefused(access(cookie.merging(frame) { $1 })))
    }

    @Test(arguments: ["cross-site", "same-site"])
    func `a link of another site opens the page that is served without credentials`(site: String) {
        let link = ["sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"]
        #expect(access(cookie.merging(link) { $1 }) == .withoutCredentials)
        #expect(isRefused(access("POST", cookie.merging(link) { $1 })))
    }

    @Test func `a request of the page itself or of its user is admitted`() {
        #expect(access(cookie.merging(["sec-fetch-site": "same-origin"]) { $1 }) == .admitted)
        #expect(access(cookie.merging(["sec-fetch-site": "none"]) { $1 }) == .admitted)
    }

    @Test(arguments: [
        nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json+x", "",
    ])
    func `a request that is not JSON is refused`(type: String?) {
        let headers = type.map { ["content-type": $0] } ?? [:]
        #expect(isRefused(access("POST", cookie.merging(headers) { $1 })))
    }

    @Test(arguments: ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
    func `another method is refused`(method: String) {
        #expect(isRefused(access(method, cookie)))
    }

    @Test func `a socket admits the forwarded ports of loopback alone`() {
        let gate = Gate(address: .unix)
        func access(_ host: String) -> Gate.Access {
            var head = RequestHead()
            head.headers = [("host", host), ("cookie", "opsd-web=\(session)")]
            return gate.access(for: head, credentials)
        }
        #expect(access("localhost") == .admitted)
        #expect(access("localhost:9000") == .admitted)
        #expect(access("127.0.0.1:9000") == .admitted)
        #expect(isRefused(access("localhost.evil.example")))
        #expect(isRefused(access("localhost:evil")))
        #expect(isRefused(access("evil.example:9000")))
    }
}
