internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// The results that an operation gets from its dependencies; nil if they have more bytes than a process can get.
typealias ResultsOfDependencies = [DependencyResult]?

/// Composes what the runner needs to start an attempt: stored texts, and what opsd adds.
final class LaunchComposer {
    let socket: String
    let logs: Logs
    var logCap: Int64
    let store: Store
    let history: History
    let authorization: Authorization
    /// The last decoded environment: operations of one submission share their texts.
    private var lastEnvironment: (text: String, entries: StringMap, words: CStringArray) = ("", StringMap(), [])
    private var lastDetails: (text: String, details: Details)?

    init(socket: String, logs: Logs, logCap: Int64, store: Store, history: History, authorization: Authorization) {
        self.socket = socket
        self.logs = logs
        self.logCap = logCap
        self.store = store
        self.history = history
        self.authorization = authorization
    }

    /// Composes a launch. Throws an error of kind `interrupted` if reading the results of the dependencies takes long;
    /// the caller reads them elsewhere and passes them as `given`.
    func launch(
        _ attempt: AttemptID, slot: Int32, _ policy: Policy, _ texts: LaunchTexts, namesSlot: Bool,
        given: ResultsOfDependencies? = nil, units: [UnitVariable] = [], attemptInRun: Int32 = 1,
        mostOpenFiles: Int64 = .max
    ) throws -> LaunchRequest {
        let details = try details(of: texts)
        var request = LaunchRequest(
            attempt: attempt, slot: slot, arguments: try stringArray(texts.command),
            environment: try environment(
                texts, details, replacing: units.compactMap(\.export) + details.own.secrets.map(\.name)),
            directory: details.directory, umask: details.umask, stdin: details.stdin ?? "/dev/null",
            user: try launchUser(texts, details),
            logCap: logCap)
        for variable in own(attempt, texts) { request.environment.append(variable) }
        for variable in Self.words(for: units) { request.environment.append(variable) }
        // A current runner sets the variable itself, since it may choose the slot.
        if namesSlot { request.environment.append("OPS_SLOT=\(slot)") }
        let results = texts.hasDependencies ? try words(given ?? results(for: attempt.operation, texts)) : []
        try requireRoom(for: request, and: results)
        request.environment += results
        request.output = try output(attempt, details)
        request.secrets = Self.secrets(of: details)
        if policy.executor == nil { request.outputDirectory = logs.outputDirectory(of: attempt) }
        // One of the leftover processes may still report the result; opsd ends them once it is decided.
        request.leftovers = policy.completion == .notify ? .wait : policy.leftovers
        request.grace = policy.grace
        request.timeLimit = policy.timeout(inAttempt: attemptInRun) ?? .zero
        details.apply(to: &request) { value, key in
            guard let scale = policy.retry?.scale else { return value }
            let scaled = scale.value(value, of: key, inAttempt: attemptInRun)
            return key == .openFiles ? min(scaled, max(value, mostOpenFiles)) : scaled
        }
        if policy.executor != nil {
            request.executorOptions = details.own.executorOptions
            request.retriesFailure = policy.retry?.retries(exitStatus: 75, ofAttempt: attemptInRun) ?? false
        }
        return request
    }

    /// Returns a helper process of an operation, started in the same way as the operation itself. `asSubmitter`: as the
    /// user who submitted it, in the directory of the submission, without the operation's own keys.
    func helper(
        of operation: OperationID, _ arguments: [String], adding environment: [String] = [], asSubmitter: Bool = false
    ) throws -> LaunchRequest? {
        guard let texts = try history.texts(of: operation) else { return nil }
        var details = try details(of: texts)
        if asSubmitter { details = details.captureAlone }
        return try helper(of: operation, arguments, adding: environment, texts, details)
    }

