internal import OpsWire

/// `schedule`: when calendar expressions start something.
enum ScheduleVerb {
    private static let at = Option.value(
        "at", "EXPR", .text,
        "a calendar expression: a cron line, a calendar event of systemd, or \"every DURATION\"; may be repeated")
    private static let zone = Option.value(
        "zone", "ZONE", .text, "an IANA time zone, such as Europe/Berlin (default: $TZ, or the machine's)")
    private static let count = Option.value("count", "n", "N", .integer, "how many instants (default: 10)")
    private static let after = Option.value(
        "after", "INSTANT", .time, "begin strictly after an instant (default: now), given in the machine's time zone")

    static let verb = Verb(
        "schedule", .looking, "when a calendar expression starts something",
        forms: ["next --at EXPR [--at EXPR...] [--zone ZONE] [-n N] [--after INSTANT]"],
        about: [
            "An expression is a cron line of five fields or @hourly, @daily, @weekly, @monthly, @yearly; a calendar event of systemd.time(7) such as \"Mon..Fri *-*-* 02:00\", \"*-*~1\" (the last day of each month) or \"daily Europe/Berlin\"; or \"every 15m\", counted from the instant after which it begins. An instant of several expressions counts once. Days on which the clocks of the zone change are marked. A wrong expression, and one that never matches, is refused with status 5. No daemon is needed.",
            "Local times that the clocks skip run once, at the end of the gap; those that they show twice run the first time only. An expression whose hour begins with * follows elapsed time instead.",
        ],
        examples: [
            .init("At three on workdays", "opsctl schedule next --at '0 3 * * 1-5'"),
            .init(
                "The first Saturday of each month, in another zone",
                "opsctl schedule next --at 'Sat *-*-1..7 04:00' --zone America/New_York -n 3"),
        ],
        verbs: [
            Verb(
                "next", .looking, "the next instants of expressions",
                forms: ["--at EXPR [--at EXPR...] [--zone ZONE] [-n N] [--after INSTANT]"],
                options: [OptionGroup("Instants", [at, zone, count, after])], action: next)
        ])

    private static func next(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        let texts = arguments.texts(at)
        guard !texts.isEmpty else { throw session.refuse("there is no expression", "give --at EXPR") }
        let now = Instant.now
        let start = arguments.text(after).flatMap { text in
            Span.parse(text).map { now + $0 } ?? Instant.parse(text, now: now)
        }
        let preview = try SchedulePreview(texts, zone: arguments.text(zone), after: start ?? now)
        for note in preview.notes { StandardError.line("opsctl: \(note.printable)") }
        try preview.write(arguments.integer(count) ?? 10, session)
        return .done
    }
}
