internal import Glibc

/// A page over the screen of `top`, which is shown until a key is pressed.
struct TopPage {
    let session: Session
    let terminal: RawTerminal
    let interruption: Interruption

    /// Shows the output of another verb about an operation.
    ///
    /// - Parameters:
    ///   - key: Key that chooses the verb.
    ///   - host: Host whose daemon is asked; nil for this machine.
    func show(_ key: RawTerminal.Key, about id: Int64, host: String?) throws(Failure) {
        let words =
            switch key {
            case .character("l"): ["log", "-n", "\(max(1, session.screen.rows - 2))", "\(id)"]
            case .character("w"): ["why", "\(id)"]
            default: ["show", "\(id)"]
            }
        try session.clear()
        try session.output.flush()
        let socket = session.arguments.text(.socket).map { ["--socket", $0] } ?? []
        var parser = Parser(words + socket + (host.map { ["--host", $0] } ?? []))
        do throws(Failure) {
            let inner = try Session(try parser.parse())
            if let action = inner.arguments.verb.action { _ = try action(inner) }
            try inner.output.flush()
        } catch {
            for line in error.lines { try session.output.line(line) }
        }
        try awaitKey()
    }

    func awaitKey() throws(Failure) {
        try session.output.write(session.style(.dim, "\u{1b}[\(session.screen.rows);1Hpress any key"))
        try session.output.flush()
        _ = interruption.wait([STDIN_FILENO])
        _ = terminal.keys()
    }
}
