internal import Glibc
internal import OpsClient
internal import OpsWire

/// `run`: runs a command as if it ran here, with its output, signals and exit status.
enum RunVerb {
    static let verb = Verb(
        "run", .submitting, "submit, show the output, exit as the operation does",
        forms: ["[OPTION...] [--] COMMAND [ARG...]", "-f FILE|- [--set K=V]..."],
        about: [
            "Ctrl-C cancels the operation, and opsctl waits for its end. Once the daemon has accepted the cancel, a "
                + "second Ctrl-C ends opsctl at once. If opsctl dies, the operation keeps running.",
            "The exit status is that of the operation; 128+n for a signal, 124 if it timed out, 127 if the program was not "
                + "found, 126 if it could not be executed, 125 for other errors.",
            "Standard input is passed on to the first attempt if it is a file or a pipe and no --stdin is given.",
            "With --json, each piece of output is an object as with log --json, and the end is one as with wait --json.",
            "With -f, submits a graph and shows it while it runs. The exit status is 0 if all of it succeeded, else 1.",
        ],
        operands: .command, options: [.running] + OptionGroup.operation,
        examples: [
            .init("Wait for the disk, then copy", "opsctl run --category disk -- cp -r photos /mnt/usb"),
            .init("A graph with a live display", "opsctl run -f build.yaml"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        if let path = arguments.text(.file) { return try runGraph(path, session) }
        try SubmitVerb.refuseOptionsOfFile(session)
        let input = try ForwardedInput(session)
        let submission = try SubmitVerb.single(session, output: "split", input: input?.path)
        // A signal during the submission cancels the operation as soon as its id is known.
        let interruption = try Interruption(ends)
        let accepted: SubmitReply
        do throws(Failure) {
            accepted = try session.submit(submission)
        } catch {
            throw error.ofOne
        }
        // An operation that was submitted earlier has its own input.
        if !accepted.existing { input?.start() }
        do throws(Failure) {
            return try Foreground(session, accepted.first, interruption, input).run()
        } catch {
            let id = accepted.first
            throw error.afterSubmission("operation \(id) may still run: opsctl wait \(id)")
        }
    }

    private static func runGraph(_ path: String, _ session: Session) throws(Failure) -> ExitStatus {
        let (submission, file) = try SubmitVerb.graph(path, session)
        let interruption = try Interruption(ends)
        let accepted: SubmitReply
        do throws(Failure) {
            accepted = try session.submit(submission)
        } catch {
            throw file.located(error)
        }
        let graph = accepted.graph
        do throws(Failure) {
            return try ProgressDisplay.run(session, graph: graph, interruption)
        } catch {
            throw error.afterSubmission("graph \(graph) may still run: opsctl wait --graph \(graph)")
        }
    }

    private static let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
}

/// One operation in the foreground of a terminal.
private final class Foreground {
    private let session: Session
    private let id: Int64
    private let interruption: Interruption
    private let output: LogFeed
    private let errors: LogFeed
    private let input: ForwardedInput?
    private var ending: ReplyStream<WaitReply>
    private var ended: EndedRow?
    /// True once a signal has cancelled the operation.
    private var isCancelled = false

    init(
        _ session: Session, _ id: Int64, _ interruption: Interruption, _ input: ForwardedInput?
    ) throws(Failure) {
        self.input = input
        self.session = session
        self.id = id
        self.interruption = interruption
        let hasSecrets = session.arguments.has(.secret) || session.arguments.has(.again)
        output = try LogFeed(session, id: id, errors: false, hasSecrets: hasSecrets)
        errors = try LogFeed(session, id: id, errors: true, hasSecrets: hasSecrets)
        ending = try session.open(WaitRequest(Selection(id)))
    }

    func run() throws(Failure) -> ExitStatus {
        while output.isOpen || errors.isOpen || !ending.isOver {
            let readable = interruption.wait(
                [output.descriptor, errors.descriptor, ending.isOver ? -1 : ending.descriptor, input?.source ?? -1],
                writable: input?.target ?? -1, milliseconds: input?.pause)
            input?.proceed(hasInput: readable.contains(3))
            if let signal = interruption.nextSignal() {
                guard !isCancelled else { throw Interruption.secondSignal(signal) }
                try cancel(signal)
                isCancelled = true
            }
            // Pieces of both streams are written in the order in which they arrived.
            if readable.contains(0) {
                try output.read { (reply, data) throws(Failure) in
                    if session.wantsJSON {
                        try session.row(LogPiece(reply: reply, stream: "stdout"))
                    } else {
                        try session.output.write(data)
                    }
                }
            }
            if readable.contains(1) {
                try errors.read { (reply, data) throws(Failure) in
                    if session.wantsJSON {
                        try session.row(LogPiece(reply: reply, stream: "stderr"))
                    } else {
                        StandardError.write(data)
                    }
                }
            }
            try session.output.flush()
            if readable.contains(2) { try readEnd() }
        }
        guard let ended else { return .own }
        if session.wantsJSON {
            try session.row(ended)
        } else {
            printEnd(ended)
        }
        return .of(ended)
    }

    /// Prints what the exit status does not show.
    private func printEnd(_ ended: EndedRow) {
        let outcome = ended.outcome
        if ended.notNeeded {
            StandardError.line("opsctl: operation \(id) was not needed: \((ended.cause ?? "").printable)")
        } else if ended.exitCode == nil, ended.signal == nil, outcome != .succeeded {
            StandardError.line(
                "opsctl: operation \(id) \(outcome.rawValue): \((ended.cause ?? "no cause is known").printable)")
            let words = session.arguments.operands
            if words.count == 1, words[0].contains(" "), ExitStatus.of(ended) == .programNotFound {
                StandardError.line(
                    "opsctl: \"\(words[0].printable)\" contains a blank, use --shell or leave the quotes away")
            }
        } else if outcome == .timedOut {
            StandardError.line("opsctl: operation \(id): \((ended.cause ?? "timed out").printable)")
        }
    }

    private func readEnd() throws(Failure) {
        do throws(Failure) {
            try session.speaking { () throws(ClientError) in
                try ending.receive()
                while let reply = try ending.arrived() { ended = reply.ended.last ?? ended }
            }
        } catch {
            // The operation keeps running while the daemon restarts.
            try session.awaitReturn(after: error)
            ending = try session.open(WaitRequest(Selection(id)))
        }
    }

    /// Cancels the operation, as a signal ends a child of a shell, and shows its end.
    private func cancel(_ signal: Int32) throws(Failure) {
        do throws(Failure) {
            try session.callUntilAnswered(
                CancelRequest.with {
                    $0.selection = Selection(id)
                    $0.reason = Interruption.reason(signal)
                })
        } catch {
            // The operation has just finished by itself.
            guard error.status == .refused else { throw error }
        }
    }
}

/// A piece of output as JSON, as `log` prints it, with its stream.
private struct LogPiece: WireRecord {
    var reply = LogReply()
    var stream = ""

    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try reply.visit(&visitor)
        try visitor.field("stream", &stream)
    }
}
