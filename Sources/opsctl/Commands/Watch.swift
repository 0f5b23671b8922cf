internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// `watch`: prints the stream of events.
enum WatchVerb {
    static let since = Option.value(
        "since", "SEQ", .integer, "start after this event (default: with the next one)")

    static let verb = Verb(
        "watch", aliases: ["events"], .looking, "print events as they happen, without gaps",
        forms: ["[SELECTION] [--since SEQ]"],
        about: [
            "Sequence numbers have no gaps and survive restarts: a watcher that resumes with --since misses nothing."
        ],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Watching", [since]), .selection],
        examples: [
            .init("Everything from now on", "opsctl watch"),
            .init("All that ever happened, for a program", "opsctl watch --since 0 --json"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let selection = Selection(session.arguments)
        var names = OperationNames()
        // Without --since the current number is asked for, so that the stream can continue after a restart of the
        // daemon.
        let given = session.arguments.integer(since)
        var last: Int64
        if let given { last = Int64(given) } else { last = try session.call(StatusRequest()).lastSeq }
        while true {
            do throws(Failure) {
                try follow(session, selection, &last, &names)
                return .done
            } catch {
                try session.awaitReturn(after: error)
            }
        }
    }

    private static func follow(
        _ session: Session, _ selection: Selection, _ last: inout Int64, _ names: inout OperationNames
    ) throws(Failure) {
        let request = WatchRequest.with { ($0.since, $0.selection) = (last, selection.ifAny) }
        var replies = try session.open(request)
        while let event = try session.speaking({ () throws(ClientError) in try replies.next() })?.event {
            if session.wantsJSON {
                try session.row(event)
            } else {
                let about = try names.about(event, session)
                try session.output.line(line(event, about, session))
            }
            try session.output.flush()
            last = event.seq
        }
    }

    /// Returns an event as a line.
    ///
    /// - Parameter about: Name of the operation, and the cause of its end.
    static func line(
        _ event: EventRow, _ about: OperationNames.About, _ session: Session, host: String? = nil
    ) -> String {
        let style = session.style
        let at = event.at.instant?.text(now: .now) ?? ""
        let standing = Standing(state: event.new ?? "", outcome: event.outcome, notNeeded: event.notNeeded)
        let prefix = host.map { $0 + ":" } ?? ""
        var words = [style(.dim, DisplayWidth.pad("\(event.seq)", 6, toLeft: true)), style(.dim, at)]
        if let id = event.id {
            words.append(style(.bold, prefix + "\(id)") + (event.graph.map { style(.dim, "@\($0)") } ?? ""))
            if let name = about.name { words.append(name) }
        }
        let type = event.outcome == nil || event.type != .finished ? event.type.rawValue : nil
        words.append(
            style(standing.colour, [type, event.outcome?.rawValue].compactMap { $0 }.joined(separator: " ")))
        if let old = event.old, let new = event.new, old != new {
            words.append(style(.dim, "\(old.rawValue)→\(new.rawValue)"))
        }
        if let attempt = event.attempt, attempt > 1 { words.append("attempt \(attempt)") }
        if let product = event.product { words.append("product \(product)") }
        if let schedule = event.schedule {
            words.append("schedule " + prefix + schedule)
            if let nominal = event.nominal.instant { words.append("of " + nominal.text(now: .now)) }
            if let count = event.count, count > 1 { words.append("and \(count - 1) after it") }
            if let graph = event.graph { words.append(graph) }
        } else if let queue = event.queue {
            words.append("queue \(prefix)\(queue)")
        } else if event.id == nil {
            words.append(event.graph.map { "graph \(prefix)\($0)" } ?? "the daemon" + (host.map { " of \($0)" } ?? ""))
        }
        if let cause = about.cause { words.append(cause.printable) }
        // The attempt and the queue are printed already.
        if let detail = event.detail, event.attempt == nil, event.queue == nil { words.append(detail.printable) }
        return words.joined(separator: "  ")
    }
}

/// Names of the operations in events, which contain only ids.
struct OperationNames {
    struct About {
        var name: String?
        var cause: String?
    }

    private var names: [Int64: String?] = [:]
    private static let most = 10_000

    /// Asks the daemon once for each operation, and again after an end without success. An operation that was removed
    /// meanwhile has no name.
    mutating func about(_ event: EventRow, _ session: Session) throws(Failure) -> About {
        guard let id = event.id else { return About() }
        let hasCause = event.type == .finished && event.outcome != nil && event.outcome != .succeeded
        if !hasCause, let known = names[id] { return About(name: known) }
        let row: OperationRow?
        do throws(Failure) {
            row = try session.rows(of: Selection(id)).first
        } catch {
            guard error.status == .notFound else { throw error }
            row = nil
        }
        if names.count >= Self.most { names = [:] }
        names[id] = .some(row?.title)
        return About(name: row?.title, cause: hasCause ? row?.cause : nil)
    }
}
