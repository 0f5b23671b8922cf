internal import OpsWire

/// `watch`: the stream of events.
enum WatchVerb {
    static let since = Option.value(
        "since", "SEQ", .integer, "everything after this event, then what comes (from now on)")

    static let verb = Verb(
        "watch", aliases: ["events"], .looking, "the event stream, without gaps",
        forms: ["[SELECTION] [--since SEQ]"],
        about: [
            "Sequence numbers have no gaps and survive restarts: a watcher that goes on with --since misses nothing."
        ],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Watching", [since]), .selection],
        examples: [
            .init("Everything from now on", "opsctl watch"),
            .init("All that ever happened, for a program", "opsctl watch --since 0 --json"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let selection = Selection(session.arguments)
        // From now on is from a number on too: with it the stream goes on behind a restart of the daemon.
        let given = session.arguments.integer(since)
        var last: Int
        if let given { last = given } else { last = try session.call("Status")["lastSeq"]?.integer ?? 0 }
        while true {
            do throws(Failure) {
                try follow(session, selection, &last)
                return .done
            } catch {
                try session.awaitReturn(after: error)
            }
        }
    }

    private static func follow(_ session: Session, _ selection: Selection, _ last: inout Int) throws(Failure) {
        try session.stream("Watch") {
            $0.member("since", last)
            selection.member(of: &$0)
        } each: { (reply) throws(Failure) in
            guard let event = reply["event"] else { return true }
            last = event["seq"]?.integer ?? last
            if session.wantsJSON { try session.row(event) } else { try session.output.line(line(event, session)) }
            try session.output.flush()
            return true
        }
    }

    private static func line(_ event: JSONView, _ session: Session) -> String {
        let style = session.style
        let at = event["at"]?.instant?.text(now: .now) ?? ""
        let type = event["type"]?.text ?? ""
        let outcome = event["outcome"]?.text
        let standing = Standing(state: event["new"]?.text ?? "", outcome: outcome)
        var words = [style(.dim, DisplayWidth.pad("\(event["seq"]?.integer ?? 0)", 6, toLeft: true)), style(.dim, at)]
        if let id = event["id"]?.integer {
            words.append(style(.bold, "\(id)") + (event["graph"]?.text.map { style(.dim, "@\($0)") } ?? ""))
        }
        words.append(style(standing.colour, outcome.map { type == "finished" ? $0 : "\(type) \($0)" } ?? type))
        if let old = event["old"]?.text, let new = event["new"]?.text, old != new {
            words.append(style(.dim, "\(old)→\(new)"))
        }
        if let attempt = event["attempt"]?.integer, attempt > 1 { words.append("attempt \(attempt)") }
        if let product = event["product"]?.integer { words.append("product \(product)") }
        if let queue = event["queue"]?.text, event["id"] == nil { words.append("queue \(queue)") }
        if let detail = event["detail"]?.text { words.append(detail.printable) }
        return words.joined(separator: "  ")
    }
}
