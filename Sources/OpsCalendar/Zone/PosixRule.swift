/// Rule for the time after the last change of a zone file: standard time, and two changes each year if there is
/// daylight-saving time. POSIX.1-2017, chapter 8.3, with the hours of RFC 8536 (-167 to 167).
struct PosixRule: Hashable, Sendable {
    /// A day of each year, with a local time.
    struct Day: Hashable, Sendable {
        enum Form: Hashable, Sendable {
            /// `Jn`: 1 to 365; 29 February is never counted.
            case withoutLeapDay(Int)
            /// `n`: 0 to 365; 29 February is counted.
            case withLeapDay(Int)
            /// `Mm.w.d`: a weekday (0 is Sunday) of a week (5 is the last) of a month.
            case weekday(month: Int, week: Int, day: Int)
        }
        let form: Form
        /// Seconds after midnight.
        let time: Int

        /// Returns the change in `year` in local time before the change.
        func local(in year: Int) -> Int64 {
            dayNumber(in: year) * LocalTime.secondsPerDay + Int64(time)
        }

        private func dayNumber(in year: Int) -> Int64 {
            let newYear = LocalDate(year: year, month: 1, day: 1).dayNumber
            switch form {
            case .withoutLeapDay(let day):
                return newYear + Int64(day - 1 + (LocalDate.isLeap(year) && day >= 60 ? 1 : 0))
            case .withLeapDay(let day):
                return newYear + Int64(day)
            case .weekday(let month, let week, let day):
                let first = LocalDate(year: year, month: month, day: 1)
                let length = LocalDate.days(inMonth: month, of: year)
                var date = (day - first.weekday + 7) % 7 + (week - 1) * 7
                while date >= length { date -= 7 }
                return first.dayNumber + Int64(date)
            }
        }
    }

    struct Daylight: Hashable, Sendable {
        let offset: Int
        let start: Day
        let end: Day
    }

    /// Seconds east of UTC.
    let standard: Int
    let daylight: Daylight?

    init(_ text: [UInt8]) throws(ZoneFileError) {
        var parser = PosixRuleParser(text)
        let parsed = try parser.rule()
        // A zone with daylight-saving time all year round has no changes.
        let only = parsed.daylight.flatMap { Self.onlyOffset(parsed.standard, $0) }
        standard = only ?? parsed.standard
        daylight = only == nil ? parsed.daylight : nil
    }

    /// Returns the period around an instant.
    func period(containing instant: UnixTime) -> ZonePeriod {
        guard let daylight else { return ZonePeriod(start: .earliest, end: .latest, offset: standard) }
        let year = LocalTime(seconds: instant.seconds).date.year
        var (start, end, offset) = (UnixTime.earliest, UnixTime.latest, standard)
        for change in Self.changes(standard, daylight, in: year - 2...year + 2) {
            if change.at > instant {
                end = change.at
                break
            }
            (start, offset) = (change.at, change.offset)
        }
        return ZonePeriod(start: start, end: end, offset: offset)
    }

    /// Returns the changes of some years in order. If the end of one year's daylight-saving time and the start of the
    /// next coincide, only the one of the later year remains.
    private static func changes(
        _ standard: Int, _ daylight: Daylight, in years: ClosedRange<Int>
    ) -> [ZoneRules.Change] {
        var changes: [ZoneRules.Change] = []
        changes.reserveCapacity(2 * years.count)
        for year in years {
            let start = ZoneRules.Change(
                at: UnixTime(seconds: daylight.start.local(in: year) - Int64(standard)), offset: daylight.offset)
            let end = ZoneRules.Change(
                at: UnixTime(seconds: daylight.end.local(in: year) - Int64(daylight.offset)), offset: standard)
            for change in start.at <= end.at ? [start, end] : [end, start] {
                // Inserted in order, after equal ones.
                var place = changes.endIndex
                while place > 0, changes[place - 1].at > change.at { place -= 1 }
                changes.insert(change, at: place)
            }
        }
        return changes
    }

