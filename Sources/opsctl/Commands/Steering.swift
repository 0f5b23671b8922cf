internal import OpsWire

/// Functions that the verbs share that change operations.
enum Steering {
    /// Returns the selection, which must not be empty.
    static func selection(_ session: Session) throws(Failure) -> Selection {
        let selection = Selection(session.arguments)
        guard !selection.isEmpty else {
            throw session.refuse("no operation is selected", "give an id, a name, --graph G, --queue Q or --all")
        }
        return selection
    }

    /// Prints in one line what was done, with the name of the operation or the number of operations.
    static func report(
        _ reply: some WireRecord, _ touched: Int, _ done: String, _ selection: Selection, _ session: Session
    ) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        let isOne = !selection.isBroad && touched == 1
        let what = isOne ? (selection.refs?.first ?? "").printable : SubmitVerb.counted(touched)
        try session.output.line("\(done) \(what)")
    }

    /// Prints in one line what was done to the only thing that the command line names.
    static func report(one done: String, _ session: Session) throws(Failure) {
        if session.wantsJSON { return try session.row(Touched.with { $0.touched = 1 }) }
        try session.output.line("\(done) \(session.arguments.operands[0].printable)")
    }
}
