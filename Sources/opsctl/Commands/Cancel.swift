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

/// What verbs that change operations have in common.
enum Steering {
    /// The selection, which must not be empty.
    static func selection(_ session: Session) throws(Failure) -> Selection {
        let selection = Selection(session.arguments)
        guard !selection.isEmpty else {
            throw session.refuse("no operation is selected", "give an id, a name, --graph G, --queue Q or --all")
        }
        return selection
    }

    /// How many were touched, where that was not plain from the command line.
    static func report(_ reply: JSONView, _ done: String, _ selection: Selection, _ session: Session) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        guard selection.isBroad else { return }
        try session.output.line("\(done) \(SubmitVerb.counted(reply["touched"]?.integer ?? 0))")
    }

    /// The one thing that the command line names was touched: news for programs alone.
    static func report(one session: Session) throws(Failure) {
        if session.wantsJSON { try session.row { $0.member("touched", 1) } }
    }
}
