internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// Keys whose options have a syntax of their own.
extension OperationKeys {
    /// Variables set by options; of those with the same name the last. They belong to each operation, which may have
    /// more.
    func environment() throws(Failure) -> [Pair] {
        var pairs: [Pair] = []
        for entry in arguments.texts(.env) {
            if let pair = Pair(entry) ?? Environment[entry].flatMap({ Pair("\(entry)=\($0)") }) {
                pairs.append(pair)
            } else if entry.isEmpty || entry.hasPrefix("=") {
                throw .usage(
                    arguments.path, "--env \(entry): the name of the variable is missing", "write --env NAME=VALUE")
            } else {
                throw .usage(
                    arguments.path, "--env \(entry): there is no such variable here", "write --env \(entry)=VALUE")
            }
        }
        return Pair.lastOfEachKey(pairs)
    }

    /// Writes another command. A single word with blanks is a text for the shell, since the user has quoted it.
    func writeCommand(_ option: Option, to text: inout JSONWriter) {
        let words = arguments.texts(option)
        if words.count == 1, words[0].contains(" ") {
            text.member(OperationKey.shell.text, words[0])
        } else {
            text.member(OperationKey.command.text, words)
        }
    }

    private func forEachEdge(_ body: (_ ref: String, _ when: String, Option) throws(Failure) -> Void) throws(Failure) {
        func visit(_ option: Option, _ when: String) throws(Failure) {
            for ref in Self.list(arguments.texts(option)) { try body(ref, when, option) }
        }
        try visit(.after, "succeeded")
        try visit(.afterFinished, "finished")
        try visit(.afterFailed, "failed")
        try visit(.afterStarted, "started")
    }

    /// Resolves the names in `--after` now: on a command line a name means the newest operation with that name, while
    /// in a graph it means one of the same graph.
    mutating func resolve(_ session: Session) throws(Failure) {
        // Without options no key is looked up, so the table need not be made.
        guard arguments.hasOptions else { return }
        var ids = ids
        // Without a second reference, an insertion does not copy the ids.
        self.ids = [:]
        try forEachEdge { (ref, _, option) throws(Failure) in
            guard ids[ref] == nil, id(ref) == nil else { return }
            do throws(Failure) {
                ids[ref] = try session.call(ShowRequest.with { $0.ref = ref }).operation.id
            } catch {
                guard error.status == .notFound else { throw error }
                throw Failure(.refused, error.what, "--\(option.name): \(error.why)", error.advice)
            }
        }
        self.ids = ids
    }

    /// Returns the id that a reference means, if it is a number or a resolved name.
    private func id(_ ref: String) -> Int64? {
        ids[ref] ?? (ref.hasPrefix("-") ? nil : Int64(ref))
    }

    func writeEdges(to text: inout JSONWriter) throws(Failure) {
        text.key("after")
        text.beginArray()
        try forEachEdge { (ref, when, _) in writeEdge(ref, when, to: &text) }
        text.endArray()
    }

    private func writeEdge(_ ref: String, _ when: String, to array: inout JSONWriter) {
        array.object {
            $0.key("op")
            if let id = id(ref) { $0.integer(id) } else { $0.string(ref) }
            $0.member("when", when)
        }
    }

    func writePriority(to text: inout JSONWriter) throws(Failure) {
        guard let value = arguments.text(.priority) else { return }
        text.key("priority")
        if let number = Int(value) { return text.integer(number) }
        guard PriorityName.words.contains(value) else {
            let near = Nearest.name(to: value, among: PriorityName.words)
            throw .usage(
                arguments.path, "--priority takes -100...100, or \(PriorityName.all), not \"\(value)\"",
                near.map { "did you mean \($0)?" })
        }
        text.string(value)
    }

    func writeCategories(to text: inout JSONWriter) throws(Failure) {
        var uses = arguments.texts(.category)
        if arguments.verb.name == "set" {
            uses = Self.list(uses)
            if uses == ["none"] { uses = [] }
        }
        text.key("categories")
        text.beginArray()
        for use in uses { try writeCategory(use, to: &text) }
        text.endArray()
    }

