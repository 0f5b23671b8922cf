internal import OpsWire

/// `retry`: runs finished operations again.
enum RetryVerb {
    static let downstream = Option.flag("downstream", "also retry everything after them, whatever its outcome")

    static let verb = Verb(
        "retry", .steering, "run finished operations again",
        forms: ["SELECTION [--downstream]"],
        about: [
            "Operations keep their ids and dependencies. Those that were skipped because of them are retried too; earlier "
                + "attempts and logs are kept.",
            "Operations given by id are retried whatever their outcome; of a selection such as --graph g7, only those that "
                + "did not succeed.",
        ],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Retrying", [downstream]), .selection],
        examples: [
            .init("One, and what was skipped because of it", "opsctl retry build"),
            .init("All of a graph that did not succeed", "opsctl retry --graph g7"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let selection = try Steering.selection(session)
        let reply = try session.call(
            RetryRequest.with {
                $0.selection = selection
                $0.downstream = session.arguments.has(downstream).ifTrue
            })
        try Steering.report(reply, reply.touched, "retried", selection, session)
        return .done
    }
}
