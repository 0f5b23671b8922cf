internal import OpsModel
internal import OpsWire

/// The reference of graph files, generated from the table of operation keys, as opsd-graph(5) and as Markdown.
struct GraphReference {
    /// A part of a chapter.
    enum Block {
        case paragraph(String)
        case literal(String)
        /// Terms, each with paragraphs.
        case list([(term: String, text: [String])])
    }

    struct Chapter {
        let title: String
        let blocks: [Block]
    }

    static let chapters: [Chapter] =
        [
            Chapter(title: "Files", blocks: files), Chapter(title: "Values", blocks: values),
            Chapter(title: "Defaults", blocks: defaults), Chapter(title: "Placeholders", blocks: placeholders),
            Chapter(title: "Schedules", blocks: schedules),
        ]
        + KeyEntry.Chapter.allCases.map { chapter in
            let keys = OperationKey.allCases.filter { $0.entry.chapter == chapter }
            return Chapter(title: chapter.rawValue, blocks: [.list(keys.map { ($0.text, text(of: $0)) })])
        } + [
            Chapter(title: "Conditions", blocks: conditions), Chapter(title: "Observers", blocks: observers),
            Chapter(title: "Example", blocks: example),
        ]

    private static func text(of key: OperationKey) -> [String] {
        let entry = key.entry
        var kinds: [String] = []
        if entry.traits.contains(.process) { kinds.append("not for groups") }
        if entry.traits.contains(.single) { kinds.append("not in `defaults`") }
        if entry.traits.contains(.editable) { kinds.append("can be changed with opsctl set while the operation waits") }
        let manual = entry.manual
        let options = entry.options.map { "`--\($0.name)`" }.joined(separator: ", ")
        var text = [manual.about[0]]
        text.append("Type: \(entry.form.description). Default: \(manual.fallback).")
        text += manual.about.dropFirst()
        if key == .conditions {
            text.append("The chapter Conditions describes the members.")
        } else {
            text += entry.form.members.map(line)
        }
        var last = kinds.isEmpty ? "" : capital(kinds.joined(separator: "; ")) + ". "
        if !options.isEmpty { last += "Options of opsctl submit: \(options). " }
        return text + ["\(last)Example: `\(manual.example)`"]
    }

    private static func line(_ member: ValueForm.Member) -> String {
        let fallback = member.fallback.map { $0.isEmpty ? "" : "; default: \($0)" } ?? "; required"
        return "`\(member.name)`: \(member.about) (\(member.form.description)\(fallback))"
    }

