internal import OpsWire

/// `stats`: how long things wait and run.
enum StatsVerb {
    private static let timeline = Option.flag("timeline", "a Gantt chart of what ran when, as SVG")

    static let verb = Verb(
        "stats", .looking, "counts, percentiles of waiting and running, critical path, utilisation",
        forms: ["[SELECTION] [--timeline]"],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Drawing", [timeline]), .selection],
        examples: [
            .init("Of a graph", "opsctl stats --graph g7"),
            .init("Who ran when, in a browser", "opsctl stats --graph g7 --timeline > g7.svg"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        if session.arguments.has(timeline) {
            var rows: [OperationRow] = []
            try LsVerb.each(session) { rows.append($0) }
            try Timeline(rows, now: .now).write(to: session.output)
            return .done
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

    /// Writes whatever the daemon counts: values first, then what is nested, under its name.
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

    /// Returns a number with the unit that its key names; nil: the key names none.
    private static func number(_ value: Double, _ key: String) -> String? {
        if key.hasSuffix("Seconds") { return Span(nanoseconds: Int64(value * 1e9)).text }
        return key == "utilisation" ? "\(Decimal.text(value * 100, places: 1))%" : nil
    }

    /// `waitSeconds` as people write it.
    private static func words(_ key: String) -> String {
        if key == "criticalPathSeconds" { return "its length" }
        var words = ""
        for character in key.hasSuffix("Seconds") && key.utf8.count > 7 ? String(key.dropLast(7)) : key {
            if character.isUppercase { words += " " + character.lowercased() } else { words.append(character) }
        }
        return words
    }
}
