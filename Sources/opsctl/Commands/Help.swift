internal import OpsWire

/// `help`: describes all verbs, or one.
enum HelpVerb {
    static let verb = Verb(
        "help", .keeping, "explain a verb, with examples", forms: ["[VERB]"],
        operands: .list(.text, name: "VERB", atLeast: 0, atMost: 2),
        examples: [.init("About submit", "opsctl help submit")],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let words = session.arguments.operands
        guard let first = words.first else {
            try HelpPage.writeOverview(session)
            return .done
        }
        guard var verb = VerbTable.verb(named: first) else {
            throw unknown(first, VerbTable.shown.map(\.name), session)
        }
        var path = verb.name
        if words.count > 1 {
            guard !verb.verbs.isEmpty else {
                throw session.refuse("help takes one verb", "see opsctl help \(verb.name)")
            }
            guard let inner = verb.verb(named: words[1]) else {
                throw unknown(words[1], verb.verbs.map(\.name), session)
            }
            verb = inner
            path += " " + inner.name
        }
        try HelpPage.write(verb, path, session)
        return .done
    }

    private static func unknown(_ word: String, _ names: [String], _ session: Session) -> Failure {
        let near = Nearest.name(to: word, among: names)
        return session.refuse("there is no verb \"\(word)\"", near.map { "did you mean \($0)?" } ?? "see opsctl help")
    }
}
