internal import OpsClient
internal import OpsWire

/// Draws again after every change of the daemon, until interrupted.
enum Redraw {
    static func afterEachChange(_ session: Session, _ draw: () throws(Failure) -> ExitStatus) throws(Failure)
        -> ExitStatus
    {
        var changes = try session.open(StatusRequest())
        while try session.speaking({ () throws(ClientError) in try changes.next() }) != nil {
            try session.clear()
            _ = try draw()
            try session.output.flush()
        }
        return .done
    }
}
