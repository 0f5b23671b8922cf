public import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// opsd-web: the page, and the bridge between browsers and the daemon. It has no state and no rights of its own.
public final class WebServer {
    private let loop: EventLoop
    private let gate: Gate
    private var credentials: Credentials
    private let policy: CallPolicy
    private let files: PageFiles
    private let bridge: Bridge
    private let hub: EventHub
    private let daemonPath: String
    private let options: WebOptions
    /// Socket file of this server; nil: it listens on a port.
    private var socketFile: FileIdentity?
    private var http: HTTPServer?
    private var launch: BrowserLaunch?
    private var signals: [SignalSource] = []
    /// Open log streams.
    private var follows: [ObjectIdentifier: ByteStream] = [:]
    private var keepAlive: TimerSource<MonotonicInstant>?

    /// Maximum size of a call in bytes: the largest selection of operations fits.
    static let callBytes = 512 << 10
    static let exchangeBytes = 1 << 10
    /// Maximum number of log bytes that are buffered for a slow browser; then reading stops.
    static let streamBuffer = 256 << 10
    static let followLimit = 64

    /// - Parameters:
    ///   - page: directory of the page.
    ///   - daemonPath: path of the daemon's socket.
    public init(_ options: WebOptions, page: String, daemonPath: String) throws(SystemError) {
        self.options = options
        self.daemonPath = daemonPath
        loop = try EventLoop()
        files = try PageFiles(directory: page)
        credentials = try Credentials()
        policy = CallPolicy(isReadOnly: options.isReadOnly)
        bridge = Bridge(path: daemonPath, loop: loop)
        hub = try EventHub(path: daemonPath, loop: loop)
        let listener: Descriptor
        if let path = options.socket {
            gate = Gate(address: .unix)
            guard !UnixSocket.isServed(path) else {
                throw SystemError(
                    "another program listens on \(path); choose another path", errno: SystemError.addressInUse)
            }
            listener = try UnixSocket.listen(at: path)
            socketFile = FileIdentity(of: path)
        } else {
            let loopback = try Listener.loopback(port: options.port)
            gate = Gate(address: .loopback(port: loopback.port))
            listener = loopback.socket
        }
        http = try HTTPServer(
            on: listener, loop: loop, admit: { [unowned self] in self.admit($0) },
            handle: { [unowned self] in self.handle($0) })
        hub.willPublish = { [bridge] in bridge.forgetShared() }
        keepAlive = try loop.timer(.monotonic, accuracy: 100_000) { [unowned self] in self.keepFollowsAlive() }
    }

    /// Serves until a signal ends the process.
    public func run() throws(SystemError) {
        announce()
        // The browser inherits the handling of signals, so it is started before this process changes that.
        if options.opens { openBrowser() }
        try Signals.ignore(Signals.pipe)
        try Signals.ignore(Signals.child)
        for number in [Signals.interrupt, Signals.terminate, Signals.hangUp] {
            signals.append(try loop.watchSignal(number) { [unowned self] in self.loop.stop() })
        }
        try loop.run()
        launch?.remove()
        // Another file may have its name by now.
        if let path = options.socket, let socketFile, socketFile == FileIdentity(of: path) { try Files.remove(path) }
    }

    /// Address of the page. A browser reaches a Unix socket through a forwarded port.
    private var address: String {
        switch gate.address {
        case .loopback(let port): "http://127.0.0.1:\(port)/"
        case .unix: "http://localhost:\(WebOptions.usualPort)/"
        }
    }

    private var link: String { address + "#token=" + credentials.link }

    /// Opens the page in a browser, if there is one.
    private func openBrowser() {
        do throws(SystemError) { launch = try BrowserLaunch(link: link) } catch {
            Program.writeError("opsd-web: \(error)")
        }
    }

    private func announce() {
        if let path = options.socket {
            let absolute = path.hasPrefix("/") ? path : "\(Files.currentDirectory)/\(path)"
            let forward = "ssh -L \(WebOptions.usualPort):\(absolute) HOST"
            Program.writeOutput("opsd-web: forward a port with  \(forward)  and open \(link)\n")
        } else {
            Program.writeOutput("opsd-web: open \(link)\n")
        }
        Program.writeOutput("opsd-web: programs send the header  Authorization: Bearer \(credentials.bearer)\n")
    }

    // MARK: Admission

