internal import OpsWire

/// `note`: a person's words beside an operation.
enum NoteVerb {
    static let verb = Verb(
        "note", .steering, "put a note beside an operation",
        forms: ["OPERATION TEXT"],
        about: [
            "Whatever its state; show tells it. It takes the place of an earlier note, and an empty TEXT takes that away."
        ],
        operands: .list(.operation, name: "OPERATION or TEXT", atLeast: 2, atMost: 2),
        examples: [
            .init("Why it failed, once somebody knows", "opsctl note 12 'the disk of db3 was full, see ticket 481'"),
            .init("Take it away", "opsctl note 12 ''"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let words = session.arguments.operands
        _ = try session.call(
            NoteRequest.with {
                $0.ref = words[0]
                $0.text = words[1]
            })
        try Steering.report(one: session)
        return .done
    }
}
