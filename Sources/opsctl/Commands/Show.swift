internal import OpsDrawing
internal import OpsWire

/// `show`: shows everything about one operation.
enum ShowVerb {
    static let verb = Verb(
        "show", .looking, "show everything about an operation",
        forms: ["OPERATION..."],
        about: [
            "Name an operation by its id, by its name (the newest one with that name), or as NAME@GRAPH. 7-9 are the "
                + "operations 7, 8 and 9."
        ],
        operands: .some(.operation, "OPERATION"),
        examples: [
            .init("By id", "opsctl show 12"),
            .init("By name in a graph", "opsctl show build@g3"),
            .init("Several operations", "opsctl show 7-9 12"),
            .init("Its outcome, for a program", "opsctl show --json build | jq -r .outcome"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        var shown: Set<Int64> = []
        for ref in try Selection.references(session) {
            let reply = try session.call(ShowRequest.with { $0.ref = ref })
            guard shown.insert(reply.operation.id).inserted else { continue }
            if session.wantsJSON {
                try session.row(OneObject(reply: reply))
            } else {
                if shown.count > 1 { try session.output.line("") }
                try write(reply.operation, reply.details, reply.attempts, session)
            }
        }
        return .done
    }

    /// The operation as one JSON object, with its attempts as a member.
    private struct OneObject: WireRecord {
        var reply = ShowReply()

        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            try reply.operation.visit(&visitor)
            try reply.details.visit(&visitor)
            try visitor.field("attempts", &reply.attempts)
        }
    }

    private static func write(
        _ row: OperationRow, _ details: DetailsRow, _ attempts: [AttemptRow], _ session: Session
    ) throws(Failure) {
        let now = Instant.now
        let standing = row.standing
        let ends = "\(standing.symbol) \(row.id)   \(standing.word)"
        let room = session.screen.columns.map { max(8, $0 - DisplayWidth.of(ends)) } ?? .max
        try session.output.line(
            "\(session.style(standing.colour, standing.symbol)) \(session.style(.bold, "\(row.id)")) "
                + "\(DisplayWidth.fit(row.title, room))  \(session.style(standing.colour, standing.word))")
        var fields = Fields()
        fields.add("cause", row.cause, standing.colour)
        fields.add("command", row.command.map(OperationRow.shown))
        fields.add("directory", row.directory)
        fields.add("graph", row.graphName.map { "\(row.graph) (\($0))" } ?? row.graph)
        fields.add("group", row.group.map(String.init))
        fields.add("produced by", row.producedBy.map(String.init))
        fields.add("queue", row.queue)
        let isRaised = row.effectivePriority != row.priority
        fields.add("priority", "\(row.priority)" + (isRaised ? " (effective \(row.effectivePriority))" : ""))
        let runsAsOther = !details.runAs.isEmpty && details.runAs != row.user
        fields.add("user", runsAsOther ? "\(row.user), runs as \(details.runAs)" : row.user)
        fields.add("executor", details.executor)
        fields.add("job", details.job)
        fields.add("pid", details.pid.map(String.init))
        fields.add("flags", flags(row))
        fields.add("categories", row.categories.map(category).joined(separator: ", "))
        fields.add("labels", row.labelText)
        fields.add("limit", details.limit.map { "\($0) at once" })
        fields.add("timeout", row.timeout)
        fields.add("deadline", row.deadline.map { clock($0, now) })
        fields.add("not before", row.notBefore.map { clock($0, now) })
        addDetails(row, details, to: &fields)
        fields.add("key", row.key)
        fields.add("progress", row.progress.map { ProgressBar.text($0, cells: 20) })
        fields.add("status", row.statusText)
        fields.add("result", row.result)
        fields.add("note", row.note)
        addTimeline(row, attempts, now, to: &fields)
        addUsage(row.usage, to: &fields)
        fields.add("exit", exit(row))
        try fields.write(session)
        try writeDependencies(row.dependencies, session)
        try writeAttempts(attempts, of: row, session, now)
    }

    /// Adds the settings that differ from the defaults.
    private static func addDetails(_ row: OperationRow, _ details: DetailsRow, to fields: inout Fields) {
        let codes = details.successCodes.map(String.init).joined(separator: ", ")
        let files = [details.stdout, details.stderr == details.stdout ? nil : details.stderr].compactMap { $0 }
        fields.add("retry", details.retry.map(text))
        fields.add("grace", details.grace == "10s" ? nil : details.grace)
        fields.add("success codes", codes == "0" ? nil : codes)
        fields.add("leftovers", details.leftovers == "kill" ? nil : details.leftovers)
        fields.add("qos", details.qos)
        fields.add("limits", details.limits.map(text))
        fields.add("secrets", details.secrets.map(text))
        fields.add(
            "output", details.output == "log" ? nil : files.isEmpty ? details.output : files.joined(separator: ", "))
        fields.add("input", details.stdin)
        fields.add("umask", details.umask)
        for condition in details.conditions { fields.add("condition", text(condition)) }
        for observer in details.observers?.members ?? [] { fields.add("on " + observer.key, observer.value.text) }
    }

    /// Returns an object in readable form: `limit 3, backoff "1s"`.
    private static func text(_ object: JSONObject) -> String {
        object.members.map { "\($0.key) \($0.value.text)" }.joined(separator: ", ")
    }

    private static func flags(_ row: OperationRow) -> String {
        var flags: [String] = []
        if row.held { flags.append("held") }
        if row.frozen { flags.append("frozen") }
        if row.cancelling { flags.append("cancelling") }
        if row.barrier { flags.append("barrier") }
        if row.isGroup { flags.append("group") }
        if row.completion == "notify" { flags.append("completion: notify") }
        return flags.joined(separator: ", ")
    }

    static func category(_ use: CategoryUseRow) -> String {
        let text =
            switch use.mode {
            case .exclusive: use.name + " (exclusive)"
            case .shared: use.name + " (shared)"
            case .units: use.units == 1 ? use.name : "\(use.name) (\(use.units) units)"
            }
        return use.assigned.isEmpty ? text : "\(text): \(use.assigned.joined(separator: " "))"
    }

    private static func clock(_ text: String, _ now: Instant) -> String {
        Instant.rfc3339(text)?.text(now: now) ?? text
    }

    private static func addTimeline(
        _ row: OperationRow, _ attempts: [AttemptRow], _ now: Instant, to fields: inout Fields
    ) {
        fields.add("submitted", row.submittedAt.instant?.text(now: now))
        fields.add("ready", row.readyAt.instant?.text(now: now))
        let isWaiting = attempts.last.map { !row.hasStarted($0) } ?? false
        let begun = attempts.filter { row.hasStarted($0) }
        let started = row.startedAt.instant
        if let started {
            let waited = waited(row, begun, until: started).map { " (after \($0.text))" } ?? ""
            fields.add("started", started.text(now: now) + waited)
        }
        let ran = attemptEnd(row, begun).flatMap { end in started.map { (end - $0).text } }
        if let finished = row.finishedAt.instant {
            fields.add("finished", finished.text(now: now) + (ran.map { " (ran \($0))" } ?? ""))
        } else if row.state == .executing, !isWaiting, let started {
            fields.add("runs", "for \((now - started).text)")
        } else {
            // Another attempt follows, or waits in the engine of its executor.
            fields.add("ran", ran)
        }
    }

    /// Returns the end of the latest attempt, among those that have started. Its operation ends later if it is
    /// cancelled during a back-off, or if it has children.
    private static func attemptEnd(_ row: OperationRow, _ attempts: [AttemptRow]) -> Instant? {
        [attempts.last?.finishedAt.instant, row.finishedAt.instant].compactMap { $0 }.min()
    }

    /// Returns how long the latest attempt waited: since the submission, its start time, or the end of its back-off.
    /// Nil: the row has the times of the next attempt already.
    private static func waited(_ row: OperationRow, _ attempts: [AttemptRow], until started: Instant) -> Span? {
        guard row.state == .executing || row.state == .finished else { return nil }
        let isRepeated = attempts.count > 1
        guard let begun = isRepeated ? row.readyAt.instant : row.submittedAt.instant, !isRepeated || begun <= started
        else { return nil }
        let due = max(begun, row.notBefore.instant ?? begun)
        return started > due ? started - due : Span(nanoseconds: 0)
    }

    private static func addUsage(_ usage: UsageRow?, to fields: inout Fields) {
        guard let usage else { return }
        let user = Decimal.text(usage.userSeconds, places: 2)
        let system = Decimal.text(usage.systemSeconds, places: 2)
        fields.add("cpu", "\(user)s user, \(system)s system")
        fields.add("memory peak", ByteCount.text(usage.maxResidentBytes))
    }

    private static func exit(_ row: OperationRow) -> String? {
        if let signal = row.signal { return "signal \(signal)" }
        return row.exitCode.map { "code \($0)" }
    }

    private static func writeDependencies(_ dependencies: [DependencyRow], _ session: Session) throws(Failure) {
        guard !dependencies.isEmpty else { return }
        try session.output.line(session.style(.bold, "after"))
        for dependency in dependencies {
            let mark = dependency.satisfied ? session.style(.green, "✓") : session.style(.dim, "·")
            try session.output.line("  \(mark) \(dependency.id) \(requirement(dependency))")
        }
    }

    /// Returns the state that a dependency has reached, or must reach.
    private static func requirement(_ dependency: DependencyRow) -> String {
        let isMet = dependency.satisfied
        return switch dependency.when {
        case .succeeded: isMet ? "has succeeded" : "must succeed"
        case .finished: isMet ? "has finished" : "must finish"
        case .failed: isMet ? "has failed" : "must fail"
        case .started: isMet ? "has started" : "must start"
        }
    }

    /// Returns the cause of an attempt's end, and the values that grow with each attempt.
    private static func ending(_ attempt: AttemptRow) -> String {
        let scaled = attempt.scaled?.members.map { member in
            guard case .integer(let size) = member.value, ["memory", "Size"].contains(where: member.key.hasSuffix)
            else {
                return "\(member.key) \(member.value.text)"
            }
            return "\(member.key) \(SizeText.format(size))"
        }
        return ([attempt.cause].compactMap { $0 } + (scaled ?? [])).joined(separator: ", ")
    }

    /// Returns whether the latest attempt has ended and its operation has not, or has ended later.
    private static func hasEndedAlone(_ attempts: [AttemptRow], _ row: OperationRow) -> Bool {
        guard let ended = attempts.last?.finishedAt.instant else { return false }
        return row.finishedAt.instant.map { $0 > ended } ?? true
    }

    private static func writeAttempts(
        _ attempts: [AttemptRow], of row: OperationRow, _ session: Session, _ now: Instant
    ) throws(Failure) {
        guard attempts.count > 1 || hasEndedAlone(attempts, row) else { return }
        try session.output.line(session.style(.bold, "attempts"))
        var table = Table(
            [.init("", right: true), .init(""), .init("", right: true), .init(""), .init("", elastic: true)],
            style: session.style, columns: session.screen.columns, hasHeadings: false)
        for attempt in attempts {
            let started = row.hasStarted(attempt) ? attempt.startedAt.instant : nil
            let standing = Standing(state: .executing, outcome: attempt.outcome)
            let ran = started.map { ((attempt.finishedAt.instant ?? now) - $0).text } ?? ""
            try table.add(
                [
                    .init("  \(attempt.attempt)", .bold), .init(standing.text, standing.colour), .init(ran),
                    .init(started?.text(now: now) ?? ""), .init(ending(attempt).printable),
                ], to: session.output)
        }
        try table.finish(session.output)
    }
}
