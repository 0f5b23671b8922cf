internal import OpsWire

/// `cancel`: ends waiting operations at once, and running ones with signals.
enum CancelVerb {
    static let reason = Option.value("reason", "m", "TEXT", .text, "text that is recorded and shown as the cause")
    static let wait = Option.flag("wait", "w", "return when all of them have finished")
    static let force = Option.flag("force", "end the operation even if its processes cannot be killed")

    static let verb = Verb(
        "cancel", .steering, "cancel operations",
        forms: ["SELECTION [--reason TEXT] [--wait]"],
        about: [
            "Waiting operations end at once; running ones get SIGTERM, then SIGKILL after the grace period.",
            "Cancelling an operation that has finished is an error; in a selection finished ones are ignored.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Cancelling", [reason, wait, force]), .selection],
        examples: [
            .init("One", "opsctl cancel 12 --reason \"wrong branch\""),
            .init("A graph, waiting until it has finished", "opsctl cancel --graph g7 --wait"),
            .init("A range", "opsctl cancel 10-20"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let selection = try Steering.selection(session)
        let reply = try session.call(
            CancelRequest.with {
                $0.selection = selection
                $0.reason = session.arguments.text(reason)
                $0.force = session.arguments.has(force).ifTrue
            })
        try Steering.report(reply, reply.touched, "cancelled", selection, session)
        guard session.arguments.has(wait), !reply.ids.isEmpty else { return .done }
        try session.output.flush()
        try session.wait(for: reply.ids)
        return .done
    }
}
