internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// `schedule why` and `backfill`.
enum ScheduleQuestions {
    static let why = Verb(
        "why", .keeping, "explain what a schedule waits for, and the result of its latest instant", forms: ["NAME"],
        operands: .one(.text, "NAME"), action: showReasons)

    private static let from = Option.value("from", "INSTANT", .past, "first instant, inclusive")
    private static let to = Option.value("to", "INSTANT", .past, "last instant, inclusive")
    private static let overlap = Option.value(
        "overlap", "queueAll|allow", .text, "run one after the other (default), or together")

    static let backfill = Verb(
        "backfill", .keeping, "start runs for past instants that did not run",
        forms: ["NAME --from A --to B [--overlap queueAll|allow]"],
        about: [
            "Starts a run for each instant from A through B that has not run: missed, skipped and paused instants, and those before the schedule was added. A second call with the same instants does nothing. At most 1000 instants are possible."
        ],
        operands: .one(.text, "NAME"), options: [OptionGroup("Instants", [from, to, overlap])], action: fill)

    private static func showReasons(_ session: Session) throws(Failure) -> ExitStatus {
        let reply = try session.call(WhyScheduleRequest.with { $0.name = session.arguments.operands[0] })
        if session.wantsJSON {
            try session.row(reply)
            return .done
        }
        try session.output.line(session.style(.bold, reply.schedule.printable))
        for reason in reply.waitingFor {
            let kind = DisplayWidth.pad(reason.kind, 10)
            try session.output.line("  \(session.style(.yellow, kind))  \(WhyVerb.local(reason.text).printable)")
        }
        return .done
    }

    private static func fill(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let now = Instant.now
        func instant(_ option: Option) throws(Failure) -> String {
            guard let text = arguments.text(option) else {
                throw session.refuse("--\(option.name) is missing", "give --from A and --to B")
            }
            return Instant.past(text, now: now)?.rfc3339 ?? text
        }
        var request = BackfillScheduleRequest()
        request.name = arguments.operands[0]
        request.from = try instant(from)
        request.to = try instant(to)
        request.overlap = arguments.text(overlap)
        let reply = try session.call(request)
        if session.wantsJSON {
            for run in reply.runs { try session.row(run) }
            return .done
        }
        for run in reply.runs {
            let nominal = Instant.rfc3339(run.nominal)?.text(now: now) ?? run.nominal
            try session.output.line("\(run.graph ?? "")  \(nominal)")
        }
        let present = reply.present > 0 ? "; \(reply.present) had run already" : ""
        try session.output.line("started \(reply.runs.count) run\(reply.runs.count == 1 ? "" : "s")\(present)")
        return .done
    }
}
