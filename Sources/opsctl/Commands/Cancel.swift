internal import OpsWire

/// `cancel`: what waits ends at once, what executes is told to.
enum CancelVerb {
    static let reason = Option.value("reason", "m", "TEXT", .text, "recorded, and shown as the cause")
    static let wait = Option.flag("wait", "w", "return when all of them have finished")
    static let force = Option.flag("force", "give up on processes that cannot be proven gone")

    static let verb = Verb(
        "cancel", .steering, "cancel operations",
        forms: ["SELECTION [--reason TEXT] [--wait]"],
        about: [
            "What waits is finished at once. What executes gets SIGTERM, and SIGKILL after its grace.",
            "Cancelling one that has finished is an error; in a selection the finished ones are left alone.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Cancelling", [reason, wait, force]), .selection],
        examples: [
            .init("One", "opsctl cancel 12 --reason \"wrong branch\""),
            .init("A graph, until it is gone", "opsctl cancel --graph g7 --wait"),
            .init("A range", "opsctl cancel 10-20"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let selection = try Steering.selection(session)
        let reply = try session.call("Cancel") {
            selection.member(of: &$0)
            $0.member("reason", session.arguments.text(reason))
            $0.member("force", session.arguments.has(force))
        }
        try Steering.report(reply, "cancelled", selection, session)
        guard session.arguments.has(wait), let ids = reply["ids"]?.elements, !ids.isEmpty else { return .done }
        try session.output.flush()
        try session.stream("Wait") {
            $0.key("selection")
            $0.object { $0.member("refs", ids.compactMap(\.integer).map(String.init)) }
        } each: { _ in
            true
        }
        return .done
    }
}
