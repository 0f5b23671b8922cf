internal import Glibc
internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// State of a daemon at one moment: `top --json` prints it after every change.
struct DaemonView: WireRecord {
    var status = StatusReply()
    var operations: [OperationRow] = []
    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("status", &status)
        try visitor.field("operations", &operations)
    }
}

/// The screen of `top` for several hosts.
final class HostsScreen {
    private let session: Session
    private let clients: [HostClient]
    private var views: [String: DaemonView] = [:]
    private var chosen = 0
    private var top = 0
    private let terminal: RawTerminal?
    private let interruption: Interruption

    private static let tick: Int32 = 1000

    init(_ session: Session, _ clients: [HostClient]) throws(Failure) {
        self.session = session
        self.clients = clients
        interruption = try Interruption([SIGINT, SIGTERM, SIGHUP, SIGWINCH])
        do throws(Failure) {
            terminal = session.wantsJSON ? nil : try RawTerminal()
        } catch {
            throw session.named(error)
        }
    }

    func run() throws(Failure) -> ExitStatus {
        defer { terminal?.restore() }
        while clients.contains(where: { $0.status == nil }) {
            if terminal != nil { try draw() }
            let descriptors = clients.map(\.descriptor) + (terminal == nil ? [] : [STDIN_FILENO])
            let readable = interruption.wait(descriptors, milliseconds: Self.tick)
            if let signal = interruption.take(), signal != SIGWINCH { return ExitStatus(code: 128 + signal) }
            for index in readable where index < clients.count { try take(clients[index]) }
            guard let terminal, readable.contains(clients.count) else { continue }
            guard let keys = terminal.keys() else { return .done }
            for key in keys where try !handle(key) { return .done }
        }
        return ManyHosts.status(of: clients)
    }

    private func take(_ client: HostClient) throws(Failure) {
        for line in try client.read() {
            if session.wantsJSON {
                try session.output.line(client.labelled(line))
            } else {
                views[client.host.name] = try client.record(line)
            }
        }
        try session.output.flush()
    }

    // MARK: - Display

    private var rows: [(host: String, row: OperationRow)] {
        clients.flatMap { client in (views[client.host.name]?.operations ?? []).map { (client.host.name, $0) } }
    }

    private func draw() throws(Failure) {
        let width = session.screen.columns ?? 80
        let height = session.screen.rows
        var lines = clients.map { DisplayWidth.fit(heading($0), width) } + [""]
        let all = rows
        chosen = max(0, min(chosen, all.count - 1))
        let room = max(1, height - lines.count - 2)
        top = max(0, min(max(top, chosen - room + 2), chosen))
        let table = LineCollector()
        try LsVerb.write(
            clients.map { client in
                (host: client.host.name, rows: views[client.host.name]?.operations ?? [])
            }, session, to: table, width: width)
        if let head = table.lines.first { lines.append(head) }
        for (index, line) in table.lines.dropFirst().enumerated() where index >= top && index < top + room - 1 {
            lines.append(index == chosen ? "\u{1b}[7m\(line)\u{1b}[0m" : line)
        }
        while lines.count < height - 1 { lines.append("") }
        lines.append(session.style(.dim, DisplayWidth.fit("q quit  ↑↓ choose  ⏎ show  l log  w why", width)))
        try session.output.write("\u{1b}[H")
        try session.output.write(lines.prefix(height).map { $0 + "\u{1b}[K" }.joined(separator: "\r\n"))
        try session.output.write("\u{1b}[J")
        try session.output.flush()
    }

    private func heading(_ client: HostClient) -> String {
        guard client.status == nil else { return "\(client.host.name): not reached" }
        guard let status = views[client.host.name]?.status else { return "\(client.host.name): ..." }
        let counts = status.counts
        return "\(client.host.name): \(status.suspended ? "suspended" : status.state.rawValue), "
            + "\(counts.executing) of \(status.workers) executing, \(counts.ready) ready, \(counts.pending) pending, "
            + "\(counts.finished) finished"
    }

    // MARK: - Keys

    /// Handles a key; returns false to leave.
    private func handle(_ key: RawTerminal.Key) throws(Failure) -> Bool {
        switch key {
        case .character("q"), .character("\u{3}"), .character("\u{4}"): return false
        case .up, .character("k"): chosen -= 1
        case .down, .character("j"): chosen += 1
        case .pageUp: chosen -= 10
        case .pageDown: chosen += 10
        case .home, .character("g"): chosen = 0
        case .end, .character("G"): chosen = .max
        case .enter: try page("show")
        case .character("l"): try page("log")
        case .character("w"): try page("why")
        case .escape, .character: break
        }
        return true
    }

    /// Shows the output of another verb about the chosen operation until a key is pressed.
    private func page(_ verb: String) throws(Failure) {
        let all = rows
        guard all.indices.contains(chosen) else { return }
        try session.clear()
        try session.output.flush()
        var parser = Parser(["--host", all[chosen].host, verb, "\(all[chosen].row.id)"])
        do throws(Failure) {
            let inner = try Session(try parser.parse())
            if let action = inner.arguments.verb.action { _ = try action(inner) }
            try inner.output.flush()
        } catch {
            for line in error.lines { try session.output.line(line) }
        }
        try session.output.write(session.style(.dim, "\u{1b}[\(session.screen.rows);1Hpress any key"))
        try session.output.flush()
        _ = interruption.wait([STDIN_FILENO])
        _ = terminal?.keys()
    }
}
