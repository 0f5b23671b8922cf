internal import OpsWire

/// What goes on in a graph while it goes on.
enum ProgressDisplay {
    /// Waits until all of a graph has finished, telling of every end.
    static func run(_ session: Session, graph: String) throws(Failure) -> ExitStatus {
        var tally = WaitVerb.Tally()
        try session.stream("Wait") {
            $0.key("selection")
            $0.object { $0.member("graph", graph) }
        } each: { (reply) throws(Failure) in
            for ended in reply["ended"]?.elements ?? [] {
                tally.add(ended)
                try WaitVerb.tell(ended, session)
            }
            try session.output.flush()
            return true
        }
        return tally.status(any: false, exitCode: false)
    }
}
