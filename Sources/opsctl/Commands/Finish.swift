internal import OpsWire

/// `finish`: ends an operation with `completion: notify`.
enum FinishVerb {
    static let failed = Option.flag("failed", "reject: the operation fails (default: it succeeds)")
    static let message = Option.value("message", "m", "TEXT", .text, "text that is recorded as the cause")

    static let verb = Verb(
        "finish", .steering, "approve or reject an operation that has completion: notify",
        forms: ["OPERATION [--failed] [--message TEXT]"],
        about: ["An operation with completion: notify does not end with its process."],
        operands: .one(.operation, "OPERATION"), options: [OptionGroup("Finishing", [failed, message])],
        examples: [
            .init("Approve", "opsctl finish approval"),
            .init("Reject", "opsctl finish approval --failed --message \"not on a Friday\""),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        _ = try session.call(
            FinishRequest.with {
                $0.ref = arguments.operands[0]
                $0.failed = arguments.has(failed).ifTrue
                $0.message = arguments.text(message)
            })
        try Steering.report(one: arguments.has(failed) ? "rejected" : "approved", session)
        return .done
    }
}
