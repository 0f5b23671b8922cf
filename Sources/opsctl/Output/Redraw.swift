internal import OpsClient
internal import OpsWire

/// Draws again after every change of the daemon, also after a restart of it, until interrupted.
enum Redraw {
    static func afterEachChange(
        _ session: Session, _ draw: (StatusReply) throws(Failure) -> Void
    ) throws(Failure) -> ExitStatus {
        while true {
            do throws(Failure) {
                var changes = try session.open(StatusRequest())
                while let status = try session.speaking({ () throws(ClientError) in try changes.next() }) {
                    try session.clear()
                    try draw(status)
                    try session.output.flush()
                }
                return .done
            } catch {
                try session.awaitReturn(after: error)
            }
        }
    }
}
