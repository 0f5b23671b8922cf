internal import Glibc
internal import OpsClient
internal import OpsDrawing
internal import OpsSystem
internal import OpsWire

/// Live display of a selection: a block at the bottom of a terminal, or lines in a pipe.
final class ProgressDisplay {
    private let session: Session
    private let selection: Selection
    /// Signals that cancel the displayed graph (`run -f`); for `wait` there are none, and a signal ends the display.
    private let interruption: Interruption
    /// True once a signal has cancelled the operations.
    private var isCancelled = false
    /// The stream of ends shows when the display is finished; the stream of events shows progress.
    private var ends: ReplyStream<WaitReply>
    private var events: ReplyStream<WatchReply>
    private let any: Bool
    private let deadline: Instant?
    private var rows: [Int64: OperationRow] = [:]
    private var tally = Tally()
    private var forecast: Forecast?
    private var drawnLines = 0
    private let begun = Instant.now
    private let isLive: Bool
    /// Lines of a display that is not a live block.
    private let chronicle: Chronicle

    private static let ticks: Int32 = 250
    /// Number of output lines of a failed operation that a terminal shows.
    private static let linesOfFailure = 10

    /// Shows a graph until all of it has finished; an interrupt cancels it.
    static func run(_ session: Session, graph: String, _ interruption: Interruption) throws(Failure) -> ExitStatus {
        if !session.wantsJSON { try session.output.line(graph) }
        let display = try ProgressDisplay(
            session, Selection(graph: graph), interruption, until: nil, any: false, includesPastSuccesses: true)
        try display.show()
        return display.tally.status(any: false, exitCode: false)
    }

    static func wait(
        _ session: Session, _ selection: Selection, until end: Instant?, any: Bool
    ) throws(Failure) -> Tally {
        let display = try ProgressDisplay(
            session, selection, Interruption([]), until: end, any: any, includesPastSuccesses: false)
        try display.show()
        return display.tally
    }

    private init(
        _ session: Session, _ selection: Selection, _ interruption: Interruption, until end: Instant?, any: Bool,
        includesPastSuccesses: Bool
    ) throws(Failure) {
        self.session = session
        self.selection = selection
        self.interruption = interruption
        isLive = session.screen.isCapable && !session.wantsJSON
        chronicle = Chronicle(session, includesPastSuccesses: includesPastSuccesses)
        self.any = any
        deadline = end
        // An event between the two calls is reported by the first and counted by the second, so none is missed.
        events = try session.open(WatchRequest.with { $0.selection = selection.ifAny })
        ends = try session.open(WaitRequest(selection, any: any, until: deadline))
        try load()
    }

    private func load() throws(Failure) {
        guard !session.wantsJSON else { return }
        for row in try session.rows(of: selection) { rows[row.id] = row }
        if isLive { try prepareForecast() } else { try chronicle.write(past: Array(rows.values)) }
    }

    private func show() throws(Failure) {
        while !ends.isOver {
            do throws(Failure) {
                try step()
            } catch {
                // The operations keep running while the daemon restarts.
                try session.awaitReturn(after: error)
                events = try session.open(WatchRequest.with { $0.selection = selection.ifAny })
                ends = try session.open(WaitRequest(selection, any: any, until: deadline))
                try load()
            }
        }
    }

    private func step() throws(Failure) {
        let readable = interruption.wait(
            session.wantsJSON ? [ends.descriptor] : [ends.descriptor, events.descriptor],
            milliseconds: isLive ? Self.ticks : session.millisecondsLeft)
        if let signal = interruption.nextSignal() {
            guard !isCancelled else { throw Interruption.secondSignal(signal) }
            try cancel(signal)
            isCancelled = true
        }
        if readable.isEmpty { try session.checkDeadline() }
        if readable.contains(1) { try readEvents() }
        if readable.contains(0) { try readEnds() }
        try draw()
        try session.output.flush()
    }

    /// Prepares the forecast, which needs the dependencies of the graph.
    private func prepareForecast() throws(Failure) {
        guard let level = selection.level, level.kind == "graph" else { return }
        let picture = GraphPicture(try session.call(GraphRequest.with { $0.graph = level.name }))
        forecast = Forecast(picture, earlier: try earlier())
    }

    /// Returns the newest successful operations of other graphs that have commands of this graph.
    private func earlier() throws(Failure) -> [OperationRow] {
        let commands = Set(rows.values.map(\.command))
        let succeeded = Selection.with { $0.outcome = OutcomeName.succeeded.rawValue }
        return try session.call(ListRequest(succeeded, newest: true)).operations
            .filter { commands.contains($0.command) && rows[$0.id] == nil }
    }

    private func readEnds() throws(Failure) {
        try session.speaking { () throws(ClientError) in try ends.receive() }
        while let reply = try session.speaking({ () throws(ClientError) in try ends.arrived() }) {
            for ended in reply.ended where tally.add(ended) {
                if isLive { try erase() }
                if isLive || session.wantsJSON { try WaitVerb.write(ended, session) }
                if isLive, ended.isUnsuccessful {
                    try chronicle.writeOutput(of: ended.id, ended.exitCode, ended.signal, lines: Self.linesOfFailure)
                }
                rows[ended.id]?.state = .finished
                rows[ended.id]?.outcome = ended.outcome
                rows[ended.id]?.notNeeded = ended.notNeeded
            }
        }
        guard ends.isOver, !isLive, !session.wantsJSON else { return }
        // The last events may not have arrived yet.
        try chronicle.write(past: try session.rows(of: selection))
    }

