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
            "With -f a graph is submitted and shown as it goes; the exit status is 0 where all of it succeeded, else 1.",
        ],
        operands: .command, options: [.submission] + OptionGroup.operation,
        examples: [
            .init("Wait for the disk, then copy", "opsctl run --category disk -- cp -r photos /mnt/usb"),
            .init("A graph with a live display", "opsctl run -f build.json"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        for option in [Option.each, .array, .dryRun] where arguments.has(option) {
            throw session.refuse("--\(option.name) is for submit", "use opsctl submit --\(option.name)")
        }
        if let path = arguments.text(.file) { return try runGraph(path, session) }
        let accepted: Submission.Accepted
        do throws(Failure) {
            accepted = try Submission(SubmitVerb.single(session, output: "split")).send(session, list: false)
        } catch {
            throw error.ofOne
        }
        return try Foreground(session, accepted.first).run()
    }

    private static func runGraph(_ path: String, _ session: Session) throws(Failure) -> ExitStatus {
        let (submission, file) = try SubmitVerb.graph(path, session)
        let accepted: Submission.Accepted
        do throws(Failure) {
            accepted = try submission.send(session, list: false)
        } catch {
            throw file.located(error)
        }
        return try ProgressDisplay.run(session, graph: accepted.graph)
    }
}

/// One operation in the foreground of a terminal.
private final class Foreground {
    private enum Stream: Int { case output, errors, end }

    private let session: Session
    private let id: Int
    private let interruption: Interruption
    private var streams: [Connection] = []
    /// How many bytes of either output have been shown.
    private var shown = [0, 0]
    private var isOpen = [true, true, true]
    private var ended: JSONView?

    init(_ session: Session, _ id: Int) throws(Failure) {
        self.session = session
        self.id = id
        interruption = try Interruption([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        try open()
    }

    /// Follows what is still open, from where it was left.
    private func open() throws(Failure) {
        streams = [try session.connect(), try session.connect(), try session.connect()]
        for index in 0...1 where isOpen[index] {
            try streams[index].send(
                "Log", more: true,
                parameters: JSONWriter.object {
                    $0.member("ref", "\(id)")
                    $0.member("stderr", index == 1)
                    $0.member("offset", shown[index] > 0 ? shown[index] : nil)
                    $0.member("follow", true)
                })
        }
        try streams[2].send(
            "Wait", more: true,
            parameters: JSONWriter.object { text in
                text.key("selection")
                text.object { $0.member("refs", ["\(id)"]) }
            })
    }

    func run() throws(Failure) -> ExitStatus {
        while isOpen.contains(true) {
            let open = streams.indices.filter { isOpen[$0] }
            let readable = interruption.wait(open.map { streams[$0].descriptor })
            if let signal = interruption.take() { try cancel(signal) }
            do throws(Failure) {
                for place in readable { try read(open[place]) }
            } catch {
                // The operation goes on while the daemon is restarted.
                try session.awaitReturn(after: error)
                try self.open()
            }
            try session.output.flush()
        }
        guard let ended else { return .own }
        let outcome = ended["outcome"]?.text ?? ""
        if ended["exitCode"] == nil, ended["signal"] == nil, outcome != "succeeded" {
            StandardError.line(
                "opsctl: operation \(id) \(outcome): \((ended["cause"]?.text ?? "no cause is known").printable)")
        } else if outcome == "timedOut" {
            StandardError.line("opsctl: operation \(id): \((ended["cause"]?.text ?? "timed out").printable)")
        }
        return WaitVerb.ownStatus(ended)
    }

    private func read(_ index: Int) throws(Failure) {
        guard try streams[index].fill() else { throw Refusal.lost(nil) }
        do throws(Failure) {
            while isOpen[index], let reply = try streams[index].takeReply() { try take(reply, from: index) }
        } catch {
            // An output that goes to a file has no log to follow: the end is what matters.
            let isOutput = Stream(rawValue: index) != .end && error.what != "standard output" && !error.isLoss
            guard isOutput else { throw session.named(error) }
            isOpen[index] = false
        }
    }

    private func take(_ reply: Connection.Reply, from index: Int) throws(Failure) {
        isOpen[index] = reply.continues
        let data = index < 2 ? LogVerb.data(reply.parameters) : []
        if index < 2 { shown[index] = (reply.parameters["offset"]?.integer ?? shown[index]) + data.count }
        switch Stream(rawValue: index) {
        case .output:
            try session.output.write(data)
            // A terminal shows both streams in the order in which they came.
            try session.output.flush()
        case .errors: StandardError.write(data)
        case .end, nil: ended = reply.parameters["ended"]?.elements.last ?? ended
        }
    }

    /// What a shell's child would feel: the operation is told to end, and we see how it does.
    private func cancel(_ signal: Int32) throws(Failure) {
        do throws(Failure) {
            _ = try session.call("Cancel") { text in
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
