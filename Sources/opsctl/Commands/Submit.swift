internal import OpsClient
internal import OpsWire

/// `submit`: submits one operation, a graph file, or one operation for each line or index.
enum SubmitVerb {
    static let verb = Verb(
        "submit", .submitting, "submit a command or a graph of commands",
        forms: [
            "[OPTION...] [--] COMMAND [ARG...]",
            "[OPTION...] --shell STRING",
            "-f FILE|- [--format json|yaml] [--set K=V]... [--dry-run]",
            "--each FILE|- [OPTION...] [--] COMMAND [{}...]",
            "--array A-B[:STEP] [OPTION...] [--] COMMAND [{}...]",
            "--again OPERATION [OPTION...]",
        ],
        about: [
            "Prints the id of the operation, or the id of the graph and its number of operations. When it returns, the "
                + "submission is on disk.",
            "The current environment, directory and umask are recorded. A relative path of --stdin, --stdout, --stderr "
                + "or --output is relative to the directory of the operation. Options must come before the command.",
            "With --each, {} is the line, {.} the line without its extension, {/} its last part, {//} its "
                + "directory, {/.} the last part without extension and {#} its number. In --name, characters "
                + "that names cannot contain become _. In --shell, each value is quoted as one word, so put no "
                + "quotes around it.",
            "A graph is submitted whole or not at all. All errors, at most \(Limits.problems), are reported at once, "
                + "with file, line, column, operation and key. Options given with -f apply to every operation of the "
                + "file that does not set the key itself; --hold, --at, --delay and --after apply to the operations "
                + "without dependencies.",
        ],
        operands: .command, options: [.submission] + OptionGroup.operation,
        examples: [
            .init("Run a command when its turn comes", "opsctl submit -- make -j8"),
            .init(
                "After another, with a time limit and three more attempts",
                "opsctl submit --after build --timeout 10m --retry 3 -- ./deploy.sh"),
            .init("Never two of these at once", "opsctl submit --category db -- ./migrate"),
            .init("Tonight, in a separate queue", "opsctl submit --queue nightly --at 22:00 -- ./backup"),
            .init("A graph from a file, with a value filled in", "opsctl submit -f deploy.json --set VERSION=1.4"),
            .init("One operation per file", "ls *.wav | opsctl submit --each - -- flac {}"),
            .init("A hundred operations", "opsctl submit --array 1-100 -- ./simulate --seed {}"),
            .init("Every combination of two files", "opsctl submit --each seeds --each rates -- ./train {1} {2}"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let ways = [Option.file, .each, .array, .again].filter { arguments.has($0) }
        guard ways.count <= 1 else {
            throw session.refuse("--\(ways[0].name) and --\(ways[1].name) cannot be used together", "leave one out")
        }
        if arguments.has(.delimiter), !arguments.has(.each) {
            throw session.refuse("--delimiter is for the lines of --each", "add --each FILE")
        }
        if let path = arguments.text(.file) { return try submitFile(path, session) }
        try refuseOptionsOfFile(session)
        if let fan = try FanOut(session) {
            return try report(prepared(fan.submission(), session), session, isSingle: false)
        }
        do throws(Failure) {
            if let ref = arguments.text(.again) { return try report(again(ref, session), session, isSingle: true) }
            return try report(single(session), session, isSingle: true)
        } catch {
            throw error.ofOne
        }
    }

    /// Refuses options that only apply to a graph file.
    static func refuseOptionsOfFile(_ session: Session) throws(Failure) {
        for option in [Option.format, .set] where session.arguments.has(option) {
            throw session.refuse("--\(option.name) is for the graph file of -f", "add -f FILE")
        }
    }

    /// Returns the operation that the command line describes.
    static func single(_ session: Session, output: String? = nil, input: String? = nil) throws(Failure) -> Submission {
        let arguments = session.arguments
        var keys = OperationKeys(arguments: arguments, output: output, input: input)
        try keys.resolve(session)
        let environment = try keys.environment()
        let command = try command(session)
        var text = JSONWriter()
        var failure: Failure?
        text.object { object in
            object.member("name", arguments.text(.operationName))
            command.write(to: &object)
            if !environment.isEmpty { object.member("environment", environment) }
            do throws(Failure) { try keys.write(to: &object) } catch { failure = error }
        }
        if let failure { throw failure }
        return prepared(Submission(text.bytes), session)
    }

    /// Returns a submission of the same command in the same environment; the given options replace its other keys.
    private static func again(_ ref: String, _ session: Session) throws(Failure) -> Submission {
        let arguments = session.arguments
        guard arguments.operands.isEmpty, !arguments.has(.shell) else {
            throw session.refuse("--again and a command cannot be used together", "leave one out")
        }
        let earlier = try session.call(ShowRequest.with { $0.ref = ref })
        let row = earlier.operation
        guard row.command != nil || earlier.details.http != nil else {
            throw Failure(.refused, ref, "is a group, which has no command", "submit its graph again")
        }
        guard let environment = row.environment else {
            let owners = row.user == "root" ? "root" : "\(row.user), or root"
            throw Failure(.refused, ref, "only its owner can read its environment", "ask \(owners)")
        }
        var keys = OperationKeys(arguments: arguments)
        try keys.resolve(session)
        let variables = try keys.environment()
        var changed = JSONWriter()
        changed.beginObject()
        changed.member("name", arguments.text(.operationName))
        if !variables.isEmpty { changed.member("environment", variables) }
        try keys.write(to: &changed)
        changed.endObject()
        let same = Repetition(earlier).object
        var submission = prepared(Submission(GraphOptions.merged(changed.bytes, over: same)), session)
        submission.surroundings = nil
        submission.terms.capture = .with {
            $0.environment = environment
            $0.directory = row.directory ?? "/"
            $0.umask = earlier.details.umask.flatMap { Int($0, radix: 8) } ?? 0o022
        }
        return submission
    }

    /// Returns a submission with the options of the command line.
    private static func prepared(_ submission: Submission, _ session: Session) -> Submission {
        let arguments = session.arguments
        var submission = submission
        // On another host the daemon uses the environment of a login of the user there.
        if session.host == nil { submission.surroundings = arguments.has(.cleanEnv) ? .clean : .all }
        if let name = arguments.text(.graphName) { submission.terms.name = name }
        if session.host == nil { submission.terms.inside = SocketPath.enclosingOperation(at: session.socketPath) }
        submission.terms.child = arguments.has(.child).ifTrue
        submission.terms.key = arguments.text(.key)
        submission.terms.unlessActive = arguments.text(.unlessActive)
        submission.terms.dryRun = arguments.has(.dryRun).ifTrue
        return submission
    }

    /// A command with arguments, or a text for the shell.
    struct Command {
        let words: [String]
        let shell: String?

        func write(to object: inout JSONWriter) {
            if let shell { object.member("shell", shell) } else { object.member("command", words) }
        }
    }

    static func command(_ session: Session) throws(Failure) -> Command {
        let words = session.arguments.operands
        let shell = session.arguments.text(.shell)
        guard shell == nil || words.isEmpty else {
            throw session.refuse("--shell and a command cannot be used together", "leave one out")
        }
        guard shell != nil || !words.isEmpty else {
            throw session.refuse(
                "a command is missing",
                "write opsctl \(session.arguments.path) -- COMMAND, or see opsctl help \(session.arguments.path)")
        }
        return Command(words: words, shell: shell)
    }

    private static func submitFile(_ path: String, _ session: Session) throws(Failure) -> ExitStatus {
        let submission = try graph(path, session)
        if submission.1.hasSchedule {
            StandardError.line(
                "opsctl: note: the schedule in the file is not used here; opsctl schedule apply -f FILE adds it")
        }
        do throws(Failure) {
            return try report(submission.0, session, isSingle: false)
        } catch {
            throw submission.1.located(error)
        }
    }

    /// Returns the graph of a file with its `${NAME}` replaced.
    ///
    /// - Parameter later: Returns the names that opsd replaces in a file.
    static func graph(
        _ path: String, _ session: Session, later: (GraphText) -> Set<String> = { _ in [] }
    ) throws(Failure) -> (Submission, GraphFile) {
        let arguments = session.arguments
        if let word = arguments.operands.first {
            throw session.refuse("use either -f or a command (\"\(word)\"), not both", nil)
        }
        for option in [Option.operationName, .shell] where arguments.has(option) {
            throw session.refuse(
                "--\(option.name) describes one operation, -f a graph",
                option.name == "name" ? "give the graph a name with --graph-name" : "write it into the file")
        }
        for pair in arguments.pairs(.set) {
            guard let complaint = Substitution.complaint(aboutName: pair.key) else { continue }
            throw session.refuse("--set \(pair.key): \(complaint)", Substitution.adviceAboutNames)
        }
        let format = arguments.text(.format).flatMap(GraphText.Format.init(rawValue:))
        let text = try GraphText.read(path, format, for: arguments.path)
        let substitution = Substitution(arguments.pairs(.set), later: later(text))
        let file = try GraphFile(try Inclusion.expand(try substitution.fill(text), substitution))
        var keys = OperationKeys(arguments: arguments)
        try keys.resolve(session)
        return (prepared(try GraphOptions(keys).lay(over: file), session), file)
    }

    private static func report(_ submission: Submission, _ session: Session, isSingle: Bool) throws(Failure)
        -> ExitStatus
    {
        let isDry = session.arguments.has(.dryRun)
        var submission = submission
        submission.terms.list = (session.wantsJSON || isDry).ifTrue
        let accepted = try session.submit(submission)
        do throws(Failure) {
            if session.wantsJSON || isDry {
                try list(accepted, session, isDry: isDry, isSingle: isSingle)
            } else {
                try session.output.line(isSingle ? "\(accepted.first)" + when(session) : summary(accepted))
            }
            try session.output.flush()
        } catch {
            if isDry { throw error }
            let id = isSingle ? "\(accepted.first)" : accepted.graph
            throw error.afterSubmission("submitted as \(id)")
        }
        return .done
    }

    /// Returns a line with the graph and the ids of a submission.
    private static func summary(_ accepted: SubmitReply) -> String {
        let last = accepted.first + Int64(max(0, accepted.count - 1))
        let ids = accepted.count > 1 ? "\(accepted.first)-\(last)" : "\(accepted.first)"
        return "\(accepted.graph)  \(counted(accepted.count))  \(ids)" + (accepted.existing ? "  (existing)" : "")
    }

    /// Returns the start time of the operation for a message, if the command line gives one.
    private static func when(_ session: Session) -> String {
        let arguments = session.arguments
        guard session.screen.isTerminal, let text = arguments.text(.at) ?? arguments.text(.delay) else { return "" }
        let now = Instant.now
        guard let start = Span.parse(text).map({ now + $0 }) ?? Instant.parse(text, now: now) else { return "" }
        guard start > now else { return "  starts at once: that time has passed" }
        return "  starts \(start.text(now: now)) (in \((start - now).text))"
    }

    private static func list(
        _ accepted: SubmitReply, _ session: Session, isDry: Bool, isSingle: Bool
    ) throws(Failure) {
        guard session.wantsJSON else {
            let operations = accepted.operations ?? []
            if accepted.existing {
                let earlier = isSingle ? "\(accepted.first)" : accepted.graph
                return try session.output.line(
                    "nothing would be submitted (dry run): \(earlier) was submitted with this key")
            }
            try session.output.line("\(counted(accepted.count)) would be submitted (dry run)")
            for (index, operation) in operations.enumerated() where operation.name != nil || operations.count > 1 {
                try session.output.line("  \(operation.name ?? "(operation \(index + 1), without a name)")")
            }
            return
        }
        // The daemon leaves out operations that are too large for a message.
        let listed =
            accepted.operations
            ?? (0..<max(0, accepted.count)).map { index in
                .with { ($0.id, $0.graph) = (accepted.first + Int64(index), accepted.graph) }
            }
        for operation in listed {
            try session.row(AcceptedOperation(submitted: operation, existing: accepted.existing, dryRun: isDry))
        }
    }

    static func counted(_ count: Int) -> String {
        count == 1 ? "1 operation" : "\(count) operations"
    }
}

/// A submitted operation as JSON.
private struct AcceptedOperation: WireRecord {
    var submitted = Submitted()
    var existing = false
    var dryRun = false

    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try submitted.visit(&visitor)
        if existing { try visitor.field("existing", &existing) }
        if dryRun { try visitor.field("dryRun", &dryRun) }
    }
}
