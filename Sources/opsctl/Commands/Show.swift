internal import OpsWire

/// `show`: all about one operation on a screen.
enum ShowVerb {
    static let verb = Verb(
        "show", .looking, "all about one operation",
        forms: ["OPERATION..."],
        about: ["An operation is its id, the name of the newest one that bears it, or NAME@GRAPH."],
        operands: .some(.operation, "OPERATION"),
        examples: [
            .init("By id", "opsctl show 12"),
            .init("By name in a graph", "opsctl show build@g3"),
            .init("How it ended, for a program", "opsctl show --json build | jq -r .outcome"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        for (index, ref) in session.arguments.operands.enumerated() {
            let reply = try session.call("Show") { $0.member("ref", ref) }
            guard let operation = reply["operation"] else { continue }
            if session.wantsJSON {
                try session.row { object in
                    for (key, value) in operation.members { object.member(key, raw: value.raw) }
                    object.member("attempts", raw: reply["attempts"]?.raw ?? ArraySlice("[]".utf8))
                }
            } else {
                if index > 0 { try session.output.line("") }
                try write(operation, reply["attempts"]?.elements ?? [], session)
            }
        }
        return .done
    }

    private static func write(_ view: JSONView, _ attempts: [JSONView], _ session: Session) throws(Failure) {
        let row = OperationRow(view)
        let now = Instant.now
        let standing = row.standing
        let ends = "\(standing.symbol) \(row.id)   \(standing.word)"
        let room = session.screen.columns.map { max(8, $0 - DisplayWidth.of(ends)) } ?? .max
        try session.output.line(
            "\(session.style(standing.colour, standing.symbol)) \(session.style(.bold, "\(row.id)")) "
                + "\(DisplayWidth.fit(row.title, room))  \(session.style(standing.colour, standing.word))")
        var fields = Fields()
        fields.add("cause", row.cause, standing.colour)
        fields.add("command", row.command.isEmpty ? nil : OperationRow.shown(row.command))
        fields.add("directory", view["directory"]?.text)
        fields.add("graph", row.graphName.map { "\(row.graph) (\($0))" } ?? row.graph)
        fields.add("group", row.group.map(String.init))
        fields.add("produced by", view["producedBy"]?.integer.map(String.init))
        fields.add("queue", row.queue)
        let isRaised = row.effectivePriority != row.priority
        fields.add("priority", "\(row.priority)" + (isRaised ? " (effective \(row.effectivePriority))" : ""))
        fields.add("user", row.user)
        fields.add("flags", flags(view, row))
        fields.add("categories", (view["categories"]?.elements ?? []).map(category).joined(separator: ", "))
        fields.add("labels", row.labels.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
        fields.add("timeout", view["timeout"]?.text)
        fields.add("deadline", view["deadline"]?.text.map { clock($0, now) })
        fields.add("not before", view["notBefore"]?.text.map { clock($0, now) })
        fields.add("key", view["key"]?.text)
        fields.add("progress", row.progress.map { ProgressBar.text(done: $0.done, total: $0.total, cells: 20) })
        fields.add("says", row.statusText)
        fields.add("result", view["result"]?.text)
        fields.add("note", view["note"]?.text)
        addTimeline(row, now, to: &fields)
        addUsage(view["usage"], to: &fields)
        fields.add("exit", exit(row))
        try fields.write(session)
        try writeDependencies(view, session)
        try writeAttempts(attempts, session, now)
    }

    private static func flags(_ view: JSONView, _ row: OperationRow) -> String {
        var flags: [String] = []
        if row.isHeld { flags.append("held") }
        if row.isFrozen { flags.append("frozen") }
        if row.isCancelling { flags.append("cancelling") }
        if view["barrier"]?.flag ?? false { flags.append("barrier") }
        if row.isGroup { flags.append("group") }
        if view["completion"]?.text == "notify" { flags.append("ends when it says so") }
        return flags.joined(separator: ", ")
    }

    static func category(_ use: JSONView) -> String {
        let name = use["name"]?.text ?? ""
        switch use["mode"]?.text {
        case "exclusive"?: return name + " (exclusive)"
        case "shared"?: return name + " (shared)"
        default:
            let units = use["units"]?.integer ?? 1
            return units == 1 ? name : "\(name) (\(units) units)"
        }
    }

    private static func clock(_ text: String, _ now: Instant) -> String {
        Instant.rfc3339(text)?.text(now: now) ?? text
    }

    private static func addTimeline(_ row: OperationRow, _ now: Instant, to fields: inout Fields) {
        fields.add("submitted", row.submittedAt?.text(now: now))
        fields.add("ready", row.readyAt?.text(now: now))
        if let started = row.startedAt {
            let waited = row.submittedAt.map { " (after \((started - $0).text))" } ?? ""
            fields.add("started", started.text(now: now) + waited)
        }
        if let finished = row.finishedAt {
            fields.add(
                "finished", finished.text(now: now) + (row.startedAt.map { " (ran \((finished - $0).text))" } ?? ""))
        } else if let started = row.startedAt {
            fields.add("runs", "for \((now - started).text)")
        }
    }

    private static func addUsage(_ usage: JSONView?, to fields: inout Fields) {
        guard let usage else { return }
        let user = Decimal.text(usage["userSeconds"]?.number ?? 0, places: 2)
        let system = Decimal.text(usage["systemSeconds"]?.number ?? 0, places: 2)
        fields.add(
            "used",
            "\(user)s user, \(system)s system, \(ByteCount.text(usage["maxResidentBytes"]?.integer ?? 0)) at most")
    }

    private static func exit(_ row: OperationRow) -> String? {
        if let signal = row.signal { return "signal \(signal)" }
        return row.exitCode.map { "status \($0)" }
    }

    private static func writeDependencies(_ view: JSONView, _ session: Session) throws(Failure) {
        let dependencies = view["dependencies"]?.elements ?? []
        guard !dependencies.isEmpty else { return }
        try session.output.line(session.style(.bold, "after"))
        for dependency in dependencies {
            let isSatisfied = dependency["satisfied"]?.flag ?? false
            let mark = isSatisfied ? session.style(.green, "✓") : session.style(.dim, "·")
            let id = dependency["id"]?.integer ?? 0
            try session.output.line("  \(mark) \(id) \(dependency["when"]?.text ?? "")")
        }
    }

    private static func writeAttempts(_ attempts: [JSONView], _ session: Session, _ now: Instant) throws(Failure) {
        guard attempts.count > 1 else { return }
        try session.output.line(session.style(.bold, "attempts"))
        var table = Table(
            [.init("", right: true), .init(""), .init("", right: true), .init(""), .init("", elastic: true)],
            style: session.style, columns: session.screen.columns, hasHeadings: false)
        for attempt in attempts {
            let started = attempt["startedAt"]?.instant
            let finished = attempt["finishedAt"]?.instant
            let standing = Standing(state: "executing", outcome: attempt["outcome"]?.text)
            let ran = started.map { ((finished ?? now) - $0).text } ?? ""
            try table.add(
                [
                    .init("  \(attempt["attempt"]?.integer ?? 0)", .bold), .init(standing.text, standing.colour),
                    .init(ran),
                    .init(started?.text(now: now) ?? ""), .init((attempt["cause"]?.text ?? "").printable),
                ], to: session.output)
        }
        try table.finish(session.output)
    }
}
