internal import Glibc
internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// The keys of an operation, as the options of `submit` and `run` give them.
struct OperationKeys {
    let arguments: Arguments
    /// The ids of the names that options mention.
    var ids: [String: Int64] = [:]
    /// Destination of the output unless an option names one.
    var output: String?

    /// Writes members of the operation's object; the command and the name are the caller's.
    func write(to text: inout JSONWriter) throws(Failure) {
        writeIdentity(to: &text)
        try writeOrder(to: &text)
        try writeEnding(to: &text)
        try writeRetry(to: &text)
        try writeOutput(to: &text)
        let limits = arguments.pairs(.limit)
        if !limits.isEmpty {
            text.key("limits")
            text.object { object in
                for limit in limits {
                    object.key(limit.key)
                    if let number = Int(limit.value) { object.integer(number) } else { object.string(limit.value) }
                }
            }
        }
    }

    private func writeIdentity(to text: inout JSONWriter) {
        text.member("directory", arguments.text(.directory).map(Self.absolute))
        text.member("umask", arguments.text(.umask))
        text.member("stdin", arguments.text(.stdin).map(Self.absolute))
        text.member("user", arguments.text(.runAs))
        let labels = arguments.pairs(.labels)
        if !labels.isEmpty { text.member("labels", labels) }
    }

