internal import OpsModel
internal import OpsWire

/// Reads a command line against the table of verbs.
struct Parser {
    private let words: [String]
    private var position = 0
    private var values: [(option: String, value: String)] = []
    private var operands: [String] = []
    private var wantsVersion = false
    /// Refusal of the first value that may contain a placeholder. With `--each` and `--array`, such a value is checked
    /// after the placeholder is replaced.
    private var refusalOfPlaceholder: Failure?
    /// True if the exit status is that of an operation, so that opsctl's own errors use one other status.
    private(set) var isForOperation = false

    /// Reads these words, which do not include the program's name.
    init(_ words: [String]) {
        self.words = words
    }

    mutating func parse() throws(Failure) -> Arguments {
        try readLeadingOptions()
        if wantsVersion { return Arguments(verb: VersionVerb.verb, path: "version", values: values, operands: []) }
        guard position < words.count else {
            if has(.showHelp) { return Arguments(verb: HelpVerb.verb, path: "help", values: [], operands: []) }
            throw .usage("usage", "a verb is missing", "see opsctl help")
        }
        let word = take()
        guard var verb = VerbTable.verb(named: word) else {
            throw unknownVerb(word, among: VerbTable.shown.map(\.name))
        }
        var path = verb.name
        while !verb.verbs.isEmpty {
            // Global options may stand between a verb and its second word.
            try readLeadingOptions()
            if has(.showHelp) { break }
            let inner = position < words.count ? take() : verb.action == nil ? "" : nil
            guard let inner else { break }
            guard let next = verb.verb(named: inner) else {
                throw unknownVerb(inner, of: path, among: verb.verbs.map(\.name))
            }
            verb = next
            path += " " + next.name
        }
        isForOperation = path == "run" || path == "wait" && words.contains("--" + Option.exitCode.name)
        try readOptions(of: verb, path)
        let arguments = Arguments(verb: verb, path: path, values: values, operands: operands)
        if !has(.showHelp) {
            if let refusalOfPlaceholder, !has(.each), !has(.array) { throw refusalOfPlaceholder }
            try check(arguments)
        }
        return arguments
    }

    private func has(_ option: Option) -> Bool { values.contains { $0.option == option.name } }

    private mutating func take() -> String {
        defer { position += 1 }
        return words[position]
    }

    private mutating func readLeadingOptions() throws(Failure) {
        let none = Verb("opsctl", .looking, "", forms: [])
        while position < words.count, words[position].hasPrefix("-"), words[position].utf8.count > 1 {
            if words[position] == "--version" || words[position] == "-V" {
                wantsVersion = true
                return
            }
            if words[position] == "--" {
                position += 1
                return
            }
            try readOption(take(), of: none, "opsctl")
        }
    }

    private mutating func readOptions(of verb: Verb, _ path: String) throws(Failure) {
        while position < words.count {
            let word = take()
            if word == "--" {
                operands += words[position...]
                position = words.count
            } else if word.hasPrefix("-"), word.utf8.count > 1 {
                try readOption(word, of: verb, path)
            } else {
                operands.append(word)
                // All words after the name of a command belong to the command.
                if verb.operands.endWithCommand(after: operands.count) {
                    operands += words[position...]
                    position = words.count
                }
            }
        }
    }

    private mutating func readOption(_ word: String, of verb: Verb, _ path: String) throws(Failure) {
        word.hasPrefix("--") ? try readLong(word, of: verb, path) : try readShort(word, of: verb, path)
    }

    private mutating func readLong(_ word: String, of verb: Verb, _ path: String) throws(Failure) {
        // With a combining character after it, "=" is another `Character`.
        let parts = word.utf8.dropFirst(2)
            .split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let name = parts[0]
        guard let option = verb.option(long: name) else {
            let near = Nearest.name(to: name, among: verb.optionNames)
            throw .usage(path, "unknown option --\(name)", near.map { "did you mean --\($0)?" } ?? Self.seeHelp(path))
        }
        if option.kind == nil {
            guard parts.count == 1 else {
                throw .usage(path, "--\(name) takes no value", "leave \"=\(parts[1])\" away")
            }
            values.append((option.name, ""))
        } else {
            try readValue(of: option, spelled: "--" + name, parts.count == 2 ? parts[1] : nil, path)
        }
    }

