internal import OpsClient
internal import OpsWire

/// `submit`: one operation, a graph from a file, or one operation for each line or index.
enum SubmitVerb {
    static let verb = Verb(
        "submit", .submitting, "submit a command or a graph of commands",
        forms: [
            "[OPTION...] [--] COMMAND [ARG...]",
            "[OPTION...] --shell STRING",
            "-f FILE|- [--set K=V]... [--dry-run]",
            "--each FILE|- [OPTION...] [--] COMMAND [{}...]",
            "--array A-B[:STEP] [OPTION...] [--] COMMAND [{}...]",
        ],
        about: [
            "Prints the id of the operation, or the id of the graph and how many operations it has. When it returns, "
                + "what was submitted is on disk.",
            "The current environment, directory and umask are recorded. Options must come before the command.",
            "A graph is submitted whole or not at all; errors name file, line, operation and key, all at once.",
        ],
        operands: .command, options: [.submission] + OptionGroup.operation,
        examples: [
            .init("Run a command when its turn comes", "opsctl submit -- make -j8"),
            .init(
                "After another, with a time limit and three more attempts",
                "opsctl submit --after build --timeout 10m --retry 3 -- ./deploy.sh"),
            .init("Never two of these at once", "opsctl submit --category db -- ./migrate"),
            .init("Tonight, in a queue of its own", "opsctl submit --queue nightly --at 22:00 -- ./backup"),
            .init("A graph from a file, with a value filled in", "opsctl submit -f deploy.json --set VERSION=1.4"),
            .init("One operation a file", "ls *.wav | opsctl submit --each - -- flac {}"),
            .init("A hundred operations", "opsctl submit --array 1-100 -- ./simulate --seed {}"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let ways = [Option.file, .each, .array].filter { arguments.has($0) }
        guard ways.count <= 1 else {
            throw session.refuse("--\(ways[0].name) and --\(ways[1].name) exclude each other", "give one of them")
        }
        if let path = arguments.text(.file) { return try submitFile(path, session) }
        if let fan = try FanOut(session) {
            return try report(prepared(fan.submission(), session), session, isSingle: false)
        }
        do throws(Failure) {
            return try report(single(session), session, isSingle: true)
        } catch {
            throw error.ofOne
        }
    }

    /// The operation that the command line describes.
    static func single(_ session: Session, output: String? = nil) throws(Failure) -> Submission {
        let arguments = session.arguments
        var keys = OperationKeys(arguments: arguments, output: output)
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

    /// Returns a submission with the terms that the command line gives.
    private static func prepared(_ submission: Submission, _ session: Session) -> Submission {
        let arguments = session.arguments
        var submission = submission
        // On another host the daemon takes what a login of the user there would have.
        if session.host == nil { submission.surroundings = arguments.has(.cleanEnv) ? .clean : .all }
        if let name = arguments.text(.graphName) { submission.terms.name = name }
        if session.host == nil { submission.terms.inside = SocketPath.enclosingOperation(at: session.socketPath) }
        submission.terms.child = arguments.has(.child).ifTrue
        submission.terms.key = arguments.text(.key)
        submission.terms.unlessActive = arguments.text(.unlessActive)
        submission.terms.dryRun = arguments.has(.dryRun).ifTrue
        return submission
    }

    /// A command, or a string for the shell.
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
            throw session.refuse("--shell and a command exclude each other", "give one of them")
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
        do throws(Failure) {
            return try report(submission.0, session, isSingle: false)
        } catch {
            throw submission.1.located(error)
        }
    }

    /// The graph in a file, its gaps filled.
    static func graph(_ path: String, _ session: Session) throws(Failure) -> (Submission, GraphFile) {
        let arguments = session.arguments
        if let word = arguments.operands.first {
            throw session.refuse("-f and a command (\"\(word)\") exclude each other", "give one of them")
        }
        if let option = OptionGroup.operation.flatMap(\.options).first(where: {
            arguments.has($0) && $0.name != "clean-env"
        }) {
            throw session.refuse(
                "--\(option.name) describes one operation, -f a graph", "write it into \"defaults\" of the file")
        }
        var bytes = try InputFile.read(path, arguments.path)
        let pairs = arguments.pairs(.set)
        if !pairs.isEmpty { bytes = try Substitution(pairs).fill(bytes, of: path) }
        let file = try GraphFile(path: path, bytes: bytes)
        return (prepared(file.submission, session), file)
    }

    private static func report(_ submission: Submission, _ session: Session, isSingle: Bool) throws(Failure)
        -> ExitStatus
    {
        let isDry = session.arguments.has(.dryRun)
        var submission = submission
        submission.terms.list = (session.wantsJSON || isDry).ifTrue
        let accepted = try session.submit(submission)
        if session.wantsJSON || isDry {
            try list(accepted, session, isDry: isDry)
        } else if isSingle {
            try session.output.line("\(accepted.first)")
        } else {
            let last = accepted.first + Int64(max(0, accepted.count - 1))
            let ids = accepted.count > 1 ? "\(accepted.first)-\(last)" : "\(accepted.first)"
            try session.output.line(
                "\(accepted.graph)  \(counted(accepted.count))  \(ids)" + (accepted.existing ? "  (existing)" : ""))
        }
        return .done
    }

    private static func list(_ accepted: SubmitReply, _ session: Session, isDry: Bool) throws(Failure) {
        let operations = accepted.operations ?? []
        guard session.wantsJSON else {
            try session.output.line("\(counted(accepted.count)) would be submitted (dry run)")
            for name in operations.compactMap(\.name) { try session.output.line("  \(name)") }
            return
        }
        for operation in operations {
            try session.row(AcceptedOperation(submitted: operation, existing: accepted.existing, dryRun: isDry))
        }
    }

    static func counted(_ count: Int) -> String {
        count == 1 ? "1 operation" : "\(count) operations"
    }
}

/// A submitted operation for a program.
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
