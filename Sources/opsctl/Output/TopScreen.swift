internal import Glibc
internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// The screen of `top`, drawn again after every change of the daemon and every key.
final class TopScreen {
    private let session: Session
    private let terminal: RawTerminal
    private let interruption: Interruption
    private let page: TopPage
    private var changes: ReplyStream<StatusReply>
    private var status = StatusReply()
    private var rows: [OperationRow] = []
    private var chosen = 0
    private var top = 0
    /// Result of the last key.
    private var message = ""
    /// False while there is no connection to the daemon.
    private var isOpen = true
    /// Instant until which a lost daemon may return; nil if it answers.
    private var deadline: Instant?
    /// Milliseconds between two attempts to connect.
    private static let pause: Int32 = 200
    private var question: (text: String, action: () throws(Failure) -> Void)?
    /// Text that shown operations must have in their name, graph, queue or state.
    private var filter = ""
    private var isTypingFilter = false
    /// True to show the newest failures instead of the unfinished operations.
    private var showsFailures = false

    /// Milliseconds after which the screen is drawn again without a change, because times advance.
    private static let ticks: Int32 = 1000
    private static let mostRows = 500
    private static let mostFailures = 100

    /// Writes a `DaemonView` after every change, for programs.
    static func writeViews(_ session: Session) throws(Failure) -> ExitStatus {
        try Redraw.afterEachChange(session) { (status) throws(Failure) in
            var view = DaemonView()
            view.status = status
            view.operations = try rows(session)
            try session.row(view)
        }
    }

    /// Returns the unfinished operations in the order of display, then the newest finished ones.
    private static func rows(_ session: Session) throws(Failure) -> [OperationRow] {
        func list(_ state: StateName, newest: Bool = false) throws(Failure) -> [OperationRow] {
            let limit = newest ? 20 : mostRows
            let found = try session.rows(of: Selection(state), limit: limit, newest: newest)
            // The operation that will start first is at the top.
            guard state == .ready else { return found }
            return found.sorted { ($1.effectivePriority, $0.id) < ($0.effectivePriority, $1.id) }
        }
        return try list(.executing) + list(.ready) + list(.pending) + list(.finished, newest: true).reversed()
    }

    /// Returns the newest operations that failed, timed out or were interrupted.
    private static func failures(_ session: Session) throws(Failure) -> [OperationRow] {
        var selection = Selection()
        selection.outcome = "failed,timedOut,interrupted"
        return try session.rows(of: selection, limit: mostFailures, newest: true)
    }

    init(_ session: Session) throws(Failure) {
        self.session = session
        var changes = try session.open(StatusRequest())
        if let first = try session.speaking({ () throws(ClientError) in try changes.next() }) { status = first }
        self.changes = changes
        interruption = try Interruption([SIGINT, SIGTERM, SIGHUP, SIGWINCH])
        terminal = try RawTerminal()
        page = TopPage(session: session, terminal: terminal, interruption: interruption)
    }

    func run() throws(Failure) -> ExitStatus {
        defer { terminal.restore() }
        try reload()
        while true {
            try draw()
            let readable = interruption.wait(
                isOpen ? [STDIN_FILENO, changes.descriptor] : [STDIN_FILENO],
                milliseconds: isOpen ? Self.ticks : Self.pause)
            if let signal = interruption.nextSignal(), signal != SIGWINCH { return ExitStatus(code: 128 + signal) }
            do throws(Failure) {
                // Keys come first: they also work while the daemon is away.
                if readable.contains(0) {
                    guard let keys = terminal.keys() else { return .done }
                    for key in keys where try !handle(key) { return .done }
                }
                if !isOpen {
                    changes = try session.open(StatusRequest())
                    isOpen = true
                } else if readable.contains(1) {
                    try readChanges()
                }
            } catch {
                try awaitDaemon(after: error)
            }
        }
    }

    /// Lets the loop connect again; throws the failure if the daemon has been away for too long, or another failure.
    private func awaitDaemon(after failure: Failure) throws(Failure) {
        guard failure.isLoss || (deadline != nil && failure.status == .unreachable) else { throw failure }
        let end = deadline ?? Instant.now + Session.patience
        guard Instant.now < end else { throw failure }
        (deadline, isOpen) = (end, false)
        session.disconnect()
        message = "opsd does not answer"
    }

