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
            if let signal = interruption.nextSignal(), signal != SIGWINCH { return ExitStatus(code: 128 + signal) }
            for index in readable where index < clients.count { try read(clients[index]) }
            guard let terminal, readable.contains(clients.count) else { continue }
            guard let keys = terminal.keys() else { return .done }
            for key in keys where try !handle(key) { return .done }
        }
        return ManyHosts.status(of: clients)
    }

    private func read(_ client: HostClient) throws(Failure) {
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
            lines.append(index == chosen ? TopScreen.selected(line, width) : line)
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
        return "\(client.host.name): \(status.suspended ? "suspended" : status.state.rawValue), "
            + "\(status.counts.executing) of \(status.workers) executing, \(status.counts.textOfOthers)"
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
        case .end, .character("G"): chosen = rows.count - 1
        case .enter, .character("l"), .character("w"):
            let all = rows
            guard let terminal, all.indices.contains(chosen) else { break }
            try TopPage(session: session, terminal: terminal, interruption: interruption)
                .show(key, about: all[chosen].row.id, host: all[chosen].host)
        case .escape, .character: break
        }
        return true
    }
}
