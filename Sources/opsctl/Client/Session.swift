internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// One run of opsctl: its arguments, its output, and its daemon.
final class Session {
    let arguments: Arguments
    let output: StandardOutput
    let screen: Screen
    let hosts: HostList
    private var connection: Connection?
    /// The host whose daemon is called; nil for this machine.
    let host: RemoteHost?
    private(set) lazy var socketPath = SocketPath.find(arguments.text(.socket))
    /// Instant at which calls and streams stop waiting for the daemon; nil for never. Connections get it when they are
    /// opened.
    var deadline: Instant?

    init(_ arguments: Arguments) throws(Failure) {
        let hosts = try HostList(arguments)
        host = hosts.hosts.count == 1 ? hosts.hosts.first : nil
        self.hosts = hosts
        self.arguments = host.map { arguments.with(operands: hosts.ownOperands(arguments, of: $0)) } ?? arguments
        screen = Screen(descriptor: 1, colour: arguments.text(.color))
        output = StandardOutput(escapesInvisible: arguments.has(.json) && screen.isTerminal, charset: .ofLocale)
    }

    var style: Style { screen.style }
    var wantsJSON: Bool { arguments.has(.json) }

    /// Returns the connection that calls share, and opens it at the first call.
    private func daemon() throws(ClientError) -> Connection {
        if let connection { return connection }
        let fresh = try connect()
        connection = fresh
        return fresh
    }

    private func connect(isSilent: Bool = false) throws(ClientError) -> Connection {
        let fresh: Connection
        if let host {
            fresh = try Connection(host: host, isSilent: isSilent)
        } else {
            fresh = try Connection(path: socketPath)
        }
        // A connection that took long still has time for one answer.
        let end = deadline.map { max($0, .now + Self.slack) }
        fresh.deadline = end.map { Clock.read().monotonic.clampedSum(.nanoseconds(($0 - .now).nanoseconds)) }
        return fresh
    }

    /// Milliseconds until the deadline, rounded up; nil if there is none.
    var millisecondsLeft: Int32? {
        deadline.map { Int32(clamping: max(0, ($0 - .now).nanoseconds / 1_000_000 + 1)) }
    }

    /// Throws if the deadline has passed.
    func checkDeadline() throws(Failure) {
        if let deadline, Instant.now >= deadline { throw named(Failure(ClientError.timedOut)) }
    }

    /// Opens a stream over a connection of its own.
    func open<Request: WireRequest>(_ request: Request) throws(Failure) -> ReplyStream<Request.Reply> {
        try speaking { () throws(ClientError) in try connect().stream(request) }
    }

    /// Opens a stream over the shared connection. It must be read to its end before the next call.
    func openShared<Request: WireRequest>(_ request: Request) throws(Failure) -> ReplyStream<Request.Reply> {
        try speaking { () throws(ClientError) in try daemon().stream(request) }
    }

    /// Time for the daemon to answer after a timeout.
    static let slack = Span(milliseconds: 1000)
    /// Longest time to wait for a daemon that restarts or is upgraded.
    static let patience = Span(milliseconds: 10_000)
    private static let pause: Int32 = 50

    /// Lets the next call open a new connection.
    func disconnect() { connection = nil }

    /// Waits until the daemon is back, at most until the deadline, if `failure` is a lost connection; throws any other
    /// failure.
    func awaitReturn(after failure: Failure) throws(Failure) {
        guard failure.isLoss else { throw failure }
        connection = nil
        let end = Instant.now + Self.patience
        while true {
            do throws(ClientError) {
                let fresh = try connect(isSilent: true)
                // A daemon that is shutting down may still accept connections, but does not answer.
                _ = try fresh.call(StatusRequest())
                connection = fresh
                return
            } catch {
                try checkDeadline()
                guard Instant.now < end else { throw failure }
                _ = Readable.among([], milliseconds: Self.pause)
            }
        }
    }

    /// Runs `body` and turns its error into a failure with the name of the verb.
    func speaking<Result>(_ body: () throws(ClientError) -> Result) throws(Failure) -> Result {
        do throws(ClientError) { return try body() } catch { throw named(Failure(error)) }
    }

    /// Calls a method and returns its reply.
    func call<Request: WireRequest>(_ request: Request) throws(Failure) -> Request.Reply {
        try speaking { () throws(ClientError) in try daemon().call(request) }
    }