    /// Writes a category: `db`, `disk:shared`, `disk:exclusive`, `gpu:2`.
    private func writeCategory(_ value: String, to array: inout JSONWriter) throws(Failure) {
        guard let colon = value.lastIndex(of: ":") else { return array.string(value) }
        let how = String(value[value.index(after: colon)...])
        let name = String(value[..<colon])
        if how == "shared" || how == "exclusive" {
            array.object {
                $0.member("name", name)
                $0.member("mode", how)
            }
        } else if let units = Int(how) {
            array.object {
                $0.member("name", name)
                $0.member("units", units)
            }
        } else {
            throw .usage(
                arguments.path,
                "--category takes shared, exclusive or a number of units behind the colon, not \"\(how)\"",
                "write \(value):1 if the colon is part of the name")
        }
    }

    func writeConditions(to text: inout JSONWriter) throws(Failure) {
        var conditions: [[UInt8]] = []
        for condition in arguments.texts(.condition) {
            conditions.append(try ConditionForm.json(condition, arguments.path))
        }
        text.key("conditions")
        text.array { array in
            for condition in conditions { array.raw(condition) }
        }
    }

    func writeObservers(to text: inout JSONWriter) throws(Failure) {
        let observers = arguments.pairs(.observer)
        let moments = OperationKey.observers.entry.form.members.map(\.name)
        if let unknown = observers.first(where: { !moments.contains($0.key) }) {
            throw .usage(
                arguments.path, "--observer has no moment \"\(unknown.key)\"", "use start, produce, finish or failed")
        }
        text.key("observers")
        text.object { object in
            for observer in observers {
                object.member(observer.key, Self.words(observer.value) ?? ["/bin/sh", "-c", observer.value])
            }
        }
    }

    /// Returns the texts of a JSON array; nil if the value is anything else, which is a text for the shell.
    private static func words(_ value: String) -> [String]? {
        // A text that is not JSON may be a test of the shell, such as `[ -t 1 ] || page-me`.
        guard value.hasPrefix("["), case .array(let elements)? = try? JSONValue(value.utf8) else { return nil }
        var words: [String] = []
        for element in elements {
            guard case .string(let word) = element else { return nil }
            words.append(word)
        }
        return words
    }

    func writeSecrets(to text: inout JSONWriter) {
        text.key("secrets")
        text.object { object in
            for secret in arguments.pairs(.secret) {
                object.key(secret.key)
                object.object { $0.member("file", located(secret.value)) }
            }
        }
    }

    /// Writes the output. A relative path stays relative to the directory of the operation.
    ///
    /// - Parameter usual: Destination without an option.
    func writeOutput(_ usual: String?, to text: inout JSONWriter) throws(Failure) {
        let stdout = arguments.text(.stdout)
        let stderr = arguments.text(.stderrFile)
        if let stdout {
            guard !arguments.has(.sendOutput) else {
                throw .usage(arguments.path, "--output and --stdout cannot be used together", "leave one out")
            }
            return writeFiles(stdout, stderr ?? stdout, to: &text)
        }
        guard stderr == nil else {
            throw .usage(arguments.path, "--stderr names a file, but --stdout none", "add --stdout FILE")
        }
        guard let output = arguments.text(.sendOutput) ?? usual else { return }
        let words = ["log", "split", "journal", "null"]
        if words.contains(output) {
            text.member("output", output)
        } else if output.contains("/") {
            writeFiles(output, output, to: &text)
        } else {
            let near = Nearest.name(to: output, among: words)
            throw .usage(
                arguments.path, "--output takes log, split, journal, null or a path with a /, not \"\(output)\"",
                near.map { "did you mean \($0)?" })
        }
    }

    private func writeFiles(_ stdout: String, _ stderr: String, to text: inout JSONWriter) {
        text.key("output")
        text.object {
            $0.member("stdout", stdout)
            $0.member("stderr", stderr)
        }
    }
}
