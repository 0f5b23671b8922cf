internal import OpsWire

/// `status`: shows the daemon, the running operations and its queues.
enum StatusVerb {
    static let verb = Verb(
        "status", .looking, "show the daemon, its queues and counts",
        forms: ["[--watch]"], options: [OptionGroup("Showing", [LsVerb.watch])],
        examples: [
            .init("Is all well?", "opsctl status"), .init("For a program", "opsctl status --json | jq .counts"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        guard session.arguments.has(LsVerb.watch) else {
            let status = try session.call(StatusRequest())
            try write(status, session)
            if !session.wantsJSON { try writeExecuting(session) }
            return status.runnerAnswers ? .done : .unsuccessful
        }
        return try Redraw.afterEachChange(session) { (reply) throws(Failure) in try write(reply, session) }
    }

    static func write(_ reply: StatusReply, _ session: Session) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        let style = session.style
        let isSuspended = reply.state == .running && reply.suspended
        let isStarting = reply.state == .running && reply.runnerPid == nil
        let word = isSuspended ? "suspended" : isStarting ? "starting" : reply.state.rawValue
        let colour: Style.Colour =
            reply.state == .storageUnavailable
            ? .boldRed : reply.state == .running && !isSuspended && !isStarting ? .boldGreen : .yellow
        let since = reply.startedAt.instant.map { ", up \((Instant.now - $0).text)" } ?? ""
        try session.output.line("\(style(colour, "● " + word))  opsd \(reply.version), pid \(reply.pid)\(since)")
        if let detail = reply.detail { try session.output.line("  " + style(colour, detail.printable)) }
        try session.output.line(
            "  \(reply.counts.executing) executing of \(reply.workers) workers, \(reply.counts.textOfOthers)")
        try session.output.line("")
        try QueueVerb.write(reply.queues, session)
    }

    /// Writes the first few running operations.
    private static func writeExecuting(_ session: Session) throws(Failure) {
        let rows = try session.rows(of: Selection(.executing), limit: shownAtMost + 1)
        guard !rows.isEmpty else { return }
        try session.output.line("")
        let shown: [LsVerb.Column] = [.id, .name, .state, .time, .progress, .cause]
        var table = Table(shown.map(\.heading), style: session.style, columns: session.screen.columns)
        for row in rows.prefix(shownAtMost) {
            try table.add(LsVerb.cells(row, shown, .now), to: session.output)
        }
        try table.finish(session.output)
        if rows.count > shownAtMost { try session.output.line("and more, see opsctl ls --state executing") }
    }

    private static let shownAtMost = 10
}

extension CountsRow {
    /// Numbers of the operations that do not execute: `2 ready, 1 held, 0 pending, 7 finished`.
    var textOfOthers: String {
        let apart = [(scheduled, "scheduled"), (held, "held")].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }
        return "\(ready) ready\(apart.joined()), \(pending) pending, \(finished) finished"
    }
}
