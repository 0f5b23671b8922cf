import Foundation
import OpsSystem
import Testing

@testable import OpsWeb

/// opsd-web as a process, and hostile clients.
@Suite struct WebProgramTests {
    private static let paths = [
        "/", "/list", "/operation/1", "/index.html", "/app.js", "/app.css", "/icon.svg", "/about", "/events",
        "/metrics",
        "/enter.html", "/nothing",
    ]

    @Test func `without a session nothing is served but the page that opens one`() throws {
        let web = try RunningWeb()
        for path in Self.paths {
            let answer = try web.ask(path)
            #expect(answer.status == 401, "\(path): \(answer.status)")
            #expect(answer.has("WWW-Authenticate: Bearer\r\n"), "\(path): \(answer.text)")
            #expect(!answer.body.contains("app.js"), "\(path)")
        }
        for path in ["/call", "/follow", "/drawing", "/nothing"] {
            #expect(try web.ask(path, body: #"{"method":"Status"}"#).status == 401, "\(path)")
        }
        #expect(try web.ask("/enter.js").status == 200)
    }

    @Test func `a wrong host is refused for every path`() throws {
        let web = try RunningWeb()
        let cookie = try web.session()
        for path in Self.paths + ["/enter.js", "/enter.css"] {
            for host in ["evil.example", "evil.example:\(web.port)", "127.0.0.1:1"] {
                #expect(try web.ask(path, ["Host": host]).status == 403, "\(path)")
                #expect(try web.ask(path, ["Host": host, "Cookie": cookie]).status == 403, "\(path)")
            }
        }
        for path in ["/session", "/call", "/follow"] {
            #expect(try web.ask(path, ["Host": "evil.example"], body: #"{"token":"\#(web.token)"}"#).status == 403)
        }
    }

    @Test func `a token is exchanged once for a cookie that scripts cannot read`() throws {
        let web = try RunningWeb()
        let body = #"{"token":"\#(web.token)"}"#
        let answer = try web.ask("/session", body: body)
        #expect(answer.status == 200)
        #expect(answer.has("Set-Cookie: opsd-web-\(web.port)="))
        #expect(answer.text.contains("; HttpOnly; SameSite=Strict"))
        #expect(try web.ask("/session", body: body).status == 403)
        #expect(try web.ask("/session", body: #"{"token":"x"}"#).status == 403)
        #expect(try web.ask("/session", body: #"["token"]"#).status == 400)
        #expect(try web.ask("/session", body: String(repeating: " ", count: 5000)).status == 413)
    }

