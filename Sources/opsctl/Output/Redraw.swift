internal import OpsKernel

/// Shows something anew after every change of the daemon, until it is interrupted.
enum Redraw {
    static func afterEachChange(_ session: Session, _ draw: () throws(Failure) -> ExitStatus) throws(Failure)
        -> ExitStatus
    {
        let changes = try session.connect()
        try changes.send("Status", more: true, parameters: Array("{}".utf8))
        while true {
            _ = try changes.receive()
            if session.screen.isCapable { try session.output.write("\u{1b}[H\u{1b}[2J") }
            _ = try draw()
            try session.output.flush()
        }
    }
}
