import Foundation
import Testing

/// The page with a real daemon. OpsWebTests tests hostile clients, and `make test-web` real browsers.
@Suite struct WebTests {
    private struct Page {
        let web: Command
        let port: String
        let bearer: String
        let machine: Machine

        init(_ options: String...) throws {
            machine = try Machine()
            let web = try machine.begin(["web", "--port", "0"] + options)
            try web.until { $0.contains("Bearer ") && $0.hasSuffix("\n") }
            let said = web.outSoFar
            self.web = web
            port = try String(#require(said.firstMatch(of: #/127\.0\.0\.1:(\d+)\//#)).output.1)
            bearer = try String(#require(said.firstMatch(of: #/Bearer (\w+)/#)).output.1)
        }

        /// Calls a method and returns the complete response.
        func call(_ body: String) throws -> String {
            let head =
                "POST /call HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(bearer)\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            return try send(head + body)
        }

        /// Requests a path and returns the complete response.
        func get(_ path: String, authorized: Bool = true) throws -> String {
            let head =
                "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
                + (authorized ? "Authorization: Bearer \(bearer)\r\n\r\n" : "\r\n")
            return try send(head)
        }

        private func send(_ input: String) throws -> String {
            let script = "exec 3<>/dev/tcp/127.0.0.1/\(port) && cat >&3 && cat <&3"
            let shell = try Command(
                "/bin/bash", ["-c", script], environment: Machine.environment, input: input, in: "/tmp")
            return try shell.wait().out
        }

        func end() throws -> Int32 {
            web.signal(SIGTERM)
            return try web.wait().status
        }
    }

    @Test func `a call of the page is one of its user`() throws {
        let page = try Page()
        let id = try page.machine.submit("--name", "long", "--", "sleep", "600")
        let shown = try page.call(#"{"method":"Show","parameters":{"ref":"long"}}"#)
        #expect(shown.hasPrefix("HTTP/1.1 200 ") && shown.contains("\"id\":\(id),"))
        #expect(try page.call(#"{"method":"Show","parameters":{"ref":"lon"}}"#).hasPrefix("HTTP/1.1 404 "))
        let cancelled = try page.call(#"{"method":"Cancel","parameters":{"selection":{"refs":["long"]}}}"#)
        #expect(cancelled.hasPrefix("HTTP/1.1 200 "))
        _ = try page.machine.ctl("wait", "long")
        #expect(try page.machine.outcome(id) == "cancelled")
        #expect(try page.call(#"{"method":"Submit","parameters":{"operations":[]}}"#).hasPrefix("HTTP/1.1 403 "))
        #expect(try page.end() == 0)
    }

    @Test func `the page serves the numbers that opsctl metrics prints`() throws {
        let page = try Page("--read-only")
        _ = try page.machine.submit("--hold", "--", "true")
        let answer = try page.get("/metrics")
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Content-Type: application/openmetrics-text"))
        #expect(answer.contains("opsd_build_info{") && answer.hasSuffix("# EOF\n"))
        #expect(answer.contains("opsd_executor_connected{executor=\"transfer\"} "))
        #expect(try page.get("/metrics", authorized: false).hasPrefix("HTTP/1.1 401 "))
        #expect(try page.end() == 0)
    }

    @Test func `a read-only page cancels nothing`() throws {
        let page = try Page("--read-only")
        let id = try page.machine.submit("--name", "long", "--hold", "--", "true")
        let cancelled = try page.call(#"{"method":"Cancel","parameters":{"selection":{"refs":["long"]}}}"#)
        #expect(cancelled.hasPrefix("HTTP/1.1 403 "))
        #expect(try page.machine.outcome(id) == nil)
        #expect(try page.end() == 0)
    }

    @Test func `no option leads to another address`() throws {
        let machine = try Machine()
        for option in ["--address", "--host", "--bind", "--listen"] {
            #expect(try machine.ctl("web", option, "0.0.0.0").status == 2)
        }
    }
}
