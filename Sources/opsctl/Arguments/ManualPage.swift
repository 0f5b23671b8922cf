internal import OpsModel

/// Manual pages in mdoc, generated from the same descriptions as help.
struct ManualPage {
    var section = 1
    let name: String
    let text: String

    static let date = "November 21, 2026"

    /// opsctl(1), a page for every verb, and opsd-graph(5).
    static func all() -> [ManualPage] {
        [overview()] + VerbTable.shown.map(page) + [GraphReference.manualPage]
    }

    private static func overview() -> ManualPage {
        var lines = head("opsctl", "control operations of opsd")
        lines += [".Sh SYNOPSIS", ".Nm", ".Ar verb", ".Op Ar option ...", ".Op Ar operation ..."]
        lines += [".Sh DESCRIPTION", ".Nm"]
        lines.append(
            escaped(
                "submits operations to opsd, a scheduler with dependencies, priorities and mutual exclusion, and shows and controls them. Every verb has its own page, opsctl-VERB(1)."
            ))
        for chapter in Verb.Chapter.allCases {
            lines += [".Ss \(chapter.rawValue)", ".Bl -tag -width category -compact"]
            for verb in VerbTable.shown where verb.chapter == chapter {
                lines += [".It Cm \(verb.name)", escaped(verb.summary)]
            }
            lines.append(".El")
        }
        lines += [
            ".Ss Operations",
            escaped(
                "Operations are named by id (12), by a range of ids (10-20), by name (build: the newest operation of "
                    + "that name) or by name and graph (build@g3). A name means an operation or a graph of yours, and "
                    + "one of another user only if you have none of that name. A name such as 1990-1995 is a range of "
                    + "ids; 1990-1995@g3 is the operation."),
        ]
        lines += [".Sh OPTIONS"] + options(Option.everywhere.options)
        lines += [".Sh ENVIRONMENT", ".Bl -tag -width XDG_RUNTIME_DIR"]
        lines += [".It Ev OPS_SOCKET", "Socket of the daemon, unless", ".Fl -socket", "names it."]
        lines += [
            ".It Ev XDG_RUNTIME_DIR", "Directory with the socket of the user's own daemon:", ".Pa opsd/control.sock .",
        ]
        lines += [".It Ev OPS_HOST", "Hosts whose daemons are called, unless", ".Fl -host", "names them."]
        lines += [".It Ev OPS_SSH", "Command to use instead of ssh."]
        lines += [".It Ev TZ", "Time zone of instants that are given and shown."]
        lines += [".It Ev NO_COLOR", "No colours.", ".El"]
        lines += exitStatus()
        lines += [".Sh SEE ALSO"]
        lines +=
            VerbTable.shown.map(\.name).sorted().map { ".Xr opsctl-\($0) 1 ," } + [
                ".Xr opsd-graph 5 ,", ".Xr opsd.conf 5 ,", ".Xr opsd 8",
            ]
        return ManualPage(name: "opsctl.1", text: lines.joined(separator: "\n") + "\n")
    }

    private static func page(_ verb: Verb) -> ManualPage {
        let title = "opsctl-\(verb.name)"
        var lines = head(title, verb.summary)
        lines.append(".Sh SYNOPSIS")
        for (index, form) in verb.forms.enumerated() {
            if index > 0 { lines.append(".Pp") }
            lines += [".Nm opsctl Cm \(verb.name)", escaped(form)].filter { !$0.isEmpty }
        }
        lines += [".Sh DESCRIPTION", escaped(sentence(verb.summary))]
        for paragraph in verb.about { lines += [".Pp", escaped(paragraph)] }
        if !verb.aliases.isEmpty { lines += [".Pp", escaped("Also: " + verb.aliases.joined(separator: ", ") + ".")] }
        for inner in verb.verbs { lines += subverb(inner, of: verb) }
        for group in verb.groups + [Option.everywhere] { lines += [".Ss \(group.title)"] + options(group.options) }
        lines += exitStatus()
        if !verb.examples.isEmpty {
            lines.append(".Sh EXAMPLES")
            for example in verb.examples {
                lines += [
                    escaped(example.says + ":"), ".Bd -literal -offset indent", escaped(example.command), ".Ed", ".Pp",
                ]
            }
            lines.removeLast()
        }
        lines += [".Sh SEE ALSO", ".Xr opsctl 1"]
        return ManualPage(name: title + ".1", text: lines.joined(separator: "\n") + "\n")
    }

    private static func subverb(_ verb: Verb, of outer: Verb) -> [String] {
        var lines = [".Ss \(outer.name) \(verb.name)", escaped(sentence(verb.summary))]
        for form in verb.forms { lines += [".Pp", escaped("opsctl \(outer.name) \(verb.name) \(form)")] }
        for group in verb.groups { lines += options(group.options) }
        return lines
    }

    private static func head(_ name: String, _ about: String) -> [String] {
        [".Dd \(date)", ".Dt \(name.uppercased()) 1", ".Os", ".Sh NAME", ".Nm \(name)", ".Nd \(escaped(about))"]
    }

    private static func options(_ options: [Option]) -> [String] {
        var lines = [".Bl -tag -width indent"]
        for option in options {
            var item = ".It"
            if let short = option.short { item += " Fl \(short) ," }
            item += " Fl -\(option.name)"
            if option.kind != nil { item += " Ar \(argument(option.placeholder))" }
            lines += [item, escaped(sentence(option.about))]
        }
        return lines + [".El"]
    }

    /// Returns a text as one argument of a macro, with its special characters escaped.
    private static func argument(_ text: String) -> String {
        let text = escaped(text)
        return text.contains(" ") || text.utf8.count <= 2 ? "\"\(text)\"" : text
    }

    private static func exitStatus() -> [String] {
        let statuses = [
            ("0", "Done; for wait, all succeeded."), ("1", "Done, but an operation did not succeed."), ("2", "Usage."),
            ("3", "The daemon cannot be reached."), ("4", "Not found."),
            ("5", "Refused: state, permission, cycle, or an invalid graph."),
            ("6", "Storage is unavailable."),
            ("7", "Timed out waiting."),
        ]
        var lines = [".Sh EXIT STATUS", ".Bl -tag -width indent -compact"]
        for (status, about) in statuses { lines += [".It \(status)", escaped(about)] }
        return lines + [
            ".El", ".Pp",
            escaped(
                "run, and wait with --exit-code, exit with the operation's own status, 128+n for a signal, 124 if it "
                    + "timed out, 127 if the program was not found, 126 if it could not be executed, and 125 for "
                    + "errors of opsctl itself."
            ),
        ]
    }

    private static func sentence(_ text: String) -> String {
        let capital = text.prefix(1).uppercased() + text.dropFirst()
        return capital.hasSuffix(".") ? capital : capital + "."
    }

    /// Returns the text with everything escaped that roff would take for a request; each sentence begins on a new line.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "\"": escaped += "\\(dq"
            default: escaped.append(character)
            }
        }
        if let first = escaped.first, first == "." || first == "'" { escaped = "\\&" + escaped }
        var lines = ""
        for (index, sentence) in escaped.split(separator: ". ", omittingEmptySubsequences: false).enumerated() {
            lines += (index == 0 ? "" : ".\n") + sentence
        }
        return lines
    }
}
