internal import Glibc
internal import OpsWire

/// The screen of `top`: drawn anew after every change of the daemon and every key.
final class TopScreen {
    private let session: Session
    private let terminal: RawTerminal
    private let interruption: Interruption
    private let changes: Connection
    private var status: JSONView?
    private var rows: [OperationRow] = []
    private var chosen = 0
    private var top = 0
    /// The last word on what a key did.
    private var message = ""
    private var question: (text: String, action: () throws(Failure) -> Void)?

    /// Drawn again without a change, so that times go on.
    private static let ticks: Int32 = 1000
    private static let mostRows = 500

    init(_ session: Session) throws(Failure) {
        self.session = session
        changes = try session.connect()
        try changes.send("Status", more: true)
        status = try changes.receive().parameters
        interruption = try Interruption([SIGINT, SIGTERM, SIGHUP, SIGWINCH])
        terminal = try RawTerminal()
    }

    func run() throws(Failure) -> ExitStatus {
        defer { terminal.restore() }
        try reload()
        while true {
            try draw()
            let readable = interruption.wait([STDIN_FILENO, changes.descriptor], milliseconds: Self.ticks)
            if let signal = interruption.take(), signal != SIGWINCH { return ExitStatus(code: 128 + signal) }
            if readable.contains(1) { try takeChanges() }
            if readable.contains(0) {
                guard let keys = terminal.keys() else { return .done }
                for key in keys where try !handle(key) { return .done }
            }
        }
    }

    // MARK: - What is shown

    private func takeChanges() throws(Failure) {
        guard try changes.fill() else { throw Refusal.lost(nil) }
        var isNews = false
        while let reply = try changes.takeReply() {
            status = reply.parameters
            isNews = true
        }
        if isNews { try reload() }
    }

    private func reload() throws(Failure) {
        let id = rows.indices.contains(chosen) ? rows[chosen].id : nil
        rows = try list("executing", newest: false) + list("ready", newest: false) + list("pending", newest: false)
        rows += try list("finished", newest: true).reversed()
        chosen = rows.firstIndex { $0.id == id } ?? min(chosen, max(0, rows.count - 1))
    }

    private func list(_ state: String, newest: Bool) throws(Failure) -> [OperationRow] {
        let limit = newest ? 20 : Self.mostRows
        let found = try session.rows(of: Selection(state: state), limit: limit, newest: newest)
        // What starts first stands first.
        return state == "ready" ? found.sorted { ($1.effectivePriority, $0.id) < ($0.effectivePriority, $1.id) } : found
    }

    private func draw() throws(Failure) {
        let width = session.screen.columns ?? 80
        let height = session.screen.rows
        var lines = heading()
        let table = try tableLines(width)
        let room = max(1, height - lines.count - 2)
        if chosen < top { top = chosen }
        if chosen >= top + room - 1 { top = max(0, chosen - room + 2) }
        if let head = table.first { lines.append(head) }
        for (index, line) in table.dropFirst().enumerated() where index >= top && index < top + room - 1 {
            lines.append(index == chosen ? "\u{1b}[7m\(plain(line, width))\u{1b}[0m" : line)
        }
        while lines.count < height - 1 { lines.append("") }
        let foot = question?.text ?? (message.isEmpty ? Self.keys : message)
        lines.append(session.style(question == nil ? .dim : .yellow, DisplayWidth.fit(foot, width)))
        try session.output.write("\u{1b}[H")
        try session.output.write(lines.prefix(height).map { $0 + "\u{1b}[K" }.joined(separator: "\r\n"))
        try session.output.write("\u{1b}[J")
        try session.output.flush()
    }

    private static let keys =
        "q quit  ↑↓ choose  ⏎ show  l log  w why  c cancel  s hold/resume  + - priority  S suspend all"

    private func heading() -> [String] {
        guard let status else { return [] }
        let style = session.style
        let counts = status["counts"]
        func count(_ key: StaticString) -> Int { counts?[key]?.integer ?? 0 }
        let isSuspended = status["suspended"]?.flag ?? false
        let state = isSuspended ? "suspended" : status["state"]?.text ?? ""
        let workers = status["workers"]?.integer ?? 0
        let first =
            style(state == "running" ? .boldGreen : .yellow, "● \(state)") + "  "
            + ProgressBar.text(done: min(workers, count("executing")), total: workers, cells: 12)
            + "  \(count("executing")) of \(workers) executing, \(count("ready")) ready, \(count("pending")) pending, "
            + "\(count("finished")) finished"
        let queues = (status["queues"]?.elements ?? []).map { queue in
            let limit = queue["limit"]?.integer.map { "/\($0)" } ?? ""
            let waiting = (queue["ready"]?.integer ?? 0) + (queue["pending"]?.integer ?? 0)
            return "\(queue["name"]?.text ?? "") \(queue["executing"]?.integer ?? 0)\(limit)"
                + (waiting > 0 ? "+\(waiting)" : "") + (queue["suspended"]?.flag ?? false ? " suspended" : "")
        }
        let width = session.screen.columns ?? 80
        return [first, style(.dim, DisplayWidth.fit("queues: " + queues.joined(separator: ", ").printable, width)), ""]
    }