    @Test func `a session and a bearer token open the page`() throws {
        let web = try RunningWeb()
        let cookie = try web.session()
        for headers in [["Cookie": cookie], web.authorized] {
            #expect(try web.ask("/", headers).body.contains("app.js"))
            #expect(try web.ask("/graph/g7", headers).body.contains("app.js"))
            #expect(try web.ask("/app.css", headers).status == 200)
            #expect(
                try web.ask("/call", headers, body: #"{"method":"Status"}"#).body.contains("org.opsd.Control.Status"))
            #expect(try web.ask("/nothing", headers).status == 404)
        }
    }

    @Test func `a malformed call and a wrong method have their own statuses`() throws {
        let web = try RunningWeb()
        for body in [#"{"method":"Set"}"#, #"{"method":"Set","parameters":{"changes":5}}"#] {
            #expect(try web.ask("/call", web.authorized, body: body).status == 400, "\(body)")
        }
        for path in ["/session", "/call", "/drawing", "/follow"] {
            let answer = try web.ask(path, web.authorized)
            #expect(answer.status == 405 && answer.has("Allow: POST\r\n"), "\(path): \(answer.text)")
        }
        for path in ["/events", "/about", "/metrics"] {
            let answer = try web.ask(path, web.authorized, body: "{}")
            #expect(answer.status == 405 && answer.has("Allow: GET, HEAD\r\n"), "\(path): \(answer.text)")
        }
    }

    @Test(arguments: [
        "/../Package.swift", "/..%2fPackage.swift", "/%2e%2e/Package.swift", "//etc/passwd", "/web/app.js",
        "/README.md",
    ])
    func `no path leads out of the page`(path: String) throws {
        let web = try RunningWeb()
        #expect(try web.ask(path, web.authorized).status == 404)
    }

    @Test func `HEAD is answered as GET is, without the body`() throws {
        let web = try RunningWeb()
        func head(_ path: String) throws -> RunningWeb.Answer {
            try web.send(
                "HEAD \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nConnection: close\r\n"
                    + "Authorization: Bearer \(web.bearer)\r\n\r\n")
        }
        for path in ["/", "/app.js", "/about", "/metrics", "/nothing"] {
            let answer = try head(path)
            let expected = try web.ask(path, web.authorized)
            #expect(answer.status == expected.status && answer.body.isEmpty, "\(path): \(answer.text)")
        }
        let events = try head("/events")
        #expect(events.status == 200 && events.has("Content-Type: text/event-stream") && events.body.isEmpty)
    }

    @Test func `every response forbids what the page does not need`() throws {
        let web = try RunningWeb()
        for path in ["/", "/app.js", "/nothing", "/enter.js"] {
            for headers in [[:], web.authorized, ["Host": "evil.example"]] as [[String: String?]] {
                let answer = try web.ask(path, headers)
                #expect(answer.has("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"))
                #expect(!answer.text.contains("unsafe") && answer.text.contains("frame-ancestors 'none'"))
                #expect(answer.has("X-Content-Type-Options: nosniff") && answer.has("Cache-Control: no-store"))
                #expect(!answer.has("Access-Control-Allow"))
            }
        }
    }

    @Test func `the page has nothing inline and nothing from elsewhere`() throws {
        let web = try RunningWeb()
        for path in ["/", "/app.js", "/dom.js", "/operation.js", "/enter.js", "/app.css"] {
            let text = try web.ask(path, web.authorized).body
            #expect(text.count > 200)
            for word in [
                "<style", "javascript:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                "https://",
            ] {
                #expect(!text.contains(word), "\(path): \(word)")
            }
            #expect(text.matches(of: #/<script(?![^>]*src=)/#).isEmpty && text.matches(of: #/\son\w+="/#).isEmpty)
        }
    }

    @Test func `a request that another site causes reaches no call`() throws {
        let web = try RunningWeb()
        let cookie = try web.session()
        let body = #"{"method":"Cancel","parameters":{"selection":{"all":true}}}"#
        for headers in [
            ["Origin": "http://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"],
            ["Sec-Fetch-Site": "same-site"],
        ] as [[String: String?]] {
            let all = headers.merging(["Cookie": cookie]) { $1 }
            #expect(try web.ask("/call", all, body: body).status == 403)
            #expect(try web.ask("/events", all).status == 403)
            #expect(try web.ask("/app.js", all).status == 403)
        }
        #expect(try web.ask("/call", ["Cookie": cookie, "Content-Type": "text/plain"], body: body).status == 415)
        #expect(try web.ask("/call", ["Cookie": cookie], body: body).status == 200)
    }

    @Test func `a read-only page changes nothing`() throws {
        let web = try RunningWeb(["--read-only", "--port", "0"])
        #expect(try web.ask("/call", web.authorized, body: #"{"method":"Cancel"}"#).status == 403)
        #expect(try web.ask("/call", web.authorized, body: #"{"method":"List"}"#).status == 200)
        #expect(try web.ask("/follow", web.authorized, body: #"{"method":"Cancel"}"#).status == 403)
        #expect(try web.ask("/drawing", web.authorized, body: #"{"method":"Cancel"}"#).status == 403)
    }

    @Test func `hostile texts pass through as JSON and start no second message`() throws {
        let web = try RunningWeb()
        let name = #"<img src=x onerror=alert(1)>\u0000\"}\n\u001b[2J"#
        let answer = try web.ask("/call", web.authorized, body: #"{"method":"Show","parameters":{"ref":"\#(name)"}}"#)
        #expect(answer.status == 200 && answer.body.contains(name))
        #expect(answer.has("Content-Type: application/json"))
        for body in [
            "{\"method\":\"Show\"}\0{}", "{\"method\":\"Show\",\"method\":\"List\"}", "{", "", "[]", "{\"method\":1}",
        ] {
            #expect(try web.ask("/call", web.authorized, body: body).status == 400, "\(body)")
        }
    }

    @Test func `huge headers and bodies are refused`() throws {
        let web = try RunningWeb()
        let long = String(repeating: "a", count: 1 << 20)
        let header = try web.ask("/", web.authorized.merging(["X": long]) { $1 })
        #expect(header.status == 431 || header.status == 0)
        let many = (0..<20_000).map { "H\($0): 1\r\n" }.joined()
        let headers = try web.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\n\(many)\r\n")
        #expect(headers.status == 431 || headers.status == 0)
        let body = "{\"method\":\"Show\",\"parameters\":{\"ref\":\"\(long)\"}}"
        #expect(try web.ask("/call", web.authorized, body: body).status == 413)
        // The length of a body in chunks is known only at its end.
        let chunk = String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n"
        let chunked = try web.send(
            "POST /call HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nAuthorization: Bearer \(web.bearer)\r\n"
                + "Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)")
        #expect(chunked.status == 413)
        #expect(try web.ask("/about", web.authorized).status == 200)
    }

    @Test func `a request that is not correct HTTP is refused with the status for it`() throws {
        let web = try RunningWeb()
        let host = "Host: 127.0.0.1:\(web.port)\r\n"
        let end = "Connection: close\r\n\r\n"
        let put = try web.send("PUT / HTTP/1.1\r\n\(host)\(end)")
        #expect(put.status == 405 && put.has("Allow: GET, HEAD, POST"))
        let nameless = try web.send("GET / HTTP/1.1\r\n\(end)")
        #expect(nameless.status == 400 && !nameless.body.contains("HTTP/1.1"))
        let type = "Authorization: Bearer \(web.bearer)\r\nContent-Type: application/json\r\n"
        let length = "Content-Length: 2\r\n"
        #expect(try web.send("POST /call HTTP/1.1\r\n\(host)\(type)\(length)\(length)\(end){}").status == 400)
    }

    @Test func `a client that sends nothing or little is hung up on and keeps nobody waiting`() throws {
        let web = try RunningWeb()
        let silent = try web.connect()
        let slow = try web.connect()
        _ = try slow.writeAll(Array("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nX: ".utf8))
        for _ in 0..<100 { #expect(try web.ask("/about", web.authorized).status == 200) }
        #expect(try RunningWeb.answer(from: silent).status == 0)
        #expect(try RunningWeb.answer(from: slow).text.count < 400)
    }

    @Test func `a connection without a session ends with its answer`() throws {
        let web = try RunningWeb()
        let answer = try web.ask("/enter.css", ["Connection": nil])
        #expect(answer.status == 200 && answer.has("Connection: close"))
    }

    @Test func `the oldest connection without a session makes room for a new one`() throws {
        let web = try RunningWeb()
        let oldest = try web.connect()
        let others = try (0..<HTTPServer.unauthenticatedLimit).map { _ in try web.connect().release() }
        defer { for socket in others { close(socket) } }
        #expect(try web.ask("/about", web.authorized).status == 200)
        let isClosed = try oldest.waitUntil(.readable, milliseconds: 0)
        #expect(isClosed)
    }

    @Test func `a Unix socket belongs to its user alone and is removed at the end`() throws {
        let folder = try RunningWeb.makeFolder()
        defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }
        let path = folder + "/web.sock"
        do {
            let web = try RunningWeb(["--socket", path])
            let link = "http://localhost:8817/#token=\(web.token)"
            #expect(web.announcement.hasSuffix("forward a port with  ssh -L 8817:\(path) HOST  and open \(link)"))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let request = "GET /about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            #expect(try web.send(request + "\r\n", to: path).status == 401)
            #expect(try web.send(request + "Authorization: Bearer \(web.bearer)\r\n\r\n", to: path).status == 200)
            #expect(try web.send(request.replacing("localhost", with: "evil.example") + "\r\n", to: path).status == 403)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a path that belongs to another file or program is refused`() throws {
        let folder = try RunningWeb.makeFolder()
        defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }
        let daemon = try FakeDaemon(folder: folder)
        let file = folder + "/file"
        try Data("precious".utf8).write(to: URL(fileURLWithPath: file))
        for (path, reason) in [(file, "is not a socket"), (daemon.path, "another program listens on")] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: Built.path("opsd-web"))
            process.arguments = ["--socket", path]
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            try process.run()
            let line = try RunningWeb.line(from: pipe.fileHandleForReading)
            #expect(line.contains(reason), "\(line)")
            if !line.contains(reason) { process.terminate() }
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 1)
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
        #expect(UnixSocket.isServed(daemon.path))
    }

