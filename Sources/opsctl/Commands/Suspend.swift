internal import OpsWire

/// `suspend` and `resume`: stop starting operations, and start them again.
enum SuspendVerb {
    static let freeze = Option.flag("freeze", "also stop the processes of running operations")

    static let verb = Verb(
        "suspend", aliases: ["pause"], .steering, "stop starting operations",
        forms: ["[SELECTION] [--freeze]"],
        about: [
            "Without a selection it suspends the whole daemon; with only --graph or --queue, that graph or queue; otherwise the "
                + "selected operations. Nothing in a suspended group starts, not even operations that are added later.",
            "Running operations continue unless they are frozen. Frozen operations keep their workers and categories, and "
                + "their timeouts are paused. Suspensions survive restarts.",
        ],
        operands: .any(.operation, "OPERATION"), options: [OptionGroup("Suspending", [freeze]), .selection],
        examples: [
            .init("Start nothing at all", "opsctl suspend"),
            .init("One queue", "opsctl suspend --queue nightly"),
            .init("Stop a process where it is", "opsctl suspend --freeze 12"),
        ],
        action: { (session) throws(Failure) in
            let selection = Selection(session.arguments)
            let reply = try session.call(
                SuspendRequest.with {
                    $0.selection = selection.ifAny
                    $0.freeze = session.arguments.has(freeze).ifTrue
                })
            return try report(reply, "suspended", unchanged: "was suspended already", selection, session)
        })

    static let resume = Verb(
        "resume", .steering, "start operations again",
        forms: ["[SELECTION]"],
        about: [
            "Resumes only what it names: the daemon, a graph, a queue, or held and frozen operations."
        ],
        operands: .any(.operation, "OPERATION"), options: [.selection],
        examples: [
            .init("The whole daemon", "opsctl resume"),
            .init("One that was submitted with --hold", "opsctl resume deploy"),
        ],
        action: { (session) throws(Failure) in
            let selection = Selection(session.arguments)
            let reply = try session.call(ResumeRequest.with { $0.selection = selection.ifAny })
            return try report(reply, "resumed", unchanged: "was not suspended", selection, session)
        })

    private static func report(
        _ reply: Touched, _ done: String, unchanged: String, _ selection: Selection, _ session: Session
    ) throws(Failure) -> ExitStatus {
        if session.wantsJSON {
            try session.row(reply)
        } else if selection.isEmpty {
            try session.output.line(reply.touched > 0 ? "\(done) the daemon" : "the daemon \(unchanged)")
        } else if let level = selection.level {
            let name = level.name.printable
            try session.output.line(
                reply.touched > 0 ? "\(done) 1 \(level.kind): \(name)" : "\(level.kind) \(name) \(unchanged)")
        } else {
            try Steering.report(reply, reply.touched, done, selection, session)
        }
        return .done
    }
}