    /// Returns the process of a condition's command. Like the operation, it has the secrets and the results of the
    /// dependencies. Throws an error of kind `interrupted` as `launch` does.
    func conditionCommand(
        of operation: OperationID, _ arguments: [String], given: ResultsOfDependencies? = nil
    ) throws -> LaunchRequest? {
        guard let texts = try history.texts(of: operation) else { return nil }
        let details = try details(of: texts)
        let secrets = Self.secrets(of: details)
        var request = try helper(of: operation, arguments, replacing: secrets.map(\.name), texts, details)
        let results = texts.hasDependencies ? try words(given ?? committedResults(for: operation, texts)) : []
        try requireRoom(for: request, and: results)
        request.environment += results
        request.secrets = secrets
        return request
    }

    /// Returns the process of a condition or an observer: no log, no limits, ended with everything it started.
    private func helper(
        of operation: OperationID, _ arguments: [String], replacing exported: [String] = [],
        adding extra: [String] = [], _ texts: LaunchTexts, _ details: Details
    ) throws -> LaunchRequest {
        let attempt = AttemptID(operation, try history.brief(of: operation)?.attempt ?? 0)
        var request = LaunchRequest(
            attempt: attempt, slot: -1, arguments: arguments,
            environment: try environment(texts, details, replacing: exported), directory: details.directory,
            umask: details.umask, user: try launchUser(texts, details), grace: .seconds(1))
        for variable in own(attempt, texts) + extra { request.environment.append(variable) }
        try requireRoom(for: request)
        return request
    }

    /// Decodes the details of an operation, unless they were the last to be decoded.
    func details(of texts: LaunchTexts) throws -> Details {
        if let last = lastDetails, ExactText(last.text) == ExactText(texts.details) { return last.details }
        let details = try Details(texts.details)
        lastDetails = (texts.details, details)
        return details
    }

    private func output(_ attempt: AttemptID, _ details: Details) throws(SystemError) -> LaunchRequest.Output {
        switch details.own.output {
        case .log:
            try logs.makeDirectory(for: attempt.operation)
            return .log(logs.path(attempt))
        case .split:
            try logs.makeDirectory(for: attempt.operation)
            return .split(stdout: logs.path(attempt), stderr: logs.path(attempt, .error))
        case .journal: return .journal(identifier: Self.journalIdentifier(of: attempt.operation))
        case .null: return .null
        case .files(let stdout, let stderr):
            let paths = details.paths(stdout, stderr)
            return .paths(stdout: paths.stdout, stderr: paths.stderr)
        }
    }

    /// Returns the identifier of an operation's output in the journal.
    static func journalIdentifier(of operation: OperationID) -> String { "opsd-\(operation.rawValue)" }

    /// Returns the variables OPS_*, which only opsd may set.
    private func own(_ attempt: AttemptID, _ texts: LaunchTexts) -> [String] {
        [
            "OPS_ID=\(attempt.operation.rawValue)", "OPS_NAME=\(texts.name ?? "")",
            "OPS_GRAPH=g\(texts.graph.rawValue)", "OPS_QUEUE=\(texts.queue)", "OPS_ATTEMPT=\(attempt.number)",
            "OPS_SOCKET=\(socket)", "TRACEPARENT=\(traceParent(attempt, texts.graph))",
        ]
    }

    /// Returns the variables for named units. A variable that several categories write has the units of all of them.
    private static func words(for units: [UnitVariable]) -> [String] {
        var words: [(name: String, value: String)] = []
        for unit in units {
            for name in ["OPS_UNITS_\(variableName(unit.category))", unit.export].compactMap({ $0 }) {
                if let index = words.firstIndex(where: { $0.name == name }) {
                    words[index].value += ",\(unit.value)"
                } else {
                    words.append((name, unit.value))
                }
            }
        }
        return words.map { "\($0.name)=\($0.value)" }
    }