    private static func capital(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    private static let files: [Block] = [
        .paragraph("opsctl submit with `-f FILE` submits a graph of operations. The file contains an object"),
        .literal(
            "{\"name\": \"...\", \"defaults\": {...}, \"order\": \"...\", \"observers\": {...}, \"schedule\": {...},\n \"operations\": [...]}"
        ),
        .paragraph(
            "or a single operation, or an array of operations, or JSON Lines: one operation per line. The graph is "
                + "submitted whole or not at all. All errors, at most \(Limits.problems), are reported at once, with "
                + "file, line, column, operation and key. Unknown keys are errors. A key whose value is null counts as "
                + "missing."),
        .paragraph(
            "The file is YAML if its name ends in `.yaml` or `.yml`, and JSON if it ends in `.json`, `.jsonl`, "
                + "`.ndjson` or `.jsonc`; `--format` overrides that. Standard input is JSON unless `--format "
                + "yaml` is given. A file with another ending is refused unless it begins with `{` or `[`."),
        .paragraph(
            "YAML follows the core schema of YAML 1.2: `on`, `no` and `22:00` are texts, `012` is the number 12, "
                + "and a text that looks like a number needs quotes. A file is one document. Anchors, aliases "
                + "and merge keys (`<<`) work. Duplicate keys are errors. Aliases expand to at most 64M, and those that "
                + "are keys to at most 1M."),
        .literal(
            """
            name: build
            defaults: {timeout: 10m}
            operations:
              - name: compile
                command: [make, -j8]
              - name: test
                command: [make, test]
                after: [compile]
            """),
        .paragraph("JSON may have comments (`//` and `/* */`) and a comma after the last entry."),
        .paragraph(
            "`name` is the name of the graph. `defaults` contains keys for all operations. `schedule` determines when "
                + "the graph is submitted. `order` (`\"submission\"` or `\"longestPath\"`, see opsctl queue) determines "
                + "which of its operations of equal priority starts first. `operations` lists the operations in any order. A graph has at most \(Limits.operationsPerSubmission) operations and "
                + "\(Limits.edgesPerSubmission) dependencies."),
    ]

    private static let values: [Block] = [
        .list([
            ("duration", ["`\"90s\"`, `\"1h30m\"`, `\"250ms\"`, or a number of seconds; at most a hundred years."]),
            ("instant", ["RFC 3339: `\"2026-12-24T22:00:00+01:00\"`."]),
            ("size", ["`\"64M\"`, `\"2G\"`, or a number of bytes. K, M, G and T are powers of 1024."]),
            ("name", ["1 to \(Limits.nameBytes) letters, digits and `_ . : / -`."]),
            ("path", ["1 to \(Limits.pathBytes) bytes."]),
        ])
    ]

    private static let defaults: [Block] = [
        .paragraph(
            "`defaults` may contain every key that several operations can share. If an operation sets a key itself, the "
                + "default is ignored. Only `environment` and `labels` are merged, entry by entry. A default "
                + "dependency in `after` is left out for the operation that it names, for the operations inside that "
                + "one, and for those that its conditions provide."),
        .paragraph(
            "Groups use only `queue`, `priority` and `labels` from `defaults`, and pass them to their children. "
                + "The other keys apply to operations with a command."),
    ]

    private static let placeholders: [Block] = [
        .paragraph(
            "In the texts of the file, `${NAME}` is a placeholder: the value of `--set NAME=VALUE` replaces it. Names "
                + "consist of letters, digits and `_`, and do not begin with a digit. A placeholder without a value is an "
                + "error. To pass `${NAME}` to a shell, write `$${NAME}`; names that begin with `OPS_`, and other forms "
                + "such as `${NAME:-x}`, are not changed."),
        .literal("{\"name\": \"deploy\", \"shell\": \"./deploy ${VERSION}\"}"),
    ]

    private static let schedules: [Block] = [
        .paragraph(
            "The key `schedule` of the graph determines when the graph is submitted. opsctl schedule apply with `-f FILE` "
                + "adds a schedule with the `name` of the graph, or updates it. `opsctl submit` submits the graph once "
                + "and ignores `schedule`. In the texts of the graph, `${scheduled}` is replaced by the instant of the run, "
                + "and `${scheduledBefore}` by the previous one. With `opsctl submit`, give the values of `${scheduled}`, "
                + "`${scheduledBefore}`, `${file}` and `${event}` with `--set`."),
        .literal(
            "{\"name\": \"nightly\", \"schedule\": {\"at\": \"0 3 * * *\", \"zone\": \"Europe/Berlin\"},\n"
                + " \"operations\": [{\"name\": \"backup\", \"command\": [\"./backup\"]}]}"),
        .list(
            ScheduleKey.allCases.map { key in
                let manual = key.manual
                return (key.rawValue, [manual.about, "Type: \(manual.form). Default: \(manual.fallback)."])
            }),
    ]

    private static let conditions: [Block] = [
        .paragraph(
            "Each condition is an object with one test. Its other members determine what happens if the test is false."),
        .list(
            (OperationKey.conditions.entry.form.members).map { member in
                let fallback = member.fallback.map { $0.isEmpty ? "" : " Default: \($0)." } ?? ""
                return (member.name, [member.about, "Type: \(member.form.description).\(fallback)"])
            }),
        .literal(
            """
            {"name": "import", "command": ["./import"],
             "conditions": [
               {"pathExists": "/srv/in/data.csv", "otherwise": "skip"},
               {"freeSpace": {"path": "/srv", "atLeast": "10G"}, "otherwise": "wait", "every": "1m"},
               {"not": {"window": "08:00-18:00"}, "otherwise": "wait"},
               {"reachable": "db:5432", "provide": {"command": ["start-db"]}}
             ]}
            """),
    ]

    private static let observers: [Block] = [
        .paragraph(
            "An observer runs with the environment of the operation and `OPS_ID`, `OPS_NAME`, `OPS_GRAPH`, "
                + "`OPS_QUEUE`, `OPS_ATTEMPT`, `OPS_SOCKET` and `OPS_EVENT`. `OPS_EVENT` and the standard input contain "
                + "the event as one line of JSON, as opsctl watch prints it with `--json`; the `detail` of an end is "
                + "its cause, which watch does not repeat. An observer may run for 30 seconds; at most four run at "
                + "once."),
        .literal(
            "{\"name\": \"deploy\", \"command\": [\"./deploy\"],\n"
                + " \"observers\": {\"finish\": [\"/bin/sh\", \"-c\", \"jq -r .outcome | wall\"]}}"),
        .paragraph(
            "A graph can have `observers` too, next to `operations`: `finish` runs when all its operations have "
                + "finished, `failure` when the first of them has failed, has timed out or was interrupted. Each "
                + "runs once, even if opsd is restarted; if opsd crashes while one runs, that one may run again. "
                + "They run as the submitter, in the directory and environment of the submission, with "
                + "`OPS_GRAPH`, `OPS_GRAPH_NAME`, `OPS_GRAPH_OUTCOME`, and `OPS_ID` and `OPS_NAME` of the "
                + "operation that failed first, or of any operation of the graph if none failed. If opsctl retry "
                + "reopens a finished graph, they run again. A failure that is retried before the end of the "
                + "graph is not reported again."),
        .literal(
            "{\"name\": \"nightly\", \"operations\": [{\"command\": [\"./backup\"]}],\n"
                + " \"observers\": {\"failure\": [\"notify-team\"], \"finish\": [\"/bin/sh\", \"-c\", \"cat >> ends.jsonl\"]}}"
        ),
    ]

    private static let example: [Block] = [
        .literal(
            """
            {"name": "build",
             "defaults": {"timeout": "10m"},
             "operations": [
               {"name": "compile", "command": ["make", "-j8"]},
               {"name": "test", "command": ["make", "test"], "after": ["compile"]},
               {"name": "alarm", "shell": "echo it is broken",
                "after": [{"op": "test", "when": "failed"}]}
             ]}
            """)
    ]
}

extension ValueForm {
    /// Description of the form in words.
    var description: String {
        switch self {
        case .text(let bytes, _): "text of at most \(Self.bytes(bytes))"
        case .name, .operationName: "name"
        case .path: "path"
        case .boolean: "`true` or `false`"
        case .integer(let range): "integer, \(range.lowerBound) to \(range.upperBound)"
        case .number(let range): "number, \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
        case .duration(let canBeZero): canBeZero ? "duration" : "duration, longer than 0"
        case .time: "instant, or a duration from the submission"
        case .size: "size"
        case .octal: "octal text such as `\"022\"`"
        case .percent: "text such as `\"150%\"`, of one processor"
        case .choice(let words): "one of " + words.map { "`\"\($0)\"`" }.joined(separator: ", ")
        case .map(let entries): "object of at most \(entries) texts"
        case .entries(let form, let entries): "object of at most \(entries) entries, each: \(form.description)"
        case .object, .test: "object"
        case .argumentVector:
            "array of texts, a program and its arguments, of at most \(Self.bytes(Limits.commandBytes))"
        case .list(let element, let range):
            "array of \(range.lowerBound == 0 ? "at most" : "\(range.lowerBound) to") \(range.upperBound), each: \(element.description)"
        case .reference: "name, id, or `NAME@GRAPH`"
        case .operation: "operation"
        case .either(let forms): forms.map(\.description).joined(separator: ", or ")
        }
    }

