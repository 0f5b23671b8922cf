internal import OpsDrawing
internal import OpsWire

/// `stats`: shows how long operations wait and run.
enum StatsVerb {
    private static let timeline = Option.flag(
        "timeline", "draw when operations ran: in the terminal, or as SVG into a file; with --json, list them")
    private static let rows = Option.value(
        "rows", "KIND", .choice(["worker", "operation"]),
        "a row for each worker or operation (default: operation, but worker for more than 60)")

    static let verb = Verb(
        "stats", .looking, "counts, wait and run times, critical path, utilisation",
        forms: ["[SELECTION] [--timeline [--rows worker|operation]]"],
        about: [
            "The critical path is the chain of operations, each of which waited for the one before, with the longest "
                + "sum of run times. opsctl graph --svg and --timeline mark another chain: the last operation to "
                + "finish, the last one it waited for, and so on."
        ],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Drawing", [timeline, rows]), .selection],
        examples: [
            .init("Of a graph", "opsctl stats --graph g7"),
            .init("A chart for a browser", "opsctl stats --graph g7 --timeline > g7.svg"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        if session.arguments.has(timeline) {
            try writeTimeline(session)
            return .done
        }
        guard !session.arguments.has(rows) else {
            throw session.refuse("--rows is for the chart of --timeline", "add --timeline")
        }
        let selection = Selection(session.arguments)
        let stats = try session.call(StatsRequest.with { $0.selection = selection.ifAny }).stats
        if session.wantsJSON {
            try session.output.line(JSONValue.object(stats.members).text)
        } else {
            try write(stats.members, session)
        }
        return .done
    }

    /// Maximum number of operations that get a row each by default.
    private static let mostRows = 60

    private static func writeTimeline(_ session: Session) throws(Failure) {
        var listed: [OperationRow] = []
        try LsVerb.each(session) { listed.append($0) }
        guard !session.wantsJSON else {
            // The chart shows the same operations.
            for row in listed where row.startedAt != nil && !row.isGroup { try session.row(row) }
            return
        }
        let graph = DrawnGraph(title: "timeline", listed)
        let count = listed.count { $0.startedAt != nil && !$0.isGroup }
        let asked = session.arguments.text(rows)
        let now = Instant.now
        let timeline = Timeline(
            title: graph.title, graph.operations,
            rows: asked == "worker" || asked == nil && count > mostRows ? .workers : .operations,
            now: now.nanoseconds,
            critical: Set(graph.longestPath().operations.map { graph.operations[$0].id }))
        func clock(_ nanoseconds: Int64) -> String { Instant(nanoseconds: nanoseconds).text(now: now) }
        guard session.screen.isTerminal else { return try session.output.write(Array(timeline.svg(clock: clock).utf8)) }
        let style = session.style
        for line in timeline.lines(columns: session.screen.columns ?? 80, clock: clock) {
            let parts = line.parts.map { style($0.tone?.colour ?? .dim, $0.text) }.joined()
            try session.output.line(style(.dim, line.name) + " " + parts + " " + line.tail)
        }
    }

    /// Writes all counts of the daemon: plain values first, then nested values under their name.
    private static func write(_ stats: [JSONValue.Member], _ session: Session) throws(Failure) {
        var fields = Fields()
        for member in stats {
            if case .object = member.value { continue }
            fields.add(words(member.key), text(member.value, member.key))
        }
        try fields.write(session)
        for member in stats {
            guard case .object(let members) = member.value else { continue }
            try session.output.line(session.style(.bold, words(member.key)))
            var fields = Fields()
            for inner in members {
                let key = member.key.hasSuffix("Seconds") ? member.key : inner.key
                fields.add("  " + words(inner.key), text(inner.value, key))
            }
            try fields.write(session)
        }
    }

    private static func text(_ value: JSONValue, _ key: String) -> String? {
        switch value {
        case .null: nil
        case .bool(let value): "\(value)"
        case .string(let text): text
        case .array(let elements): elements.compactMap { text($0, key) }.joined(separator: " → ")
        case .object(let members):
            members.compactMap { member in text(member.value, member.key).map { "\(words(member.key)) \($0)" } }
                .joined(separator: ", ")
        case .integer(let value): number(Double(value), key) ?? "\(value)"
        case .double(let value): number(value, key) ?? Decimal.text(value, places: 3)
        }
    }

    /// Returns a number with the unit that its key implies; nil if the key implies none.
    private static func number(_ value: Double, _ key: String) -> String? {
        if key.hasSuffix("Seconds") { return Span(nanoseconds: Int64(value * 1e9)).text }
        return key == "utilisation" ? "\(Decimal.text(value * 100, places: 1))%" : nil
    }

    /// Returns a key in words: `wait` for `waitSeconds`.
    private static func words(_ key: String) -> String {
        if key == "criticalPathSeconds" { return "critical path time" }
        var words = ""
        for character in key.hasSuffix("Seconds") && key.utf8.count > 7 ? String(key.dropLast(7)) : key {
            if character.isUppercase { words += " " + character.lowercased() } else { words.append(character) }
        }
        return words
    }
}