    private func admit(_ head: RequestHead) -> HTTPServer.Admission {
        switch gate.access(for: head, credentials) {
        case .refused(let status, let message):
            var refusal = HTTPResponse.problem(status, message)
            if status == 405 { refusal.headers = [("Allow", Gate.methods.joined(separator: ", "))] }
            return .refused(refusal)
        case .admitted: return .admitted(bodyLimit: Self.callBytes)
        case .withoutCredentials:
            if head.method == "POST" {
                return head.path == "/session"
                    ? .withoutCredentials(bodyLimit: Self.exchangeBytes) : .refused(Self.noSession)
            }
            let name = String(head.path.dropFirst())
            if name != "enter.html", PageFiles.withoutSession.contains(name) {
                return .withoutCredentials(bodyLimit: 0)
            }
            return .refused(Self.isView(head.path) ? entry(head) : Self.noSession)
        }
    }

    private static var noSession: HTTPResponse { .problem(401, "open the link that opsctl web printed") }

    /// The page of a browser without a session. Its script exchanges the token from the link for a session.
    private func entry(_ head: RequestHead) -> HTTPResponse {
        files["enter.html"]?.response(401, to: head) ?? Self.noSession
    }

    /// Returns whether a path is a view of the page. All views are the same document.
    private static func isView(_ path: String) -> Bool {
        guard let first = path.split(separator: "/").first else { return path == "/" }
        return ["now", "list", "graph", "graphs", "history", "operation", "schedules", "schedule"].contains(first)
    }

    // MARK: Requests

    private func handle(_ exchange: HTTPExchange) {
        let head = exchange.head
        // The answer to HEAD is that to GET; libmicrohttpd leaves out the body.
        switch (head.method == "HEAD" ? "GET" : head.method, head.path) {
        case ("POST", "/session"): exchange.respond(session(exchange.body))
        case ("POST", "/call"): call(exchange)
        case ("POST", "/drawing"): draw(exchange)
        case ("POST", "/follow"): follow(exchange)
        case ("GET", "/events"): listen(exchange)
        case ("GET", "/about"): exchange.respond(about)
        case ("GET", "/metrics"): measure(exchange)
        case ("GET", "/session"), ("GET", "/call"), ("GET", "/drawing"), ("GET", "/follow"):
            var refusal = HTTPResponse.problem(405, "\(head.path) takes a request in JSON: use POST")
            refusal.headers = [("Allow", "POST")]
            exchange.respond(refusal)
        case ("POST", "/events"), ("POST", "/about"), ("POST", "/metrics"):
            var refusal = HTTPResponse.problem(405, "\(head.path) takes no request: use GET")
            refusal.headers = [("Allow", "GET, HEAD")]
            exchange.respond(refusal)
        case ("POST", _): exchange.respond(.problem(404, "there is nothing at \(head.path)"))
        default:
            let name = Self.isView(head.path) ? "index.html" : String(head.path.dropFirst())
            guard name != "enter.html", let file = files[name] else {
                return exchange.respond(.problem(404, "there is nothing at \(head.path)"))
            }
            exchange.respond(file.response(200, to: head))
        }
    }

    /// Exchanges the token of a link for a cookie.
    private func session(_ body: [UInt8]) -> HTTPResponse {
        do {
            guard case .object(let members) = try JSONValue(body), members.count == 1, members[0].key == "token",
                case .string(let token) = members[0].value
            else { return .problem(400, "a request for a session is {\"token\": ...}") }
            guard let value = try credentials.exchange(token) else {
                return .problem(
                    403, "this link was used before or is unknown; open the newest link that the terminal shows")
            }
            launch?.remove()
            launch = nil
            Program.writeOutput("opsd-web: a browser has opened the page; another one can open \(link)\n")
            var response = HTTPResponse(200, Array("{}".utf8))
            response.headers = [("Set-Cookie", "\(gate.cookieName)=\(value); Path=/; HttpOnly; SameSite=Strict")]
            return response
        } catch let error as SystemError {
            return .problem(500, "\(error)")
        } catch {
            return .problem(400, "a request must be one JSON object")
        }
    }

