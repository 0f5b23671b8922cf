internal import Glibc
internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// Keys of an operation, taken from the options of `submit`, `run` and `set`.
struct OperationKeys {
    let arguments: Arguments
    /// Ids of the names that options mention.
    var ids: [String: Int64] = [:]
    /// Destination of the output if no option names one.
    var output: String?
    /// Path of the standard input if no option names one.
    var input: String?

    /// Writes the members of the operation's object, except command, name and environment, which the caller writes.
    func write(to text: inout JSONWriter) throws(Failure) {
        if !arguments.hasOptions {
            // To find the name of a key takes time, which the usual submission saves.
            if let input { text.member(OperationKey.stdin.text, input) }
            if let output { try writeOutput(output, to: &text) }
            return
        }
        try write(OperationKey.allCases, \.options, to: &text)
    }

    /// Writes the members that several operations can share.
    func writeShared(to text: inout JSONWriter) throws(Failure) {
        try write(OperationKey.allCases.filter { !Self.ofStart.contains($0) }, \.options, to: &text)
    }

    /// Writes the keys for the start of an operation. In a graph, they apply only to its roots.
    func writeStart(to text: inout JSONWriter) throws(Failure) {
        try write(Self.ofStart, \.options, to: &text)
    }

    private static let ofStart: [OperationKey] = [.after, .held, .notBefore]

    /// Writes the changes for `set`.
    func writeEdits(to text: inout JSONWriter) throws(Failure) {
        try write(OperationKey.allCases, \.editOptions, to: &text)
    }

    private func write(
        _ keys: [OperationKey], _ options: (KeyEntry) -> [Option], to text: inout JSONWriter
    ) throws(Failure) {
        for key in keys {
            let given = options(key.entry).filter { arguments.has($0) }
            if given.isEmpty {
                if key == .output, let output { try writeOutput(output, to: &text) }
                if key == .stdin, let input { text.member(key.text, input) }
            } else if given.contains(where: { $0.member != nil }) {
                try write(object: key, given, to: &text)
            } else if given.count > 1, given[0].encoding == .time {
                let names = given.map { "--\($0.name)" }.joined(separator: " and ")
                throw .usage(arguments.path, "\(names) both set the time", "give one of them")
            } else if try !writeNone(key.text, given[0], to: &text) {
                try write(key, given[0], to: &text)
            }
        }
    }

    /// Removes the value if the option is `none`.
    private func writeNone(_ name: String, _ option: Option, to text: inout JSONWriter) throws(Failure) -> Bool {
        guard case .orNone = option.kind, arguments.text(option) == "none" else { return false }
        text.key(name)
        text.null()
        return true
    }

    /// Writes a key whose members have options of their own. An edit may have any of them.
    private func write(object key: OperationKey, _ given: [Option], to text: inout JSONWriter) throws(Failure) {
        let required = key.entry.options[0]
        if given[0].name != required.name, arguments.verb.name != "set" {
            throw .usage(
                arguments.path, "--\(given[0].name) says how to \(required.name), but not how often",
                "add --\(required.name) \(required.placeholder)")
        }
        if given[0].name == required.name, try writeNone(key.text, given[0], to: &text) {
            if given.count == 1 { return }
            throw .usage(
                arguments.path, "--\(required.name) none and --\(given[1].name) contradict each other",
                "give one of them")
        }
        text.key(key.text)
        text.beginObject()
        for option in given {
            let name = option.member ?? key.text
            if try !writeNone(name, option, to: &text) { try write(value: option, as: name, to: &text) }
        }
        text.endObject()
    }

    private func write(_ key: OperationKey, _ option: Option, to text: inout JSONWriter) throws(Failure) {
        guard option.encoding == .special else { return try write(value: option, as: key.text, to: &text) }
        switch key {
        case .command: writeCommand(option, to: &text)
        case .priority: try writePriority(to: &text)
        case .after: try writeEdges(to: &text)
        case .categories: try writeCategories(to: &text)
        case .conditions: try writeConditions(to: &text)
        case .observers: try writeObservers(to: &text)
        case .secrets: writeSecrets(to: &text)
        case .output: try writeOutput(nil, to: &text)
        default: break
        }
    }

    /// Writes a member in the form that the table of keys gives.
    private func write(value option: Option, as name: String, to text: inout JSONWriter) throws(Failure) {
        let value = arguments.text(option)
        switch option.encoding {
        case .text: text.member(name, value)
        case .path: text.member(name, value.map(located))
        case .integer: text.member(name, arguments.integer(option))
        // JSON does not allow `+1` and `.5`.
        case .number: text.member(name, raw: "\(value.flatMap { Double($0) } ?? 0)".utf8)
        case .flag: text.member(name, true)
        case .time: text.member(name, value.map(Self.time))
        case .codes: text.member(name, raw: try codes(option))
        case .words: text.member(name, Self.list(arguments.texts(option)))
        case .pairs: text.member(name, arguments.pairs(option))
        case .quantities:
            text.key(name)
            text.object { object in
                for limit in arguments.pairs(option) {
                    object.key(limit.key)
                    if let number = Int(limit.value) { object.integer(number) } else { object.string(limit.value) }
                }
            }
        case .factors: try writeFactors(option, as: name, to: &text)
        case .special: break
        }
    }

    private func writeFactors(_ option: Option, as name: String, to text: inout JSONWriter) throws(Failure) {
        text.key(name)
        text.beginObject()
        for pair in arguments.pairs(option) {
            guard let factor = Double(pair.value), factor.isFinite else {
                throw .usage(
                    arguments.path, "--\(option.name) takes a number behind the =, not \"\(pair.value)\"",
                    "write --\(option.name) \(pair.key)=2")
            }
            text.member(pair.key, raw: "\(factor)".utf8)
        }
        text.endObject()
    }

    private func codes(_ option: Option) throws(Failure) -> [UInt8] {
        let words = Self.list(arguments.texts(option))
        guard !words.isEmpty else {
            throw .usage(
                arguments.path, "--\(option.name) contains no exit code", "write --\(option.name) 0,3, or leave it out")
        }
        if let wrong = words.first(where: { Int($0) == nil }) {
            throw .usage(
                arguments.path, "--\(option.name) takes exit codes, not \"\(wrong)\"", "write --\(option.name) 0,3")
        }
        return Array("[\(words.compactMap { Int($0) }.map(String.init).joined(separator: ","))]".utf8)
    }

    static func list(_ values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",").map(String.init) }
    }

    /// Formats a duration or an instant; the parser has checked it.
    private static func time(_ text: String) -> String {
        Span.parse(text) != nil ? text : Instant.parse(text, now: .now)?.rfc3339 ?? text
    }

    /// Returns an absolute path. For another host, it stays relative to the directory there.
    func located(_ path: String) -> String { HostList.isGiven(arguments) ? path : Self.absolute(path) }

    /// An empty path stays empty: the daemon refuses it.
    static func absolute(_ path: String) -> String {
        if path.isEmpty || path.hasPrefix("/") { return path }
        let here = WorkingDirectory.path
        return path == "." ? here : (here == "/" ? "/" : here + "/") + path
    }
}