    /// Returns the offset of a rule that never changes it. In 28 years, each kind of year begins on each weekday.
    private static func onlyOffset(_ standard: Int, _ daylight: Daylight) -> Int? {
        guard daylight.offset != standard else { return standard }
        let changes = changes(standard, daylight, in: 2000...2030)
        var offsets: Set<Int> = []
        for (change, next) in zip(changes, changes.dropFirst()).dropFirst(2).dropLast(2) where change.at < next.at {
            offsets.insert(change.offset)
        }
        return offsets.count == 1 ? offsets.first : nil
    }
}

/// Reads `STD offset [DST [offset] , start[/time] , end[/time]]`.
private struct PosixRuleParser {
    private var rest: ArraySlice<UInt8>

    init(_ text: [UInt8]) { rest = text[...] }

    mutating func rule() throws(ZoneFileError) -> (standard: Int, daylight: PosixRule.Daylight?) {
        try skipName()
        let standard = -(try clock(hours: 24))
        guard !rest.isEmpty else { return (standard, nil) }
        try skipName()
        var offset = standard + 3600
        if let next = rest.first, next != UInt8(ascii: ",") { offset = -(try clock(hours: 24)) }
        guard ZoneRules.offsets.contains(standard), ZoneRules.offsets.contains(offset) else {
            throw .posixRule("an offset beyond a day")
        }
        try skip(",", "the days on which the clocks change are missing")
        let start = try day()
        try skip(",", "the day on which the clocks are put back is missing")
        let end = try day()
        guard rest.isEmpty else { throw .posixRule("something follows the second day") }
        return (standard, PosixRule.Daylight(offset: offset, start: start, end: end))
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard let first = rest.first, first == byte.asciiValue else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skip(_ byte: Character, _ otherwise: String) throws(ZoneFileError) {
        guard take(byte) else { throw .posixRule(otherwise) }
    }

    /// Skips a name such as `CET` or `<+01>`.
    private mutating func skipName() throws(ZoneFileError) {
        let isQuoted = take("<")
        let name = rest.prefix { byte in
            let isLetter = (byte | 0x20) &- UInt8(ascii: "a") < 26
            let isOther = byte &- UInt8(ascii: "0") <= 9 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            return isLetter || isQuoted && isOther
        }
        rest = rest.dropFirst(name.count)
        guard name.count >= 3 else { throw .posixRule("a name has fewer than three letters") }
        if isQuoted { try skip(">", "\">\" is missing") }
    }

    private mutating func number(_ range: ClosedRange<Int>) throws(ZoneFileError) -> Int {
        let digits = rest.prefix { $0 &- UInt8(ascii: "0") <= 9 }
        rest = rest.dropFirst(digits.count)
        guard !digits.isEmpty, digits.count <= 3 else { throw .posixRule("a number of one to three digits is missing") }
        let value = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard range.contains(value) else {
            throw .posixRule("\(value) is not in \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Reads `[+-]h[:m[:s]]` as seconds.
    private mutating func clock(hours: Int) throws(ZoneFileError) -> Int {
        let isNegative = take("-")
        if !isNegative { _ = take("+") }
        var seconds = try number(0...hours) * 3600
        if take(":") {
            seconds += try number(0...59) * 60
            if take(":") { seconds += try number(0...59) }
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func day() throws(ZoneFileError) -> PosixRule.Day {
        let form: PosixRule.Day.Form
        if take("J") {
            form = .withoutLeapDay(try number(1...365))
        } else if take("M") {
            let month = try number(1...12)
            try skip(".", "the week is missing")
            let week = try number(1...5)
            try skip(".", "the weekday is missing")
            form = .weekday(month: month, week: week, day: try number(0...6))
        } else {
            form = .withLeapDay(try number(0...365))
        }
        return PosixRule.Day(form: form, time: take("/") ? try clock(hours: 167) : 2 * 3600)
    }
}
