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
            try LsVerb.each(session) { (view) throws(Failure) in rows.append(OperationRow(view)) }
            try Timeline(rows, now: .now).write(to: session.output)
            return .done
        }
        let selection = Selection(session.arguments)
        let reply = try session.call("Stats") { selection.member(of: &$0) }
        guard let stats = reply["stats"] else { return .done }
        if session.wantsJSON {
            try session.row(stats)
        } else {
            try write(stats, session)
        }
        return .done
    }

    /// Whatever the daemon counts: values first, then what is nested, under its name.
    private static func write(_ stats: JSONView, _ session: Session) throws(Failure) {
        var fields = Fields()
        for (key, value) in stats.members where !value.isObject { fields.add(words(key), text(value, key)) }
        try fields.write(session)
        for (key, value) in stats.members where value.isObject {
            try session.output.line(session.style(.bold, words(key)))
            var fields = Fields()
            for (inner, value) in value.members {
                fields.add("  " + words(inner), text(value, key.hasSuffix("Seconds") ? key : inner))
            }
            try fields.write(session)
        }
    }

    private static func text(_ value: JSONView, _ key: String) -> String? {
        if let text = value.text { return text }
        if value.isArray { return value.elements.compactMap { text($0, key) }.joined(separator: " → ") }
        if value.isObject {
            return value.members.compactMap { member in
                text(member.value, member.key).map { "\(words(member.key)) \($0)" }
            }.joined(separator: ", ")
        }
        if key.hasSuffix("Seconds"), let number = value.number { return Span(nanoseconds: Int64(number * 1e9)).text }
        if key == "utilisation", let number = value.number { return "\(Decimal.text(number * 100, places: 1))%" }
        if let integer = value.integer { return "\(integer)" }
        if let number = value.number { return Decimal.text(number, places: 3) }
        return value.isNull ? nil : String(decoding: value.raw, as: UTF8.self)
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