    private mutating func readShort(_ word: String, of verb: Verb, _ path: String) throws(Failure) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = verb.option(short: letter) else {
                throw .usage(path, "unknown option -\(letter)", Self.seeHelp(path))
            }
            if option.kind == nil {
                values.append((option.name, ""))
            } else {
                return try readValue(of: option, spelled: "-\(letter)", letters.isEmpty ? nil : String(letters), path)
            }
        }
    }

    private mutating func readValue(
        of option: Option, spelled: String, _ attached: String?, _ path: String
    ) throws(Failure) {
        guard let value = attached ?? (position < words.count ? take() : nil) else {
            throw .usage(path, "\(spelled) needs a value", "write \(spelled) \(option.placeholder)")
        }
        if let refusal = option.refusal(of: value, spelled: spelled, path) {
            guard value.utf8.contains(UInt8(ascii: "{")) else { throw refusal }
            refusalOfPlaceholder = refusalOfPlaceholder ?? refusal
        }
        values.append((option.name, value))
        guard option.takesRest else { return }
        // A `--` before the command is not part of the command.
        if value == "--" { values.removeLast() }
        while position < words.count { values.append((option.name, take())) }
        guard has(option) else {
            throw .usage(path, "\(spelled) needs a value", "write \(spelled) \(option.placeholder)")
        }
    }

    private func check(_ arguments: Arguments) throws(Failure) {
        try refuseContradictions(arguments)
        switch arguments.verb.operands {
        case .none:
            if let extra = operands.first {
                throw .usage(arguments.path, "unexpected \"\(extra)\"", "it takes no arguments")
            }
        case .command: break
        case .nameAndCommand:
            if operands.isEmpty { throw .usage(arguments.path, "NAME is missing", Self.seeHelp(arguments.path)) }
        case .list(let kind, let name, let atLeast, let atMost):
            if operands.count < atLeast {
                throw .usage(arguments.path, "\(name) is missing", Self.seeHelp(arguments.path))
            }
            if operands.count > atMost {
                throw .usage(arguments.path, "unexpected \"\(operands[atMost])\"", Self.seeHelp(arguments.path))
            }
            // With a fixed number of operands only the first is of this kind: the text of a note may be anything.
            for operand in operands.prefix(atLeast == atMost ? 1 : atMost) {
                guard let complaint = kind.complaint(about: operand) else { continue }
                throw .usage(
                    arguments.path, "\(name) is \(complaint), not \"\(operand)\"", Self.seeHelp(arguments.path))
            }
        }
    }

    /// Refuses options that cannot be used together, and a second value of an option that has one value. If the last
    /// one counted, `wait -g A -g B` would not wait for A, and `submit -f A -f B` would not submit A.
    private func refuseContradictions(_ arguments: Arguments) throws(Failure) {
        guard arguments.hasOptions else { return }
        let path = arguments.path
        let hasFilters = arguments.verb.option(long: Option.active.name) != nil
        // Options that describe an operation may be given again, and the last value counts.
        let single: [(option: Option, noun: String)] =
            hasFilters
            ? [(.graph, "graph"), (.queue, "queue"), (.user, "user")]
            : [(.file, "file"), (.array, "range"), (.again, "operation"), (.shell, "command")]
        for (option, noun) in single where arguments.texts(option).count > 1 {
            throw .usage(path, "--\(option.name) is given more than once", "use \(path) once for each \(noun)")
        }
        guard hasFilters else {
            guard arguments.has(.key), arguments.has(.unlessActive) else { return }
            throw .usage(path, "--key and --unless-active cannot be used together", "leave one out")
        }
        // Several states are a union, but several filters are combined with AND.
        if arguments.has(.active), arguments.has(.state) {
            throw .usage(
                path, "--active and --state cannot be used together",
                "leave out --active to select only operations in these states")
        }
        var labels: Set<ExactText> = []
        for label in arguments.texts(.label).compactMap({ Pair($0)?.key })
        where !labels.insert(ExactText(label)).inserted {
            throw .usage(path, "-l \(label) is given more than once", "use \(path) once for each value")
        }
    }

    private func unknownVerb(_ word: String, of path: String = "", among names: [String]) -> Failure {
        let what = path.isEmpty ? word : path
        if word.isEmpty { return .usage(what, "a verb is missing", "one of " + names.joined(separator: ", ")) }
        if path.isEmpty, let meant = Self.synonyms[word] {
            return .usage(what, "unknown verb \"\(word)\"", "did you mean \(meant)?")
        }
        let near = Nearest.name(to: word, among: names)
        return .usage(
            what, "unknown verb \"\(word)\"",
            near.map { "did you mean \($0)?" }
                ?? (path.isEmpty ? "see opsctl help" : "one of " + names.joined(separator: ", ")))
    }

    /// Verbs of other programs, and the verb of opsctl that does the same.
    private static let synonyms = [
        "kill": "cancel", "stop": "cancel, or suspend", "abort": "cancel", "rm": "cancel, or prune",
        "delete": "cancel, or prune", "remove": "cancel, or prune", "add": "submit", "start": "submit, or resume",
        "enqueue": "submit", "batch": "submit", "at": "submit --at TIME", "tail": "log -f", "follow": "log -f",
        "cat": "log", "output": "log", "hold": "suspend", "stash": "suspend", "release": "resume", "unhold": "resume",
        "restart": "retry", "rerun": "retry, or submit --again", "edit": "set", "modify": "set", "jobs": "ls",
        "ps": "ls", "atq": "ls -s scheduled", "squeue": "ls", "history": "ls -a", "approve": "finish",
        "reject": "finish --failed", "info": "show", "describe": "show", "inspect": "show", "clean": "prune",
        "sbatch": "submit", "scancel": "cancel", "notify": "tell",
    ]

    static func seeHelp(_ path: String) -> String {
        path == "opsctl" ? "see opsctl help" : "see opsctl help \(path)"
    }
}

extension Verb.Operands {
    /// Returns true if the last of this many operands begins a command, which includes all words after it.
    func endWithCommand(after count: Int) -> Bool {
        switch self {
        case .command: true
        case .nameAndCommand: count > 1
        case .none, .list: false
        }
    }
}
