internal import OpsWire

/// `schedule`: submits graphs by the calendar.
enum ScheduleVerb {
    static let at = Option.value(
        "at", "EXPR", .text,
        "a calendar expression: a cron line, a calendar event of systemd, or \"every DURATION\"; may be repeated")
    static let zone = Option.value(
        "zone", "ZONE", .text,
        "an IANA time zone, such as Europe/Berlin (default: the daemon's; for next --at, $TZ or else the machine's)")
    static let count = Option.value("count", "n", "N", .integer, "number of instants or runs (default: 10)")
    private static let after = Option.value(
        "after", "INSTANT", .time,
        "list instants after this one (default: now), given in $TZ, or else the machine's time zone")

    static let verb = Verb(
        "schedule", aliases: ["schedules"], .keeping, "run commands and graphs at certain times, or for new files",
        forms: [
            "[ls]", "add NAME --at EXPR [OPTION...] [--] COMMAND [ARG...]", "add NAME --at EXPR [OPTION...] -f FILE",
            "apply -f FILE",
            "show NAME", "runs NAME [-n N]", "next NAME|--at EXPR... [-n N]", "run NAME", "pause NAME", "resume NAME",
            "rm NAME", "why NAME", "backfill NAME --from A --to B", "forget NAME KEY",
            "import [CRONTAB|-] [--apply]",
        ],
        about: [
            "EXPR is one of these: a cron expression of five fields; @hourly, @daily, @weekly, @monthly or "
                + "@yearly; a calendar event of systemd.time(7) such as \"Mon..Fri *-*-* 02:00\", \"*-*~1\" (the "
                + "last day of each month) or \"daily Europe/Berlin\"; \"every 15m\", counted from the moment "
                + "when the schedule is added; \"afterFinish 10m\", counted from the end of the previous run; "
                + "@reboot, once per boot of the machine. An instant that several expressions match counts "
                + "once. An expression that is wrong, or never matches, is refused with status 5.",
            "When clocks are changed, a local time that is skipped runs once, at the first time after it; one "
                + "that occurs twice runs only the first time. An expression whose hour begins with * follows "
                + "elapsed time instead.",
            "Every instant has one record, stored in the same commit as its run: after a crash or a restart "
                + "nothing runs twice and nothing is forgotten.",
            "Each user has their own names of schedules. If several users have a schedule with the same name, "
                + "NAME@USER is the one of USER.",
        ],
        examples: [
            .init("Every night", "opsctl schedule add backup --at '0 3 * * *' -- ./backup"),
            .init("The next runs of an expression", "opsctl schedule next --at '0 3 * * 1-5'"),
            .init(
                "The first Saturday of each month, in another zone",
                "opsctl schedule next --at 'Sat *-*-1..7 04:00' --zone America/New_York -n 3"),
        ],
        verbs: [
            Verb("ls", aliases: ["list"], .keeping, "list schedules", forms: [""], action: ScheduleList.list),
            ScheduleAdd.verb, ScheduleAdd.applyVerb,
            Verb(
                "show", .keeping, "show a schedule", forms: ["NAME"], operands: .one(.text, "NAME"),
                action: ScheduleList.show),
            Verb(
                "runs", .keeping, "list the runs of a schedule, and instants that did not run", forms: ["NAME [-n N]"],
                operands: .one(.text, "NAME"), options: [OptionGroup("Runs", [count])], action: ScheduleList.runs),
            next,
            Verb(
                "run", .keeping, "start a run now", forms: ["NAME"],
                operands: .one(.text, "NAME"), action: run),
            Verb(
                "pause", .keeping, "start no runs until resume; their instants are recorded", forms: ["NAME"],
                operands: .one(.text, "NAME"),
                action: { (session) throws(Failure) in try pause(session, true) }),
            Verb(
                "resume", .keeping, "end a pause", forms: ["NAME"], operands: .one(.text, "NAME"),
                action: { (session) throws(Failure) in try pause(session, false) }),
            Verb(
                "rm", aliases: ["remove"], .keeping, "remove a schedule and its records; the graphs of its runs stay",
                forms: ["NAME"], operands: .one(.text, "NAME"), action: remove),
            Verb(
                "forget", .keeping, "let a file or a line trigger another run", forms: ["NAME KEY"],
                operands: .some(.text, "NAME KEY"), action: forget),
            ScheduleQuestions.why, ScheduleQuestions.backfill, ScheduleImport.verb,
        ], action: ScheduleList.list)