    // MARK: - Display

    private func readChanges() throws(Failure) {
        var isNews = false
        try session.speaking { () throws(ClientError) in
            try changes.receive()
            while let reply = try changes.arrived() {
                status = reply
                isNews = true
            }
        }
        guard isNews else { return }
        try reload()
        if deadline != nil { (deadline, message) = (nil, "") }
    }

    private func reload() throws(Failure) {
        let id = rows.indices.contains(chosen) ? rows[chosen].id : nil
        let all = try showsFailures ? Self.failures(session) : Self.rows(session)
        let now = Instant.now
        rows =
            filter.isEmpty
            ? all
            : all.filter { row in
                LsVerb.cells(row, [.id, .name, .graph, .state, .queue], now).contains { cell in
                    cell.text.lowercased().contains(filter.lowercased())
                }
            }
        chosen = rows.firstIndex { $0.id == id } ?? min(chosen, max(0, rows.count - 1))
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
            lines.append(index == chosen ? Self.selected(line, width) : line)
        }
        while lines.count < height - 1 { lines.append("") }
        lines.append(session.style(question == nil ? .dim : .yellow, DisplayWidth.fit(foot, width)))
        try session.output.write("\u{1b}[H")
        try session.output.write(lines.prefix(height).map { $0 + "\u{1b}[K" }.joined(separator: "\r\n"))
        try session.output.write("\u{1b}[J")
        try session.output.flush()
    }

    private static let keys =
        "q quit  ? keys  / filter  f failures  ↑↓ choose  ⏎ show  l log  w why  c cancel  s hold/resume  + - priority"

    private var foot: String {
        if let question { return question.text }
        if isTypingFilter { return "/\(filter)_  (⏎ keeps it, Esc shows all)" }
        if !message.isEmpty { return message }
        let shown = [
            showsFailures ? "failures (f goes back)" : nil, filter.isEmpty ? nil : "with \"\(filter)\" (Esc shows all)",
        ].compactMap { $0 }
        return shown.isEmpty ? Self.keys : "only \(shown.joined(separator: ", "))  ? keys"
    }

    private static let explanations = [
        ("q", "quit"), ("↑ ↓, k j", "choose an operation"), ("PgUp PgDn", "ten up or down"),
        ("Home End, g G", "the first, the last"), ("⏎", "show everything about it"), ("l", "the end of its log"),
        ("w", "why it waits"), ("c", "cancel it, after a question"), ("s", "hold it or let it run; freeze what runs"),
        ("/", "show only what has a text in its name, graph, queue or state"), ("f", "the newest failures, and back"),
        ("+ -", "raise or lower its priority"), ("S", "suspend or resume the daemon"), ("?", "this page"),
    ]

    private func heading() -> [String] {
        let style = session.style
        let (counts, workers) = (status.counts, status.workers)
        let state = status.suspended ? "suspended" : status.state.rawValue
        let isRunning = status.state == .running && !status.suspended
        let width = session.screen.columns ?? 80
        let bar = ProgressBar.text(done: min(workers, counts.executing), total: workers, cells: width < 80 ? 4 : 12)
        let first = style.line(
            [
                ("● \(state)", isRunning ? .boldGreen : .yellow),
                ("  \(bar)  \(counts.executing) of \(workers) executing, \(counts.textOfOthers)", nil),
            ], cells: width)
        let queues = status.queues.map { queue in
            let waiting = queue.ready + queue.pending
            return "\(queue.name) \(queue.executing)" + (queue.limit.map { "/\($0)" } ?? "")
                + (waiting > 0 ? "+\(waiting)" : "") + (queue.suspended ? " suspended" : "")
        }
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

    /// Returns the selected line in reverse, over the whole width and without other colours: these would end it.
    static func selected(_ line: String, _ width: Int) -> String {
        var text = ""
        var isEscape = false
        for character in line {
            if character == "\u{1b}" { isEscape = true }
            if !isEscape { text.append(character) }
            if isEscape && character == "m" { isEscape = false }
        }
        return "\u{1b}[7m\(DisplayWidth.pad(text, width))\u{1b}[0m"
    }

    // MARK: - Keys

    /// Handles a key; returns false to leave.
    private func handle(_ key: RawTerminal.Key) throws(Failure) -> Bool {
        if let question {
            self.question = nil
            if key == .character("y") { try attempt(question.action) }
            return true
        }
        message = ""
        if isTypingFilter { return try edit(key) }
        switch key {
        case .character("q"), .character("\u{3}"), .character("\u{4}"): return false
        case .up, .character("k"): chosen = max(0, chosen - 1)
        case .down, .character("j"): chosen = min(max(0, rows.count - 1), chosen + 1)
        case .pageUp: chosen = max(0, chosen - 10)
        case .pageDown: chosen = min(max(0, rows.count - 1), chosen + 10)
        case .home, .character("g"): chosen = 0
        case .end, .character("G"): chosen = max(0, rows.count - 1)
        case .character("?"): try explain()
        case .character("/"): isTypingFilter = true
        case .character("f"):
            showsFailures.toggle()
            chosen = 0
            try reload()
        case .character("S"):
            try attempt { () throws(Failure) in
                try self.suspend(nil, isSuspended: self.status.suspended)
            }
        case .enter, .character: try act(key)
        case .escape where !filter.isEmpty:
            filter = ""
            try reload()
        case .escape: break
        }
        return true
    }

    /// Changes the filter by a key; returns false to leave.
    private func edit(_ key: RawTerminal.Key) throws(Failure) -> Bool {
        switch key {
        case .character("\u{3}"): return false
        case .enter: isTypingFilter = false
        case .escape:
            isTypingFilter = false
            filter = ""
        case .character("\u{7f}"), .character("\u{8}"): filter = String(filter.dropLast())
        case .character(let character): if !character.isNewline, filter.count < 60 { filter.append(character) }
        case .up, .down, .pageUp, .pageDown, .home, .end: break
        }
        try reload()
        return true
    }

    /// Shows all keys on the screen until a key is pressed.
    private func explain() throws(Failure) {
        try session.clear()
        let width = session.screen.columns ?? 80
        for (key, meaning) in Self.explanations {
            try session.output.line(
                session.style.line([("  " + DisplayWidth.pad(key, 15), .cyan), (meaning, nil)], cells: width) + "\r")
        }
        try page.awaitKey()
    }

    private func act(_ key: RawTerminal.Key) throws(Failure) {
        guard rows.indices.contains(chosen) else { return }
        let row = rows[chosen]
        let id = row.id
        switch key {
        case .enter, .character("l"), .character("w"): try page.show(key, about: id, host: session.host?.name)
        case .character("c"):
            question = (
                "cancel \(id) \(row.title)? y or n",
                { () throws(Failure) in
                    _ = try self.session.call(CancelRequest.with { $0.selection = Selection(id) })
                }
            )
        case .character("s"):
            try attempt { () throws(Failure) in
                try self.suspend(Selection(id), isSuspended: row.held || row.frozen, freeze: row.state == .executing)
            }
        case .character("+"), .character("="):
            try attempt { () throws(Failure) in try self.prioritise(id, row.priority + 1) }
        case .character("-"): try attempt { () throws(Failure) in try self.prioritise(id, row.priority - 1) }
        default: break
        }
    }

    /// Shows an error as a message at the bottom, except the loss of the daemon.
    private func attempt(_ action: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) {
            try action()
            try reload()
        } catch {
            guard error.status != .unreachable else { throw error }
            message = error.lines.joined(separator: " ")
        }
    }

    /// Suspends or resumes a selection, or the daemon.
    private func suspend(_ selection: Selection?, isSuspended: Bool, freeze: Bool = false) throws(Failure) {
        if isSuspended {
            _ = try session.call(ResumeRequest.with { $0.selection = selection })
        } else {
            _ = try session.call(SuspendRequest.with { ($0.selection, $0.freeze) = (selection, freeze.ifTrue) })
        }
    }

    private func prioritise(_ id: Int64, _ priority: Int) throws(Failure) {
        _ = try session.call(SetRequest(Selection(id), [.init("priority", .integer(Int64(priority)))]))
    }
}
