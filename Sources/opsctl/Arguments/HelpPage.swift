internal import OpsDrawing
internal import OpsModel

/// Help as a terminal shows it.
enum HelpPage {
    private static let widest = 100

    static func writeOverview(_ session: Session) throws(Failure) {
        let style = session.style
        let output = session.output
        try output.line("opsctl: durable job scheduling: dependencies, priorities, mutual exclusion")
        try output.line("")
        try output.line("  opsctl VERB [OPTION...] [OPERATION...]")
        let width = VerbTable.shown.map { $0.name.utf8.count }.max() ?? 0
        for chapter in Verb.Chapter.allCases {
            try output.line("")
            try output.line(style(.bold, chapter.rawValue))
            for verb in VerbTable.shown where verb.chapter == chapter {
                try output.line("  \(style(.cyan, DisplayWidth.pad(verb.name, width)))  \(verb.summary)")
            }
        }
        try output.line("")
        try write(Option.everywhere, session)
        try output.line("")
        try output.line("opsctl help VERB explains a verb, with examples; opsctl man DIR writes the manual pages.")
    }

    static func write(_ verb: Verb, _ path: String, _ session: Session) throws(Failure) {
        let style = session.style
        let output = session.output
        let width = min(session.screen.columns ?? Self.widest, Self.widest)
        try output.line("opsctl \(path): \(verb.summary)")
        try output.line("")
        for form in verb.forms {
            for (index, line) in wrap("opsctl \(path) \(form)", max(20, width - 6)).enumerated() {
                try output.line((index == 0 ? "  " : "      ") + line)
            }
        }
        if !verb.aliases.isEmpty { try output.line("  also: " + verb.aliases.joined(separator: ", ")) }
        for paragraph in verb.about {
            try output.line("")
            for line in wrap(paragraph, width) { try output.line(line) }
        }
        if !verb.verbs.isEmpty {
            try output.line("")
            let innerWidth = verb.verbs.map { $0.name.utf8.count }.max() ?? 0
            for inner in verb.verbs {
                try output.line("  \(style(.cyan, DisplayWidth.pad(inner.name, innerWidth)))  \(inner.summary)")
            }
        }
        for group in verb.groups + [Option.everywhere] {
            try output.line("")
            try write(group, session)
        }
        guard !verb.examples.isEmpty else { return }
        try output.line("")
        try output.line(style(.bold, "Examples"))
        for example in verb.examples {
            try output.line(style(.dim, "  # " + example.says))
            try output.line("  " + example.command)
        }
    }

    private static func write(_ group: OptionGroup, _ session: Session) throws(Failure) {
        try session.output.line(session.style(.bold, group.title))
        let width = min(session.screen.columns ?? widest, widest)
        // A narrow screen has no room for two columns.
        let column = width < 70 ? 8 : 32
        for option in group.options {
            let spelling = "  " + option.spelling
            let lines = wrap(option.about, max(20, width - column))
            let isLong = spelling.utf8.count > column - 2
            if isLong { try session.output.line(session.style(.cyan, spelling)) }
            for (index, line) in lines.enumerated() {
                let left = index == 0 && !isLong ? session.style(.cyan, spelling) : ""
                let space = column - (index == 0 && !isLong ? spelling.utf8.count : 0)
                try session.output.line(left + String(repeating: " ", count: space) + line)
            }
        }
    }

    static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty && line.utf8.count + 1 + word.utf8.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }
}
