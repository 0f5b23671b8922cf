import Testing

@testable import OpsCalendar

/// Compares instants with a walk through each minute of weeks in which clocks change. The walk uses no periods, gaps or
/// bit masks, only the clock of the zone and plain lists of numbers.
@Suite struct WalkTests {
    private struct Line {
        var text: String
        var minutes: [Int]
        var hours: [Int]
        var days: [Int]
        var weekdays: [Int]
        var startsWithStar: Bool
        var suffices: Bool

        func matches(_ local: LocalTime) -> Bool {
            guard minutes.contains(local.minute), hours.contains(local.hour) else { return false }
            let (byDate, byWeekday) = (days.contains(local.date.day), weekdays.contains(local.date.weekday))
            return suffices ? byDate || byWeekday : byDate && byWeekday
        }
    }

    private func field(_ range: ClosedRange<Int>, star: Double, _ dice: inout Dice) -> (text: String, values: [Int]) {
        if Double.random(in: 0..<1, using: &dice) < star {
            let step = Int.random(in: 1...4, using: &dice)
            return (
                step == 1 ? "*" : "*/\(step)",
                Array(stride(from: range.lowerBound, through: range.upperBound, by: step))
            )
        }
        if Bool.random(using: &dice) {
            let first = Int.random(in: range, using: &dice)
            let last = Int.random(in: first...range.upperBound, using: &dice)
            return ("\(first)-\(last)", Array(first...last))
        }
        let values = (0..<Int.random(in: 1...3, using: &dice)).map { _ in Int.random(in: range, using: &dice) }
        return (values.map(String.init).joined(separator: ","), values)
    }

    private func line(_ dice: inout Dice) -> Line {
        let minute = field(0...59, star: 0.2, &dice)
        // Mostly hours at which clocks change, sometimes all hours.
        let hour = Bool.random(using: &dice) ? field(0...4, star: 0, &dice) : field(0...23, star: 0.5, &dice)
        let day = field(1...31, star: 0.8, &dice)
        let weekday = field(0...6, star: 0.8, &dice)
        return Line(
            text: "\(minute.text) \(hour.text) \(day.text) * \(weekday.text)", minutes: minute.values,
            hours: hour.values, days: day.values, weekdays: weekday.values, startsWithStar: hour.text.hasPrefix("*"),
            suffices: !day.text.hasPrefix("*") && !weekday.text.hasPrefix("*"))
    }

    /// Returns the instants of a line after the first day of a week, found minute by minute.
    private func walk(_ line: Line, _ rules: ZoneRules, _ week: [(instant: Int64, local: Int64)]) -> [Int64] {
        var found: [Int64] = []
        var reached = week[0].local
        for (instant, local) in week {
            if line.startsWithStar {
                if line.matches(LocalTime(seconds: local)) { found.append(instant) }
            } else if local > reached {
                // More than one minute if the clocks have skipped some.
                let minutes = stride(from: reached + 60, through: local, by: 60)
                if minutes.contains(where: { line.matches(LocalTime(seconds: $0)) }) { found.append(instant) }
                reached = local
            }
        }
        return found.filter { $0 > week[0].instant + 86_400 }
    }

    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29T00:00:00Z"), ("Europe/Berlin", "2026-10-25T00:00:00Z"),
        ("America/New_York", "2027-03-14T00:00:00Z"), ("America/New_York", "2027-11-07T00:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T12:00:00Z"), ("Australia/Lord_Howe", "2026-10-03T12:00:00Z"),
        ("Antarctica/Troll", "2026-03-29T00:00:00Z"), ("Antarctica/Troll", "2026-10-25T00:00:00Z"),
        ("Pacific/Apia", "2011-12-30T00:00:00Z"), ("America/Sao_Paulo", "2018-11-04T00:00:00Z"),
        ("America/Sao_Paulo", "2018-02-18T00:00:00Z"), ("Asia/Beirut", "2026-03-29T00:00:00Z"),
        ("Asia/Beirut", "2026-10-24T12:00:00Z"), ("Africa/Casablanca", "2026-02-15T00:00:00Z"),
        ("Africa/Casablanca", "2026-03-22T00:00:00Z"), ("Europe/Dublin", "2040-10-28T00:00:00Z"),
        ("Asia/Kathmandu", "1985-12-31T12:00:00Z"), ("Pacific/Kwajalein", "1993-08-20T12:00:00Z"),
    ])
    func `instants are those of a walk through each minute`(name: String, around: String) throws {
        let rules = try zone(name)
        let middle = try utc(around).seconds
        let week: [(instant: Int64, local: Int64)] = stride(from: middle - 3 * 86_400, to: middle + 3 * 86_400, by: 60)
            .map { ($0, rules.localTime(at: UnixTime(seconds: $0)).seconds) }
        let start = UnixTime(seconds: week[0].instant + 86_400)
        let end = week[week.count - 1].instant
        #expect(Set(week.map { $0.local - $0.instant }).count > 1, "no clock changes in this week")
        var dice = Dice(UInt64(middle))
        for _ in 0..<12 {
            let line = line(&dice)
            let recurrence = Recurrence(try expression(line.text), zone: rules, start: start)
            let found = Array(Recurrences([recurrence], after: start).prefix { $0.seconds <= end }.map(\.seconds))
            #expect(found == walk(line, rules, week), "\(line.text)")
        }
    }
}