    private func tableLines(_ width: Int) throws(Failure) -> [String] {
        let lines = LineCollector()
        let shown: [LsVerb.Column] = [.id, .name, .graph, .state, .queue, .priority, .time, .progress, .cause]
        var table = Table(shown.map(\.heading), style: session.style, columns: width)
        let now = Instant.now
        for row in rows { try table.add(LsVerb.cells(row, shown, now), to: lines) }
        try table.finish(lines)
        return lines.lines
    }

    /// Without colours, over the whole width: a line that is chosen.
    private func plain(_ line: String, _ width: Int) -> String {
        var text = ""
        var isEscape = false
        for character in line {
            if character == "\u{1b}" { isEscape = true }
            if !isEscape { text.append(character) }
            if isEscape && character == "m" { isEscape = false }
        }
        return DisplayWidth.pad(text, width)
    }

    // MARK: - Keys

    /// False to leave.
    private func handle(_ key: RawTerminal.Key) throws(Failure) -> Bool {
        if let question {
            self.question = nil
            if key == .character("y") { try attempt(question.action) }
            return true
        }
        message = ""
        switch key {
        case .character("q"), .character("\u{3}"), .character("\u{4}"): return false
        case .up, .character("k"): chosen = max(0, chosen - 1)
        case .down, .character("j"): chosen = min(max(0, rows.count - 1), chosen + 1)
        case .pageUp: chosen = max(0, chosen - 10)
        case .pageDown: chosen = min(max(0, rows.count - 1), chosen + 10)
        case .home, .character("g"): chosen = 0
        case .end, .character("G"): chosen = max(0, rows.count - 1)
        case .character("S"): try attempt { () throws(Failure) in try self.toggleDaemon() }
        case .enter, .character: try act(key)
        case .escape: break
        }
        return true
    }

    private func act(_ key: RawTerminal.Key) throws(Failure) {
        guard rows.indices.contains(chosen) else { return }
        let row = rows[chosen]
        let id = row.id
        switch key {
        case .enter: try page(["show", "\(id)"])
        case .character("l"): try page(["log", "-n", "\(max(1, session.screen.rows - 2))", "\(id)"])
        case .character("w"): try page(["why", "\(id)"])
        case .character("c"):
            question = ("cancel \(id) \(row.title)? y or n", { () throws(Failure) in try self.change("Cancel", id) })
        case .character("s"):
            let isStopped = row.isHeld || row.isFrozen
            try attempt { () throws(Failure) in
                try self.change(isStopped ? "Resume" : "Suspend", id, freezes: !isStopped && row.state == "executing")
            }
        case .character("+"), .character("="):
            try attempt { () throws(Failure) in try self.prioritise(id, row.priority + 1) }
        case .character("-"): try attempt { () throws(Failure) in try self.prioritise(id, row.priority - 1) }
        default: break
        }
    }

    /// A refusal is a message at the bottom, not the end; a lost daemon is the end.
    private func attempt(_ action: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) {
            try action()
            try reload()
        } catch {
            guard error.status != .unreachable else { throw error }
            message = error.lines.joined(separator: " ")
        }
    }

    private func change(_ method: StaticString, _ id: Int, freezes: Bool = false) throws(Failure) {
        let selection = Selection(refs: ["\(id)"])
        _ = try session.call(method) {
            selection.member(of: &$0)
            $0.member("freeze", freezes)
        }
    }

    private func prioritise(_ id: Int, _ priority: Int) throws(Failure) {
        let selection = Selection(refs: ["\(id)"])
        _ = try session.call("Set") {
            selection.member(of: &$0)
            $0.key("changes")
            $0.object { $0.member("priority", priority) }
        }
    }

    private func toggleDaemon() throws(Failure) {
        _ = try session.call(status?["suspended"]?.flag ?? false ? "Resume" : "Suspend")
    }

    /// The output of another verb on the whole screen, until a key.
    private func page(_ words: [String]) throws(Failure) {
        try session.clear()
        try session.output.flush()
        var parser = Parser(words + (session.arguments.text(.socket).map { ["--socket", $0] } ?? []))
        do throws(Failure) {
            let inner = Session(try parser.parse())
            if let action = inner.arguments.verb.action { _ = try action(inner) }
            try inner.output.flush()
        } catch {
            for line in error.lines { try session.output.line(line) }
        }
        try session.output.write(session.style(.dim, "\u{1b}[\(session.screen.rows);1Hany key goes back"))
        try session.output.flush()
        _ = interruption.wait([STDIN_FILENO])
        _ = terminal.keys()
    }
}