    static let next = Verb(
        "next", .keeping, "list the next instants of a schedule, or of expressions",
        forms: ["NAME [-n N] [--after INSTANT]", "--at EXPR [--at EXPR...] [--zone ZONE] [-n N] [--after INSTANT]"],
        about: [
            "With --at no daemon is needed. Days on which the clocks of the zone change are marked."
        ],
        operands: .perhaps(.text, "NAME"), options: [OptionGroup("Instants", [at, zone, count, after])],
        action: showNext)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let reply = try session.call(RunScheduleRequest.with { $0.name = session.arguments.operands[0] })
        if session.wantsJSON { try session.row(reply) } else { try session.output.line(reply.graph) }
        return .done
    }

    private static func pause(_ session: Session, _ isPaused: Bool) throws(Failure) -> ExitStatus {
        _ = try session.call(
            PauseScheduleRequest.with {
                $0.name = session.arguments.operands[0]
                $0.paused = isPaused
            })
        try Steering.report(one: isPaused ? "paused schedule" : "resumed schedule", session)
        return .done
    }

    private static func remove(_ session: Session) throws(Failure) -> ExitStatus {
        _ = try session.call(RemoveScheduleRequest.with { $0.name = session.arguments.operands[0] })
        try Steering.report(one: "removed schedule", session)
        return .done
    }

    private static func forget(_ session: Session) throws(Failure) -> ExitStatus {
        let words = session.arguments.operands
        guard words.count == 2 else {
            throw session.refuse("a schedule and a file or line are needed", "write opsctl schedule forget NAME KEY")
        }
        var key = words[1]
        if !key.hasPrefix("/") {
            let schedule = try session.call(ListSchedulesRequest.with { $0.name = words[0] }).schedules.first
            // A printed line is a key as it is.
            if schedule?.at.first?.hasPrefix("onPath ") == true {
                key = OperationKeys(arguments: session.arguments).located(key)
            }
        }
        _ = try session.call(
            ForgetTriggerRequest.with {
                $0.name = words[0]
                $0.key = key
            })
        try Steering.report(one: "forgot key of schedule", session)
        return .done
    }

    private static func showNext(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let (texts, zoneName) = (arguments.texts(at), arguments.text(zone))
        let now = Instant.now
        let start = arguments.text(after).flatMap { text in
            Span.parse(text).map { now + $0 } ?? Instant.parse(text, now: now)
        }
        if let name = arguments.operands.first {
            guard session.hosts.hosts.count < 2 else {
                throw session.refuse("it takes one host", "name one of them")
            }
            guard texts.isEmpty, zoneName == nil else {
                throw session.refuse("NAME and --at or --zone cannot be used together", "leave one out")
            }
            let reply = try session.call(
                ScheduleInstantsRequest.with {
                    $0.name = name
                    $0.after = start?.rfc3339
                    $0.limit = arguments.integer(count)
                })
            try SchedulePreview.write(reply.instants, zone: reply.zone, session)
            return .done
        }
        guard !texts.isEmpty else { throw session.refuse("no expression is given", "give NAME or --at EXPR") }
        let preview = try SchedulePreview(texts, zone: zoneName, after: start ?? now)
        for note in preview.notes { StandardError.line("opsctl: \(note.printable)") }
        try preview.write(arguments.integer(count) ?? 10, session)
        return .done
    }
}