    private func readEvents() throws(Failure) {
        try session.speaking { () throws(ClientError) in try events.receive() }
        while let event = try session.speaking({ () throws(ClientError) in try events.arrived() })?.event {
            if let id = event.id { try apply(event, to: id) }
        }
    }

    private func apply(_ event: EventRow, to id: Int64) throws(Failure) {
        if !isLive { return try chronicle.write(event, of: id) }
        var row = rows[id] ?? .with { $0.id = id }
        row.state = event.new ?? row.state
        row.outcome = event.outcome ?? row.outcome
        switch event.type {
        case .started:
            row.startedAt = event.at
            row.outcome = nil
            row.progress = nil
        case .progress: refresh(&row)
        case .finished: row.finishedAt = event.at
        default: break
        }
        rows[id] = row
    }

    /// Asks for the progress of an operation, which the stream does not contain.
    private func refresh(_ row: inout OperationRow) {
        // If the operation cannot be read, its earlier row is shown.
        guard let reply = try? session.call(ShowRequest.with { $0.ref = "\(row.id)" }) else { return }
        row = reply.operation
    }

    private func cancel(_ signal: Int32) throws(Failure) {
        try session.callUntilAnswered(
            CancelRequest.with { ($0.selection, $0.reason) = (selection, Interruption.reason(signal)) })
    }

    // MARK: - Drawing

    private func erase() throws(Failure) {
        guard drawnLines > 0 else { return }
        try session.output.write("\u{1b}[\(drawnLines)A\u{1b}[J")
        drawnLines = 0
    }

    private func draw() throws(Failure) {
        guard isLive else { return }
        try erase()
        let lines = lines(Instant.now)
        for line in lines { try session.output.line(line) }
        // At the end the last picture stays.
        drawnLines = ends.isOver ? 0 : lines.count
    }

    private func lines(_ now: Instant) -> [String] {
        let style = session.style
        let width = session.screen.columns ?? 80
        let executing = rows.values.filter { !$0.isGroup && $0.outcome == nil && $0.state == .executing }
            .sorted { $0.id < $1.id }
        var lines = [style.line(heading(executing.count, width, now), cells: width)]
        let room = max(1, min(session.screen.rows - 3, 10))
        for row in executing.prefix(room) { lines.append(line(row, width, now)) }
        if executing.count > room { lines.append(style(.dim, "   and \(executing.count - room) more")) }
        return lines
    }

    private func heading(_ executing: Int, _ width: Int, _ now: Instant) -> [(text: String, colour: Style.Colour?)] {
        let plain = rows.values.filter { !$0.isGroup }
        let done = plain.count { $0.outcome != nil }
        var parts: [(text: String, colour: Style.Colour?)] = [
            (ProgressBar.text(done: done, total: plain.count, cells: max(8, min(30, width / 4))), nil),
            ("  \(done)/\(plain.count) done", nil),
        ]
        for outcome in OutcomeName.known where outcome != .succeeded {
            for notNeeded in outcome == .skipped ? [false, true] : [false] {
                let count = plain.count { $0.outcome == outcome && $0.notNeeded == notNeeded }
                let standing = Standing(state: .finished, outcome: outcome, notNeeded: notNeeded)
                if count > 0 { parts += [(", ", nil), ("\(count) \(standing.word)", standing.colour)] }
            }
        }
        parts.append((", \(executing) executing, \((now - begun).text)", nil))
        if let left = forecast?.left(rows, now: now) ?? estimate(plain.count - done, done, now),
            left.nanoseconds > 0, done < plain.count
        {
            parts.append((", about \(left.text) left", .dim))
        }
        return parts
    }

    private func line(_ row: OperationRow, _ width: Int, _ now: Instant) -> String {
        let time = row.age(now: now)?.text ?? ""
        let progress = row.progress.map { "  " + ProgressBar.text($0, cells: 10) } ?? ""
        let tail = "  \(time)\(progress)" + (row.statusText.map { "  " + $0.printable } ?? "")
        let title = DisplayWidth.fit("\(row.id) \(row.title)", max(8, width - 4 - min(40, DisplayWidth.of(tail))))
        return session.style.line([(" ● ", .cyan), (title, nil), (tail, .dim)], cells: width)
    }

    /// Returns the time for the rest, if each remaining operation takes as long as each finished one did.
    private func estimate(_ left: Int, _ done: Int, _ now: Instant) -> Span? {
        guard left > 0, done >= 3 else { return nil }
        let starts = rows.values.compactMap(\.startedAt.instant).min() ?? begun
        let (time, isTooLong) = ((now - starts).nanoseconds / Int64(done)).multipliedReportingOverflow(by: Int64(left))
        return isTooLong ? nil : Span(nanoseconds: time)
    }
}