    /// Returns settings of this server, which the daemon does not know.
    private var about: HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("readOnly")
        writer.bool(options.isReadOnly)
        writer.key("host")
        writer.string(HostName.current)
        writer.key("socket")
        writer.string(daemonPath)
        writer.endObject()
        return HTTPResponse(200, writer.bytes)
    }

    private func parse(_ exchange: HTTPExchange) -> Call? {
        do {
            let call = try Call(frame: exchange.body)
            try policy.check(call)
            return call
        } catch let refusal as CallPolicy.Refusal {
            exchange.respond(.problem(refusal.status, refusal.message))
        } catch {
            exchange.respond(.problem(400, "a call must be {\"method\": ..., \"parameters\": {...}}: \(error)"))
        }
        return nil
    }

    private func call(_ exchange: HTTPExchange) {
        guard let call = parse(exchange) else { return }
        exchange.ended = bridge.call(
            call.forwarded(more: false), isReading: CallPolicy.reading.contains(call.method)
        ) { [weak exchange] in exchange?.respond($0) }
    }

    private func draw(_ exchange: HTTPExchange) {
        guard let call = parse(exchange) else { return }
        guard call.method == "Graph" else {
            return exchange.respond(.problem(400, "only the method Graph has a drawing"))
        }
        exchange.ended = bridge.call(call.forwarded(more: false), isReading: true) { [weak exchange] response in
            guard let exchange else { return }
            guard response.status == 200, case .bytes(let message) = response.body else {
                return exchange.respond(response)
            }
            exchange.respond(GraphDrawing.response(reply: message))
        }
    }

    /// Answers with the output of `opsctl metrics`.
    private func measure(_ exchange: HTTPExchange) {
        ask(StatusRequest(), for: exchange) { [unowned self] exchange, status in
            ask(ListExecutorsRequest(), for: exchange) { [unowned self] exchange, executors in
                ask(MetricsRequest(), for: exchange) { exchange, metrics in
                    exchange.respond(MetricsPage.response(status: status, executors: executors, metrics: metrics))
                }
            }
        }
    }

    /// Passes the reply of a reading call to `done`. An error is the response of the exchange.
    private func ask(
        _ request: some WireRequest, for exchange: HTTPExchange, done: @escaping (HTTPExchange, HTTPResponse) -> Void
    ) {
        exchange.ended = bridge.call(Call.frame(request), isReading: true) { [weak exchange] reply in
            guard let exchange else { return }
            guard reply.status == 200 else { return exchange.respond(reply) }
            done(exchange, reply)
        }
    }

    /// Streams the replies of the method Log, one JSON text per line. Empty lines between them are keep-alive messages.
    private func follow(_ exchange: HTTPExchange) {
        guard let call = parse(exchange) else { return }
        guard call.method == "Log" else {
            return exchange.respond(.problem(400, "only the method Log can be followed"))
        }
        guard follows.count < Self.followLimit else {
            return exchange.respond(.problem(503, "\(Self.followLimit) logs are followed already; close a tab"))
        }
        let stream = ByteStream()
        do throws(SystemError) {
            var upstream: Upstream?
            let made = try Upstream(call.forwarded(more: true), to: daemonPath, loop: loop) { [weak stream] event in
                guard let stream else { return }
                guard case .reply(let message) = event else {
                    // The daemon is gone. When it is back, the page continues from this point.
                    stream.append(Array(#"{"error":"Gone"}"#.utf8) + [UInt8(ascii: "\n")])
                    return stream.end()
                }
                stream.append(message + [UInt8(ascii: "\n")])
                // An error, or the last piece of a log.
                do {
                    if try !ReceivedReply(frame: message, isTolerant: true).continues { stream.end() }
                } catch {
                    stream.end()
                }
                if stream.count > Self.streamBuffer { upstream?.pause(true) }
            }
            upstream = made
            stream.drained = { [weak made] in made?.pause(false) }
            let key = ObjectIdentifier(exchange)
            follows[key] = stream
            exchange.ended = { [weak self] in
                made.cancel()
                upstream = nil
                self?.follows[key] = nil
            }
            exchange.respond(HTTPResponse(type: "application/x-ndjson", stream))
            armKeepAlive()
        } catch {
            exchange.respond(.problem(502, "opsd is not reachable at \(daemonPath) (\(SystemError.text(error.errno)))"))
        }
    }

    /// Sends an empty line to each idle log stream. libmicrohttpd detects a closed tab only when it writes.
    private func keepFollowsAlive() {
        for stream in follows.values where stream.count == 0 { stream.append([UInt8(ascii: "\n")]) }
        armKeepAlive()
    }

    private func armKeepAlive() {
        guard !follows.isEmpty, keepAlive?.deadline == nil else { return }
        do throws(SystemError) { try keepAlive?.arm(at: Clock.read().monotonic + EventHub.beat) } catch {
            Program.writeError("opsd-web: \(error)")
        }
    }

    /// Streams summaries of events. HEAD gets only the headers, and does not count as an open page.
    private func listen(_ exchange: HTTPExchange) {
        guard exchange.head.method != "HEAD" else {
            return exchange.respond(HTTPResponse(200, type: "text/event-stream", []))
        }
        let since = exchange.head["last-event-id"] ?? exchange.head.query["since"]
        guard let (stream, leave) = hub.join(since: since.flatMap { Int64($0) }) else {
            return exchange.respond(.problem(503, "\(EventHub.readerLimit) pages are open already; close some"))
        }
        exchange.ended = leave
        exchange.respond(HTTPResponse(type: "text/event-stream", stream))
    }
}