    private func traceParent(_ attempt: AttemptID, _ graph: GraphID) -> String {
        let trace = TraceContext.trace(instance: store.instance, graph: graph.rawValue)
        let span = TraceContext.span(
            trace: trace, operation: attempt.operation.rawValue, attempt: Int(attempt.number))
        return TraceContext.parent(trace: trace, span: span)
    }

    /// Removes the variables that opsd sets for this launch: of two the first would count.
    private func environment(
        _ texts: LaunchTexts, _ details: Details, replacing exported: [String]
    ) throws -> CStringArray {
        guard !exported.isEmpty else { return try environment(texts, details) }
        let words = try environment(texts, details)
        var kept = CStringArray()
        kept.reserve(words.bytes.count)
        let prefixes = exported.map { Array("\($0)=".utf8) }
        unsafe words.visit { word in
            if !prefixes.contains(where: { unsafe word.starts(with: $0) }) { unsafe kept.append(word) }
        }
        return kept
    }

    private func environment(_ texts: LaunchTexts, _ details: Details) throws -> CStringArray {
        if ExactText(lastEnvironment.text) != ExactText(texts.environment) {
            var entries = try stringMap(texts.environment)
            // An older opsd stored some of them.
            entries.removeReservedVariables(keepsStored: true)
            lastEnvironment = (
                texts.environment, entries, CStringArray(entries.entries.map { "\($0.name)=\($0.value)" })
            )
        }
        if details.own.user == nil && details.own.environment.entries.isEmpty { return lastEnvironment.words }
        var variables = lastEnvironment.entries
        if details.own.user != nil { variables.override(with: try login(try runUser(texts, details))) }
        variables.override(with: details.own.environment)
        variables.removeReservedVariables(keepsStored: true)
        return CStringArray(variables.entries.map { "\($0.name)=\($0.value)" })
    }

    /// Returns the variables that a login of the user would have.
    private func login(_ user: Details.RunUser) throws -> StringMap {
        guard let account = try Account.withUID(user.uid, formerName: user.name) else {
            return ["HOME": "/", "USER": user.name, "LOGNAME": user.name, "SHELL": "/bin/sh"]
        }
        return ["HOME": account.home, "USER": account.name, "LOGNAME": account.name, "SHELL": account.shell]
    }

    private static func secrets(of details: Details) -> [LaunchRequest.Secret] {
        details.own.secrets.map { LaunchRequest.Secret(name: $0.name, path: path(of: $0)) }
    }

    /// Returns the path of the file with the value of a secret. Without credentials no such file exists.
    private static func path(of secret: Secret) -> String {
        switch secret.source {
        case .file(let path): path
        case .credential(let name): (Credentials.directory ?? "/run/credentials/opsd.service") + "/" + name
        }
    }

    private func results(for operation: OperationID, _ texts: LaunchTexts) throws -> ResultsOfDependencies {
        let end = Clock.read().monotonic + DaemonLimits.dependenciesInTheLoop
        let isOver = { Clock.read().monotonic >= end }
        return try store.reading(until: isOver) {
            try store.results(for: operation, of: reader(texts), atMost: DaemonLimits.launchBytes)
        }
    }

    /// Returns the results of dependencies that the last commit has stored. Conditions go on during a long turn, while
    /// another thread uses the store.
    private func committedResults(for operation: OperationID, _ texts: LaunchTexts) throws -> ResultsOfDependencies {
        let end = Clock.read().monotonic + DaemonLimits.dependenciesInTheLoop
        let isOver = { Clock.read().monotonic >= end }
        return try history.reading(until: isOver) {
            try history.results(for: operation, of: reader(texts), atMost: DaemonLimits.launchBytes)
        }
    }

    /// Returns the user whose results an operation may get; nil: those of all users.
    func reader(_ texts: LaunchTexts) -> UInt32? { authorization.isPrivileged(user: texts.uid) ? nil : texts.uid }