    private static func bytes(_ count: Int) -> String {
        count < 1024 ? "\(count) bytes" : SizeText.format(Int64(count))
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}

// MARK: - Rendering

extension GraphReference {
    /// docs/graph-files.md.
    static var markdown: String {
        var lines = [
            "# Graph files", "",
            "*This page is generated from the table of operation keys; CONTRIBUTING.md describes how.*",
        ]
        for chapter in chapters {
            lines += ["", "## \(chapter.title)"]
            for block in chapter.blocks {
                switch block {
                case .paragraph(let text): lines += ["", text]
                case .literal(let text):
                    lines += ["", text.hasPrefix("{") ? "```json" : "```yaml", text, "```"]
                case .list(let items):
                    for item in items {
                        lines += ["", "**`\(item.term)`**"]
                        for text in item.text { lines += ["", text] }
                    }
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// opsd-graph(5).
    static var manualPage: ManualPage {
        var lines = [
            ".Dd \(ManualPage.date)", ".Dt OPSD-GRAPH 5", ".Os", ".Sh NAME", ".Nm opsd-graph",
            ".Nd graphs of operations as opsctl submit reads them",
        ]
        for (index, chapter) in chapters.enumerated() {
            lines.append(index == 0 ? ".Sh DESCRIPTION" : ".Sh \(chapter.title.uppercased())")
            for (place, block) in chapter.blocks.enumerated() { lines += request(block, isFirst: place == 0) }
        }
        lines += [".Sh SEE ALSO", ".Xr opsctl-submit 1 ,", ".Xr opsd 8"]
        return ManualPage(section: 5, name: "opsd-graph.5", text: lines.joined(separator: "\n") + "\n")
    }

    private static func request(_ block: Block, isFirst: Bool) -> [String] {
        switch block {
        case .paragraph(let text): return (isFirst ? [] : [".Pp"]) + [roff(text)]
        case .literal(let text):
            return [".Bd -literal -offset indent"] + text.split(separator: "\n").map { ManualPage.escaped(String($0)) }
                + [".Ed"]
        case .list(let items):
            var lines = [".Bl -tag -width successCodes"]
            for item in items {
                lines.append(".It Cm \(item.term)")
                for (place, text) in item.text.enumerated() { lines += (place == 0 ? [] : [".Pp"]) + [roff(text)] }
            }
            return lines + [".El"]
        }
    }

    /// Returns the text with its literals in bold.
    private static func roff(_ text: String) -> String {
        var parts: [String] = []
        for (index, part) in ManualPage.escaped(text).split(separator: "`", omittingEmptySubsequences: false)
            .enumerated()
        {
            parts.append(index % 2 == 0 ? String(part) : "\\fB\(part)\\fR")
        }
        return parts.joined()
    }
}
