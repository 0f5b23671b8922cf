internal import Glibc
internal import OpsWire

/// `run`: as if the command ran here: its output, its signals, its exit status.
enum RunVerb {
    static let verb = Verb(
        "run", .submitting, "submit, show the output, exit as the operation does",
        forms: ["[OPTION...] [--] COMMAND [ARG...]", "-f FILE|- [--set K=V]..."],
        about: [
            "Ctrl-C cancels the operation. Should this program die, the operation goes on.",
            "The exit status is the operation's own; 128+n for a signal, 124 where it timed out, 125 for whatever else went wrong.",
            "With --json each piece of output is an object as of log --json, with its stream, and the end one as of wait --json.",
            "With -f a graph is submitted and shown as it goes; the exit status is 0 where all of it succeeded, else 1.",
        ],
        operands: .command, options: [.running] + OptionGroup.operation,
        examples: [
            .init("Wait for the disk, then copy", "opsctl run --category disk -- cp -r photos /mnt/usb"),
            .init("A graph with a live display", "opsctl run -f build.json"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        if let path = arguments.text(.file) { return try runGraph(path, session) }
        let submission = try Submission(SubmitVerb.single(session, output: "split"))
        // What comes while it is on its way cancels it as soon as it is known.
        let interruption = try Interruption(ends)
        let accepted: Submission.Accepted
        do throws(Failure) {
            accepted = try submission.send(session, list: false)
        } catch {
            throw error.ofOne
        }
        return try Foreground(session, accepted.first, interruption).run()
    }

    private static func runGraph(_ path: String, _ session: Session) throws(Failure) -> ExitStatus {
        let (submission, file) = try SubmitVerb.graph(path, session)
        let interruption = try Interruption(ends)
        let accepted: Submission.Accepted
        do throws(Failure) {
            accepted = try submission.send(session, list: false)
        } catch {
            throw file.located(error)
        }
        return try ProgressDisplay.run(session, graph: accepted.graph, interruption)
    }

    private static let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
}

/// One operation in the foreground of a terminal.
private final class Foreground {
    private let session: Session
    private let id: Int
    private let interruption: Interruption
    private let output: LogFeed
    private let errors: LogFeed
    private var ending: Connection
    private var ended: JSONView?
    private var isOver = false

    init(_ session: Session, _ id: Int, _ interruption: Interruption) throws(Failure) {
        self.session = session
        self.id = id
        self.interruption = interruption
        output = try LogFeed(session, id: id, errors: false)
        errors = try LogFeed(session, id: id, errors: true)
        ending = try session.connect()
        try awaitEnd()
    }

    private func awaitEnd() throws(Failure) {
        try ending.send(
            "Wait", more: true,
            parameters: JSONWriter.object { text in
                text.key("selection")
                text.object { $0.member("refs", ["\(id)"]) }
            })
    }

    func run() throws(Failure) -> ExitStatus {
        while output.isOpen || errors.isOpen || !isOver {
            let readable = interruption.wait(
                [output.descriptor, errors.descriptor, isOver ? -1 : ending.descriptor])
            if let signal = interruption.take() { try cancel(signal) }
            // A terminal shows both streams in the order in which they came.
            if readable.contains(0) {
                try output.read { (reply, data) throws(Failure) in
                    if session.wantsJSON { try tell(reply, "stdout") } else { try session.output.write(data) }
                }
            }
            if readable.contains(1) {
                try errors.read { (reply, data) throws(Failure) in
                    if session.wantsJSON { try tell(reply, "stderr") } else { StandardError.write(data) }
                }
            }
            try session.output.flush()
            if readable.contains(2) { try takeEnd() }
        }
        guard let ended else { return .own }
        if session.wantsJSON {
            try session.row(ended)
        } else {
            tellEnd(ended)
        }
        return .of(ended)
    }

    /// A piece of output for a program, as `log` tells it, with the stream it is from.
    private func tell(_ reply: JSONView, _ stream: String) throws(Failure) {
        try session.row {
            for (key, value) in reply.members { $0.member(key, raw: value.raw) }
            $0.member("stream", stream)
        }
    }

    /// What the exit status does not say.
    private func tellEnd(_ ended: JSONView) {
        let outcome = ended["outcome"]?.text ?? ""
        if ended["exitCode"] == nil, ended["signal"] == nil, outcome != "succeeded" {
            StandardError.line(
                "opsctl: operation \(id) \(outcome): \((ended["cause"]?.text ?? "no cause is known").printable)")
        } else if outcome == "timedOut" {
            StandardError.line("opsctl: operation \(id): \((ended["cause"]?.text ?? "timed out").printable)")
        }
    }

    private func takeEnd() throws(Failure) {
        do throws(Failure) {
            guard try ending.fill() else { throw Refusal.lost(nil) }
            while !isOver, let reply = try ending.takeReply() {
                ended = reply.parameters["ended"]?.elements.last ?? ended
                isOver = !reply.continues
            }
        } catch {
            // The operation goes on while the daemon is restarted.
            try session.awaitReturn(after: session.named(error))
            ending = try session.connect()
            try awaitEnd()
        }
    }

    /// What a shell's child would feel: the operation is told to end, and we see how it does.
    private func cancel(_ signal: Int32) throws(Failure) {
        do throws(Failure) {
            try session.callUntilAnswered("Cancel") { text in
                text.key("selection")
                text.object { $0.member("refs", ["\(id)"]) }
                text.member(
                    "reason", signal == SIGINT ? "interrupted at the terminal" : "signal \(signal) to opsctl run")
            }
        } catch {
            // It has just finished by itself.
            guard error.status == .refused else { throw error }
        }
    }
}