    /// The variables that options set; they go with each operation, where others may join them.
    func environment() throws(Failure) -> [Pair] {
        var pairs: [Pair] = []
        for entry in arguments.texts(.env) {
            if let pair = Pair(entry) ?? Environment[entry].flatMap({ Pair("\(entry)=\($0)") }) {
                pairs.append(pair)
            } else {
                throw .usage(
                    arguments.path, "--env \(entry): there is no such variable here", "write --env \(entry)=VALUE")
            }
        }
        return pairs
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

    /// Finds what the names after `--after` mean here and now: on a command line the newest that bears it,
    /// where in a graph it would be an operation of the same graph.
    mutating func resolve(_ session: Session) throws(Failure) {
        var ids = ids
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

    /// An id, or what a name that may look like a number means.
    private func id(_ ref: String) -> Int64? {
        ids[ref] ?? (ref.hasPrefix("-") ? nil : Int64(ref))
    }

    private func writeOrder(to text: inout JSONWriter) throws(Failure) {
        text.member("queue", arguments.text(.toQueue))
        if let priority = arguments.text(.priority) {
            text.key("priority")
            try Self.writePriority(priority, to: &text, arguments.path)
        }
        text.member("qos", arguments.text(.qos))
        if arguments.has(.after) || arguments.has(.afterFinished) || arguments.has(.afterFailed)
            || arguments.has(.afterStarted)
        {
            text.key("after")
            text.beginArray()
            try forEachEdge { (ref, when, _) in writeEdge(ref, when, to: &text) }
            text.endArray()
        }
        if arguments.has(.category) { Self.writeCategories(arguments.texts(.category), to: &text) }
        text.member("barrier", arguments.has(.barrier))
        try writeConditions(to: &text)
        text.member("held", arguments.has(.hold))
        if arguments.has(.delay) && arguments.has(.at) {
            throw .usage(arguments.path, "--delay and --at both say when", "give one of them")
        }
        text.member("notBefore", arguments.text(.delay) ?? arguments.text(.at).map(Self.time))
    }

    static func writePriority(_ value: String, to text: inout JSONWriter, _ path: String) throws(Failure) {
        let names = ["veryLow", "low", "normal", "high", "veryHigh"]
        if let number = Int(value) { return text.integer(number) }
        guard names.contains(value) else {
            let near = Nearest.name(to: value, among: names)
            throw .usage(
                path, "--priority takes -100...100, or \(names.joined(separator: ", ")), not \"\(value)\"",
                near.map { "did you mean \($0)?" })
        }
        text.string(value)
    }

    private func writeEdge(_ ref: String, _ when: String, to array: inout JSONWriter) {
        array.object {
            $0.key("op")
            if let id = id(ref) { $0.integer(id) } else { $0.string(ref) }
            $0.member("when", when)
        }
    }

    static func writeCategories(_ uses: [String], to text: inout JSONWriter) {
        text.key("categories")
        text.array { array in
            for use in uses { writeCategory(use, to: &array) }
        }
    }

    /// `db`, `disk:shared`, `disk:exclusive`, `gpu:2`.
    private static func writeCategory(_ value: String, to array: inout JSONWriter) {
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
            array.string(value)
        }
    }

    private func writeConditions(to text: inout JSONWriter) throws(Failure) {
        var conditions: [[UInt8]] = []
        for condition in arguments.texts(.condition) {
            conditions.append(try ConditionForm.json(condition, arguments.path))
        }
        guard !conditions.isEmpty else { return }
        text.key("conditions")
        text.array { array in
            for condition in conditions { array.raw(condition) }
        }
    }

    private func writeEnding(to text: inout JSONWriter) throws(Failure) {
        text.member("timeout", arguments.text(.timeout))
        text.member("grace", arguments.text(.grace))
        if let deadline = arguments.text(.deadline) {
            text.member("deadline", Self.time(deadline))
        }
        if let codes = try codes(.successCodes) { text.member("successCodes", raw: codes) }
        text.member("leftovers", arguments.text(.leftovers))
        text.member("completion", arguments.text(.completion))
        let observers = arguments.pairs(.observer)
        guard !observers.isEmpty else { return }
        let moments = ["start", "produce", "finish"]
        if let unknown = observers.first(where: { !moments.contains($0.key) }) {
            throw .usage(
                arguments.path, "--observer knows no moment \"\(unknown.key)\"", "use start, produce or finish")
        }
        text.key("observers")
        text.object { object in
            for observer in observers {
                if observer.value.hasPrefix("[") {
                    object.member(observer.key, raw: observer.value.utf8)
                } else {
                    object.member(observer.key, ["/bin/sh", "-c", observer.value])
                }
            }
        }
    }

    func writeRetry(to text: inout JSONWriter) throws(Failure) {
        guard let limit = arguments.integer(.retry) else { return try refuseDetailsOfNoRetry() }
        let exitCodes = try codes(.retryExitCodes)
        text.key("retry")
        text.object {
            $0.member("limit", limit)
            $0.member("backoff", arguments.text(.retryBackoff))
            if let factor = arguments.text(.retryFactor) { $0.member("factor", raw: Self.number(factor)) }
            $0.member("max", arguments.text(.retryMax))
            if let jitter = arguments.text(.retryJitter) { $0.member("jitter", raw: Self.number(jitter)) }
            if let outcomes = arguments.text(.retryOn) { $0.member("on", Self.list([outcomes])) }
            if let exitCodes { $0.member("exitCodes", raw: exitCodes) }
        }
    }

    private func refuseDetailsOfNoRetry() throws(Failure) {
        func refuse(_ detail: Option) throws(Failure) {
            guard arguments.has(detail) else { return }
            throw .usage(arguments.path, "--\(detail.name) says how to retry, but not how often", "add --retry N")
        }
        try refuse(.retryBackoff)
        try refuse(.retryFactor)
        try refuse(.retryMax)
        try refuse(.retryJitter)
        try refuse(.retryOn)
        try refuse(.retryExitCodes)
    }

    func codes(_ option: Option) throws(Failure) -> [UInt8]? {
        guard arguments.has(option) else { return nil }
        let words = Self.list(arguments.texts(option))
        if let wrong = words.first(where: { Int($0) == nil }) {
            throw .usage(
                arguments.path, "--\(option.name) takes exit codes, not \"\(wrong)\"", "write --\(option.name) 0,3")
        }
        return Array("[\(words.compactMap { Int($0) }.map(String.init).joined(separator: ","))]".utf8)
    }

    private func writeOutput(to text: inout JSONWriter) throws(Failure) {
        let stdout = arguments.text(.stdout).map(Self.absolute)
        let stderr = arguments.text(.stderrFile).map(Self.absolute)
        if let stdout {
            return writeFiles(stdout, stderr ?? stdout, to: &text)
        }
        guard stderr == nil else {
            throw .usage(arguments.path, "--stderr names a file, but --stdout none", "add --stdout FILE")
        }
        guard let output = arguments.text(.sendOutput) ?? output else { return }
        let words = ["log", "split", "journal", "null"]
        if words.contains(output) {
            text.member("output", output)
        } else if output.contains("/") {
            let path = Self.absolute(output)
            writeFiles(path, path, to: &text)
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

    static func list(_ values: [String]) -> [String] {
        values.flatMap { $0.split(separator: ",").map(String.init) }
    }

    /// JSON knows no `+1` and no `.5`.
    private static func number(_ text: String) -> String.UTF8View {
        "\(Double(text) ?? 0)".utf8
    }

    /// The parser has found it to be a duration or an instant.
    private static func time(_ text: String) -> String {
        Span.parse(text) != nil ? text : Instant.parse(text, now: .now)?.rfc3339 ?? text
    }

    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        let here = WorkingDirectory.path
        return path == "." ? here : (here == "/" ? "/" : here + "/") + path
    }
}