    @Test func `a file that has taken the place of the socket stays at the end`() throws {
        let folder = try RunningWeb.makeFolder()
        defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }
        let path = folder + "/web.sock"
        let web = try RunningWeb(["--socket", path])
        // The answer comes after the process has begun to handle signals.
        #expect(try web.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", to: path).status == 401)
        try FileManager.default.removeItem(atPath: path)
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        web.process.terminate()
        web.process.waitUntilExit()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func `a browser that cannot be started leaves no file with the token`() throws {
        let web = try RunningWeb(["--port", "0", "--open"], environment: ["PATH": "/nowhere"])
        // The answer comes after the start.
        #expect(try web.ask("/about", web.authorized).status == 200)
        #expect(try FileManager.default.contentsOfDirectory(atPath: web.folder) == ["control.sock"])
    }

    @Test func `a browser is opened on a private file and no command line has the token`() throws {
        let folder = try RunningWeb.makeFolder()
        defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record(error) } }
        let script =
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >'\(folder)/words.tmp'\nmv '\(folder)/words.tmp' '\(folder)/words'\n"
        try Data(script.utf8).write(to: URL(fileURLWithPath: folder + "/xdg-open"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder + "/xdg-open")
        let path = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        let web = try RunningWeb(["--port", "0", "--open"], environment: ["PATH": path])
        while !FileManager.default.fileExists(atPath: folder + "/words") { sched_yield() }
        let words = try String(contentsOfFile: folder + "/words", encoding: .utf8)
        #expect(!words.contains(web.token))
        let file = words.trimmingCharacters(in: .newlines)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        #expect(
            try String(contentsOfFile: file, encoding: .utf8).contains(
                "url=http://127.0.0.1:\(web.port)/#token=\(web.token)"))
        let line = try String(contentsOfFile: "/proc/\(web.process.processIdentifier)/cmdline", encoding: .utf8)
        #expect(!line.contains(web.token))
        _ = try web.session()
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func `a signal ends it in order while a page is open`() throws {
        let web = try RunningWeb()
        let socket = try web.connect()
        let request =
            "GET /events HTTP/1.1\r\nHost: 127.0.0.1:\(web.port)\r\nAuthorization: Bearer \(web.bearer)\r\n\r\n"
        _ = try socket.writeAll(Array(request.utf8))
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains("retry:") {
            guard case .moved = try socket.read(atMost: 1 << 12, onto: &bytes) else { break }
        }
        web.process.terminate()
        web.process.waitUntilExit()
        #expect(web.process.terminationReason == .exit && web.process.terminationStatus == 0)
    }

    @Test func `a daemon that is not there is said with what to do`() throws {
        let web = try RunningWeb(environment: ["OPS_SOCKET": "/nowhere/control.sock"])
        let answer = try web.ask("/call", web.authorized, body: #"{"method":"Status"}"#)
        #expect(answer.status == 502)
        #expect(answer.body.contains("opsd is not reachable at /nowhere/control.sock"))
    }
}
