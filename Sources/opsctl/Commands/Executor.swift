internal import OpsWire

/// `executor`: lists executors other than this machine, and their connections.
enum ExecutorVerb {
    static let verb = Verb(
        "executor", aliases: ["executors"], .keeping, "list executors other than this machine", forms: ["[ls]"],
        about: [
            "An executor runs operations in another engine, such as Slurm. Executors are sections of "
                + "opsd.conf(5).",
            "Operations of a disconnected executor wait; those that are in flight continue.",
        ],
        examples: [.init("Executors and their connections", "opsctl executor ls")],
        verbs: [Verb("ls", aliases: ["list"], .keeping, "list executors", forms: [""], action: list)],
        action: list)

    private static func list(_ session: Session) throws(Failure) -> ExitStatus {
        let executors = try session.call(ListExecutorsRequest()).executors
        if session.wantsJSON {
            for executor in executors { try session.row(executor) }
            return .done
        }
        var table = Table(
            [
                .init("EXECUTOR", elastic: true), .init("KIND"), .init("STATE"), .init("SINCE"),
                .init("IN FLIGHT", right: true), .init("WINDOW", right: true),
            ], style: session.style, columns: session.screen.columns)
        let now = Instant.now
        for executor in executors {
            let isConnected = executor.state == .connected
            try table.add(
                [
                    .init(executor.name.printable, .bold), .init(executor.kind.printable),
                    .init(executor.state.rawValue.printable, isConnected ? .green : .yellow),
                    .init(Instant.rfc3339(executor.since)?.text(now: now) ?? ""), .init("\(executor.inFlight)"),
                    .init("\(executor.window)"),
                ], to: session.output)
        }
        try table.finish(session.output)
        return .done
    }
}
