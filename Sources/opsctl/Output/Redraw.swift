internal import OpsSystem

/// Shows something anew after every change of the daemon, until it is interrupted.
enum Redraw {
    static func afterEachChange(_ session: Session, _ draw: () throws(Failure) -> ExitStatus) throws(Failure)
        -> ExitStatus
    {
        let changes = try session.connect()
        try changes.send("Status", more: true)
        while true {
            _ = try changes.receive()
            try session.clear()
            _ = try draw()
            try session.output.flush()
        }
    }
}