    /// Returns OPS_RESULT_<NAME> and OPS_OUTPUTS_<NAME> for each dependency whose results the owner of the operation may
    /// read.
    private func words(_ results: ResultsOfDependencies) throws -> CStringArray {
        let limit = DaemonLimits.launchBytes
        guard let results else {
            throw tooLarge("the results of its dependencies (more than \(SizeText.format(Int64(limit))))")
        }
        var words: [String] = []
        for dependency in results {
            let name = Self.variableName(dependency.name ?? "\(dependency.id.rawValue)")
            if let result = dependency.result { words.append("OPS_RESULT_\(name)=\(result)") }
            if let attempt = dependency.outputs {
                words.append("OPS_OUTPUTS_\(name)=\(logs.outputDirectory(of: attempt))")
            }
        }
        return CStringArray(words)
    }

    /// Refuses data that is too large for the start of a process, and names its largest part.
    private func requireRoom(for request: LaunchRequest, and results: CStringArray = []) throws(SystemError) {
        let parts = [
            (name: "its arguments", size: request.arguments.reduce(0) { $0 + $1.utf8.count + 1 + Self.pointerSize }),
            (name: "its environment", size: request.environment.sizeInProcess),
            (name: "the results of its dependencies", size: results.sizeInProcess),
        ]
        let size = parts.reduce(0) { $0 + $1.size }
        guard size > DaemonLimits.launchBytes, let largest = parts.max(by: { $0.size < $1.size }) else { return }
        let limit = SizeText.format(Int64(DaemonLimits.launchBytes))
        throw tooLarge("\(largest.name) (\(largest.size >> 10)K of \(size >> 10)K in all; at most \(limit))")
    }

    private func tooLarge(_ what: String) -> SystemError { SystemError(what, errno: SystemError.argumentsTooLong) }

    fileprivate static let pointerSize = 8

    /// Returns a name in upper case, with `_` for everything but letters and digits.
    static func variableName(_ name: String) -> String {
        String(
            decoding: name.utf8.map { byte -> UInt8 in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
                default: UInt8(ascii: "_")
                }
            }, as: UTF8.self)
    }

    /// Returns the user that the runner must become; nil if it is that user already.
    private func launchUser(_ texts: LaunchTexts, _ details: Details) throws -> LaunchRequest.User? {
        guard authorization.daemonUser == 0 else { return nil }
        let user = try runUser(texts, details)
        return LaunchRequest.User(name: user.name, uid: user.uid, gid: user.gid)
    }

    /// Returns the uid that the processes of an operation are started with.
    func uid(_ texts: LaunchTexts) throws -> UInt32 {
        try launchUser(texts, try details(of: texts))?.uid ?? authorization.daemonUser
    }

    /// Returns the user that the operation runs as, as it was known at the submission.
    private func runUser(_ texts: LaunchTexts, _ details: Details) throws -> Details.RunUser {
        if let user = details.runUser { return user }
        // An older opsd stored the name alone, which only root may have chosen.
        guard let wanted = details.own.user, texts.uid == 0 else {
            return Details.RunUser(name: texts.user, uid: texts.uid, gid: texts.gid)
        }
        guard let account = try Account.named(wanted) else {
            throw SystemError("user \(wanted)", errno: SystemError.noSuchFile)
        }
        return Details.RunUser(name: account.name, uid: account.uid, gid: account.gid)
    }
}

extension CStringArray {
    /// Bytes that the strings take at the start of a process.
    fileprivate var sizeInProcess: Int { bytes.count + count * LaunchComposer.pointerSize }
}

/// Reads a JSON array of strings, as the store keeps commands.
func stringArray(_ text: String) throws(InvalidParameter) -> [String] {
    try scan(text.utf8) { scanner throws(InvalidParameter) in try [String](from: &scanner) }
}

/// Reads a JSON object of strings, as the store keeps environments.
func stringMap(_ text: String) throws(InvalidParameter) -> StringMap {
    try scan(text.utf8) { scanner throws(InvalidParameter) in try StringMap(from: &scanner) }
}
