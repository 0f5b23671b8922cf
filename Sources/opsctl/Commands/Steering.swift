internal import OpsWire

/// Parts that the verbs that change operations share.
enum Steering {
    /// The selection, which must not be empty.
    static func selection(_ session: Session) throws(Failure) -> Selection {
        let selection = Selection(session.arguments)
        guard !selection.isEmpty else {
            throw session.refuse("no operation is selected", "give an id, a name, --graph G, --queue Q or --all")
        }
        return selection
    }

    /// Says in a line what was done: to the operation that the command line names, or to how many.
    static func report(
        _ reply: some WireRecord, _ touched: Int, _ done: String, _ selection: Selection, _ session: Session
    ) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        let isOne = !selection.isBroad && touched == 1
        let what = isOne ? (selection.refs?.first ?? "").printable : SubmitVerb.counted(touched)
        try session.output.line("\(done) \(what)")
    }

    /// Says in a line what was done to the one thing that the command line names.
    static func report(one done: String, _ session: Session) throws(Failure) {
        if session.wantsJSON { return try session.row(Touched.with { $0.touched = 1 }) }
        try session.output.line("\(done) \(session.arguments.operands[0].printable)")
    }
}
