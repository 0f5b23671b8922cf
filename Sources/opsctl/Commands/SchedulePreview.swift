internal import OpsCalendar
internal import OpsWire

/// Next instants of calendar expressions, and the zone in which they are shown.
struct SchedulePreview {
    /// Warnings about expressions that are accepted.
    private(set) var notes: [String] = []
    private let zone: ZoneRules
    private let recurrences: Recurrences

    init(_ texts: [String], zone name: String?, after: Instant) throws(Failure) {
        let start = UnixTime(flooringNanoseconds: after.nanoseconds)
        var expressions: [CalendarExpression] = []
        for text in texts { expressions.append(try Self.expression(text)) }
        let own = expressions[0].zoneName
        // If all expressions name the same zone, the instants are shown in that zone.
        let shown = name ?? (expressions.allSatisfy { $0.zoneName == own } ? own : nil)
        let clock = if let shown { try ZoneSource.zone(shown) } else { try ZoneSource.machine() }
        var all: [Recurrence] = []
        for expression in expressions {
            notes += expression.warnings.map { "warning: \($0)" }
            let rules = if let name = expression.zoneName { try ZoneSource.zone(name) } else { clock }
            let recurrence = Recurrence(expression, zone: rules, start: start)
            switch expression.timing {
            case .afterFinish, .reboot:
                notes.append("\"\(expression)\" starts after an event: the calendar has no instants of it")
            case .pattern, .every:
                guard recurrence.next(after: start) != nil else {
                    throw Failure(
                        .refused, "schedule next", "\"\(expression)\" has no instant after \(after.rfc3339)",
                        "its day never comes, or its years are over")
                }
                all.append(recurrence)
            }
        }
        zone = clock
        recurrences = Recurrences(all, after: start)
    }

    private static func expression(_ text: String) throws(Failure) -> CalendarExpression {
        do throws(CalendarProblem) {
            return try CalendarExpression(text, duration: { DurationText.parse($0)?.nanoseconds })
        } catch {
            throw Failure(.refused, "--at", "\(error)")
        }
    }

    // MARK: - Output

    func write(_ count: Int, _ session: Session) throws(Failure) {
        var rows: [ScheduleNextRow] = []
        for instant in recurrences.prefix(count) {
            // Instants of the wire format end in 2262.
            guard let nanoseconds = instant.nanoseconds else { break }
            let nominal = InstantText.format(WallInstant(nanoseconds: nanoseconds))
            rows.append(.with { ($0.nominal, $0.local, $0.start) = (nominal, rfc3339(instant), nominal) })
        }
        try Self.write(rows, zone, session)
    }

    /// Writes the next instants of a schedule of the daemon, which knows the local times.
    static func write(_ instants: [ScheduleNextRow], zone: String, _ session: Session) throws(Failure) {
        // This machine may not have the file of the zone. Then only the changes of the clock are not shown.
        try write(instants, try? ZoneSource.zone(zone), session)
    }

    private static func write(
        _ rows: [ScheduleNextRow], _ zone: ZoneRules?, _ session: Session
    ) throws(Failure) {
        if session.wantsJSON {
            for row in rows { try session.row(row) }
            return
        }
        var table = Table(
            [.init("LOCAL TIME"), .init("UTC"), .init("CLOCKS", elastic: true)],
            style: session.style, columns: session.screen.columns)
        for row in rows {
            let change = date(row.local).flatMap { zone?.clockChange(on: $0) }
            try table.add(
                [
                    .init(local(row.local)), .init("\(row.nominal.prefix(19))Z"),
                    .init(change.map(text) ?? "", .yellow),
                ], to: session.output)
        }
        try table.finish(session.output)
    }

    /// Returns the date of an instant in RFC 3339.
    private static func date(_ text: String) -> LocalDate? {
        let parts = text.prefix(10).split(separator: "-").compactMap { Int($0) }
        return parts.count == 3 ? LocalDate(year: parts[0], month: parts[1], day: parts[2]) : nil
    }

    /// Formats an instant in RFC 3339: `Sun 2026-03-29 03:00:00 +02:00`
    private static func local(_ text: String) -> String {
        let weekday = date(text).map { ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][$0.weekday] + " " } ?? ""
        return "\(weekday)\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(text.dropFirst(19))"
    }

    private func rfc3339(_ instant: UnixTime) -> String {
        let local = zone.localTime(at: instant)
        return Self.day(local) + "T" + Self.clock(local) + Self.offset(zone.offset(at: instant))
    }

    private static func day(_ local: LocalTime) -> String {
        let date = local.date
        return "\(Instant.padded(date.year, 4))-\(Instant.padded(date.month, 2))-\(Instant.padded(date.day, 2))"
    }

    private static func clock(_ local: LocalTime) -> String {
        [local.hour, local.minute, local.second].map { Instant.padded($0, 2) }.joined(separator: ":")
    }

    /// Formats an offset: `+02:00`. Seconds are dropped; only the local mean times before 1972 have them.
    private static func offset(_ seconds: Int) -> String {
        let minutes = abs(seconds) / 60
        return (seconds < 0 ? "-" : "+") + "\(Instant.padded(minutes / 60, 2)):\(Instant.padded(minutes % 60, 2))"
    }

    /// Describes a change of the clock: `02:00:00 becomes 03:00:00`, with the dates if they differ.
    private static func text(_ change: ClockChange) -> String {
        let (before, after) = (change.localBefore, change.localAfter)
        guard before.date != after.date else { return "\(clock(before)) becomes \(clock(after))" }
        return "\(day(before)) \(clock(before)) becomes \(day(after)) \(clock(after))"
    }
}
