internal import OpsWire

/// Candidates for the next word of a command line, for the shells' completion.
struct Candidates {
    struct Word {
        let text: String
        let about: String
    }

    private let session: Session
    /// The words so far without the program's name; the last one is being typed.
    private let typed: [String]

    init(_ session: Session, _ words: [String]) {
        self.session = session
        typed = words.isEmpty ? [""] : words
    }

    private var current: String { typed[typed.count - 1] }

    /// Returns the candidates; nil if the next word is a file, which the shell completes itself.
    func words() -> [Word]? {
        var verb: Verb?
        var operands = 0
        var pending: Option?
        var isPlain = false
        for word in typed.dropLast() {
            if let option = pending {
                if !option.takesRest { pending = nil }
            } else if isPlain {
                operands += 1
            } else if word == "--" {
                isPlain = true
            } else if word.hasPrefix("-") {
                pending = option(word, of: verb)
            } else if let outer = verb {
                if outer.verbs.isEmpty {
                    operands += 1
                    isPlain = outer.operands.endWithCommand(after: operands)
                } else {
                    verb = outer.verb(named: word) ?? outer
                }
            } else if let named = VerbTable.verb(named: word) {
                verb = named
            } else {
                return []
            }
        }
        if let pending {
            return pending.name == Option.host.name
                ? listed { _ in KnownHosts.names } : values(of: pending.kind ?? .text)
        }
        guard let verb else {
            return filtered(
                (current.hasPrefix("-") ? options(nil) : VerbTable.shown.map { Word(text: $0.name, about: $0.summary) })
            )
        }
        if !isPlain, current.hasPrefix("--"), let equals = current.firstIndex(of: "="),
            let option = option(String(current[..<equals]), of: verb)
        {
            return attached(option, String(current[...equals]))
        }
        if !isPlain, current.hasPrefix("-") { return filtered(options(verb)) }
        if !verb.verbs.isEmpty { return filtered(verb.verbs.map { Word(text: $0.name, about: $0.summary) }) }
        return operand(of: verb, operands)
    }

    private func operand(of verb: Verb, _ operands: Int) -> [Word]? {
        if verb.name == HelpVerb.verb.name || verb.name == CompletionVerb.verb.name {
            let names = verb.name == HelpVerb.verb.name ? VerbTable.shown.map(\.name) : CompletionVerb.shells
            return operands == 0 ? filtered(names.map { Word(text: $0, about: "") }) : []
        }
        switch verb.operands {
        case .none: return []
        case .command, .nameAndCommand: return nil
        case .list(let kind, _, _, let atMost): return operands < atMost ? values(of: kind) : []
        }
    }

    private func option(_ word: String, of verb: Verb?) -> Option? {
        let verb = verb ?? VersionVerb.verb
        let option =
            word.hasPrefix("--")
            ? verb.option(long: String(word.dropFirst(2))) : word.last.flatMap { verb.option(short: $0) }
        return option?.kind == nil ? nil : option
    }

    private func options(_ verb: Verb?) -> [Word] {
        ((verb?.groups ?? []) + [Option.everywhere]).flatMap { group in
            group.options.map { Word(text: "--" + $0.name, about: $0.help) }
        }
    }

    private func filtered(_ words: [Word]) -> [Word] {
        words.filter { $0.text.hasPrefix(current) }
    }

    private func attached(_ option: Option, _ prefix: String) -> [Word]? {
        let inner = Candidates(session, [String(current.dropFirst(prefix.count))])
        return inner.values(of: option.kind ?? .text)?.map { Word(text: prefix + $0.text, about: $0.about) }
    }

    private func values(of kind: ValueKind) -> [Word]? {
        switch kind {
        case .choice(let words): return filtered(words.map { Word(text: $0, about: "") })
        case .choices(let words): return listed { _ in words }
        case .operation: return listed { names(.operation, $0) }
        case .graph: return names(.graph, current).map { Word(text: $0, about: "") }
        case .queue: return names(.queue, current).map { Word(text: $0, about: "") }
        case .category: return names(.category, current).map { Word(text: $0, about: "") }
        case .file, .directory, .command: return nil
        case .orNone(let kind): return values(of: kind)
        case .text, .integer, .number, .duration, .time, .past, .size, .keyValue: return []
        }
    }

    /// Completes the last of several words that are separated by commas.
    private func listed(_ known: (String) -> [String]) -> [Word] {
        let start = current.lastIndex(of: ",").map { current.index(after: $0) } ?? current.startIndex
        let last = String(current[start...])
        return known(last).filter { $0.hasPrefix(last) }.map { Word(text: current[..<start] + $0, about: "") }
    }

    /// Returns a session with the daemon that the words name.
    private func asked() throws(Failure) -> Session {
        var words: [String] = []
        for (index, word) in typed.dropLast().enumerated() {
            for option in [Option.host, Option.socket] {
                let long = "--" + option.name
                if word == long, index + 1 < typed.count - 1 { words += [long, typed[index + 1]] }
                if word.hasPrefix(long + "=") { words.append(word) }
            }
        }
        if words.isEmpty { return session }
        var parser = Parser(words + [session.arguments.path])
        return try Session(try parser.parse())
    }

    /// Returns the names of this kind; none if no daemon answers, because completion prints no errors.
    private func names(_ kind: CompletionKind, _ prefix: String) -> [String] {
        do throws(Failure) {
            return try asked().call(CompleteRequest.with { ($0.kind, $0.prefix) = (kind, prefix) }).words
        } catch {
            return []
        }
    }
}
