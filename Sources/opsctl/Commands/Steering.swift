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

    /// Writes the number of changed operations, unless the command line names a single one.
    static func report(
        _ reply: some WireRecord, _ touched: Int, _ done: String, _ selection: Selection, _ session: Session
    ) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        guard selection.isBroad else { return }
        try session.output.line("\(done) \(SubmitVerb.counted(touched))")
    }

    /// The one thing that the command line names was touched: news for programs alone.
    static func report(one session: Session) throws(Failure) {
        if session.wantsJSON { try session.row(Touched.with { $0.touched = 1 }) }
    }
}
