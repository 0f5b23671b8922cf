internal import OpsWire

/// `note`: attaches a note to an operation.
enum NoteVerb {
    static let verb = Verb(
        "note", .steering, "attach a note to an operation",
        forms: ["OPERATION TEXT"],
        about: [
            "Works in any state and replaces an earlier note; an empty TEXT removes it. opsctl show prints it."
        ],
        operands: .list(.operation, name: "OPERATION or TEXT", atLeast: 2, atMost: 2),
        examples: [
            .init("Why it failed, once somebody knows", "opsctl note 12 'the disk of db3 was full, see ticket 481'"),
            .init("Remove it", "opsctl note 12 ''"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let words = session.arguments.operands
        _ = try session.call(NoteRequest.with { ($0.ref, $0.text) = (words[0], words[1]) })
        try Steering.report(one: words[1].isEmpty ? "removed the note of" : "attached a note to", session)
        return .done
    }
}
