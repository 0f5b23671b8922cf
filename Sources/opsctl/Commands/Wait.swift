internal import OpsWire

extension Option {
    static let exitCode = Option.flag(
        "exit-code",
        "exit with the status of the operation; 128+n for a signal, 124 if it timed out, 127 if the program was not "
            + "found, 126 if it could not be executed")
}

/// `wait`: waits for operations to finish.
enum WaitVerb {
    static let any = Option.flag("any", "return when the first has finished, with its result")
    static let timeout = Option.value("timeout", "t", "D", .duration, "give up after this time (exit status 7)")

    static let progress = Option.flag(
        "progress", "p", "show starts, ends and the output of failures: in a terminal as a live display")

    static let verb = Verb(
        "wait", .looking, "wait for operations to finish",
        forms: ["[SELECTION] [--any] [--timeout D] [--progress]"],
        about: [
            "Waits until everything in the queue or graph has finished, including what is added meanwhile. Earlier "
                + "failures count, operations that were not needed do not. --all waits for everything.",
            "Retried operations are waited for again; the last result counts.",
            "Exit status 0: all succeeded; 1: one did not; 7: timed out.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Waiting", [any, timeout, progress, .exitCode]), .selection],
        examples: [
            .init("Deploy after the builds", "opsctl wait build test && ./deploy"),
            .init("A graph, with a display", "opsctl wait --graph g7 --progress"),
            .init("The first of several", "opsctl wait --any 12 13 14"),
            .init("Exit as the operation did", "opsctl wait --exit-code build"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let selection = Selection(arguments)
        guard !selection.isEmpty else {
            throw session.refuse(
                "no operations to wait for", "name some, or give --graph G, --queue Q or --all")
        }
        let end = arguments.text(timeout).flatMap { Span.parse($0) }.map { Instant.now + $0 }
        // An answer of the daemon comes first, because it says how many operations are unfinished.
        session.deadline = end.map { $0 + Session.slack }
        let tally: Tally
        do throws(Failure) {
            tally =
                arguments.has(progress)
                ? try ProgressDisplay.wait(session, selection, until: end, any: arguments.has(any))
                : try quietly(session, selection, until: end)
        } catch {
            guard error.status == .timedOut, arguments.has(.exitCode) else { throw error }
            throw Failure(.operationTimedOut, error.what, error.why, error.advice)
        }
        return tally.status(any: arguments.has(any), exitCode: arguments.has(.exitCode))
    }

    private static func quietly(
        _ session: Session, _ selection: Selection, until end: Instant?
    ) throws(Failure) -> Tally {
        var tally = Tally()
        while true {
            do throws(Failure) {
                try stream(session, selection, until: end, &tally)
                return tally
            } catch {
                // The operations keep running while the daemon restarts.
                try session.awaitReturn(after: error)
            }
        }
    }

    private static func stream(
        _ session: Session, _ selection: Selection, until end: Instant?, _ tally: inout Tally
    ) throws(Failure) {
        let waitsForAny = session.arguments.has(any)
        try session.stream(WaitRequest(selection, any: waitsForAny, until: end)) { (reply) throws(Failure) in
            for ended in reply.ended where tally.add(ended) { try write(ended, session) }
            try session.output.flush()
            return !(waitsForAny && tally.first != nil)
        }
    }

    /// Writes an end: as JSON every end, otherwise only those without success.
    static func write(_ ended: EndedRow, _ session: Session, host: String? = nil) throws(Failure) {
        if session.wantsJSON { return try session.row(ended) }
        guard ended.isUnsuccessful else { return }
        let standing = Standing(state: .finished, outcome: ended.outcome)
        let name = ended.name.map { " " + $0.printable } ?? ""
        let cause = ended.cause.map { ": " + $0.printable } ?? ""
        try session.output.line(
            "\(session.style(standing.colour, standing.symbol)) \(host.map { $0 + ":" } ?? "")\(ended.id)\(name) \(standing.word)\(cause)"
        )
    }
}

extension WaitRequest {
    init(_ selection: Selection, any: Bool = false, until end: Instant? = nil) {
        self.init()
        self.selection = selection
        self.any = any.ifTrue
        timeout = end.map { "\(max(1, ($0 - .now).nanoseconds / 1_000_000))ms" }
    }
}