    /// Calls a method until it is answered, even if the daemon restarts meanwhile. The call must be safe to repeat.
    func callUntilAnswered(_ request: some WireRequest) throws(Failure) {
        while true {
            do throws(Failure) {
                _ = try call(request)
                return
            } catch {
                try awaitReturn(after: error)
            }
        }
    }

    /// Passes every reply to `each`, until the last one or until `each` returns false.
    func stream<Request: WireRequest>(
        _ request: Request, each: (Request.Reply) throws(Failure) -> Bool
    ) throws(Failure) {
        var replies = try speaking { () throws(ClientError) in try daemon().stream(request) }
        while let reply = try speaking({ () throws(ClientError) in try replies.next() }), try each(reply) {}
    }

    /// Waits until operations have finished, even if the daemon restarts meanwhile.
    func wait(for ids: [Int64]) throws(Failure) {
        for request in WaitRequest.parts(for: ids) { try finish(request) }
    }

    private func finish(_ request: WaitRequest) throws(Failure) {
        while true {
            do throws(Failure) {
                return try stream(request) { _ in true }
            } catch {
                try awaitReturn(after: error)
            }
        }
    }

    func submit(_ submission: Submission) throws(Failure) -> SubmitReply {
        let reply: SubmitReply
        do throws(Failure) {
            reply = try speaking { () throws(ClientError) in try daemon().submit(submission) }
        } catch {
            var failure = error
            // With a key, the daemon answers a second submission with the first one.
            if failure.isLoss, submission.terms.key == nil, submission.terms.dryRun == nil {
                failure.why += ", and the submission may be stored"
                failure.advice = "look at opsctl ls before you try again, or submit with --key, which can be repeated"
            }
            throw failure
        }
        if let host, !reply.existing { printDirectory(of: reply, on: host) }
        return reply
    }

    /// Prints where an operation on another host runs, because the directory of this process does not exist there.
    private func printDirectory(of reply: SubmitReply, on host: RemoteHost) {
        var shown = "the home directory there, unless -C says otherwise"
        // If the daemon cannot be asked, the general rule is printed.
        if let row = try? daemon().call(ShowRequest.with { $0.ref = "\(reply.first)" }).operation,
            let directory = row.directory, reply.count == 1
        {
            shown = directory.printable
        }
        StandardError.line(
            "opsctl: on \(host.name): directory: \(shown); environment: that of a login there; "
                + "nothing was captured from this machine")
    }

    func metricsText() throws(Failure) -> String {
        try speaking { () throws(ClientError) in try daemon().metricsText() }
    }

    /// Returns the operations of a selection, in the order of their ids.
    func rows(of selection: Selection, limit: Int? = nil, newest: Bool = false) throws(Failure) -> [OperationRow] {
        var rows: [OperationRow] = []
        try stream(ListRequest(selection, limit: limit, newest: newest)) {
            rows += $0.operations
            return true
        }
        return rows
    }

    /// Makes the next output replace the screen, if the terminal allows that.
    func clear() throws(Failure) {
        if screen.isCapable && !wantsJSON { try output.write("\u{1b}[H\u{1b}[2J") }
    }

    /// Returns the failure with the name of the verb as its subject, unless it has a better one.
    func named(_ failure: Failure) -> Failure {
        guard failure.what.isEmpty else { return failure }
        var failure = failure
        failure.what = arguments.path
        return failure
    }

    func refuse(_ why: String, _ advice: String?) -> Failure {
        .usage(arguments.path, why, advice)
    }

    /// Writes a line of the output of an operation, unchanged unless it is for a terminal.
    func writeOutput(_ line: ArraySlice<UInt8>) throws(Failure) {
        if screen.isTerminal { try output.line(TerminalOutput.line(line)) } else { try output.line(line) }
    }

    /// Writes a record as JSON.
    func row(_ record: some WireRecord) throws(Failure) {
        var text = JSONWriter()
        record.write(to: &text)
        try output.line(text.bytes)
    }
}

extension ListRequest {
    init(_ selection: Selection, limit: Int? = nil, newest: Bool = false) {
        self.init()
        self.selection = selection.ifAny
        self.limit = limit
        self.newest = newest.ifTrue
    }
}

extension Bool {
    /// True, or nil in place of false. An earlier daemon refuses unknown parameters, so those with default values are
    /// left out.
    var ifTrue: Bool? { self ? true : nil }
}
