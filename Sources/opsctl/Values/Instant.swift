internal import Glibc
internal import OpsSystem
internal import OpsWire

/// A point in wall-clock time, in nanoseconds since 1970.
struct Instant: Comparable, Sendable {
    var nanoseconds: Int64

    static var now: Instant { Instant(nanoseconds: Clock.read().wall.nanoseconds) }

    static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    static func - (a: Instant, b: Instant) -> Span { Span(nanoseconds: a.nanoseconds - b.nanoseconds) }
    static func + (a: Instant, b: Span) -> Instant { Instant(nanoseconds: a.nanoseconds &+ b.nanoseconds) }

    static let forms =
        "an instant from 1970 to 2262 such as 2027-01-31T22:00:00Z, \"2027-01-31 22:00\" or 22:00"

    /// Parses a past instant: a duration before now, or an instant; a time of day means the last one. Instants begin in
    /// 1970.
    static func past(_ text: String, now: Instant) -> Instant? {
        Span.parse(text).map { Instant(nanoseconds: max(0, now.nanoseconds - $0.nanoseconds)) }
            ?? parse(text, now: now, isPast: true)
    }

    /// Parses RFC 3339, a local `YYYY-MM-DD[ HH:MM[:SS]]`, or a time of day `HH:MM` (the next one, or the last), also
    /// as `6:30pm` or with a day: `tomorrow HH:MM`, `HH:MM tomorrow`, `Mon HH:MM`.
    static func parse(_ text: String, now: Instant, isPast: Bool = false) -> Instant? {
        if let instant = rfc3339(text) ?? fromNow(text, now) { return instant }
        var words = text.split(separator: " ").map(String.init)
        // `2027-01-31T22:00` is a date and a time of day.
        if let first = words.first, first.utf8.count > 11, first.dropFirst(10).first == "T" {
            words.replaceSubrange(0...0, with: [String(first.prefix(10)), String(first.dropFirst(11))])
        }
        // `12:00 tomorrow` is `tomorrow 12:00`.
        if words.count == 2, daysAhead(words[1], clock: words[0], now: now, isPast: isPast) != nil {
            words.swapAt(0, 1)
        }
        var day: (year: Int, month: Int, day: Int)?
        if let first = words.first {
            if let ahead = daysAhead(
                first, clock: words.count > 1 ? words[1] : "0:00", now: now, isPast: isPast)
            {
                let today = now.calendar
                day = (Int(today.tm_year) + 1900, Int(today.tm_mon) + 1, Int(today.tm_mday) + ahead)
                words.removeFirst()
            } else if let date = calendarDay(first) {
                day = date
                words.removeFirst()
            }
        }
        guard words.count <= 1, day != nil || !words.isEmpty else { return nil }
        if let clock = words.first.flatMap(halfDay) { words[0] = clock }
        if let named = words.first.flatMap({ ["noon": "12:00", "midnight": "0:00"][$0] }) { words[0] = named }
        let clock = words.isEmpty ? [0, 0, 0] : numbers(words[0], ":") ?? []
        guard clock.count == 2 || clock.count == 3, clock[0] < 24, clock[1] < 60, clock.last ?? 0 < 61 else {
            return nil
        }
        if let day { return local(day.year, day.month, day.day, clock) }
        let today = now.calendar
        let year = Int(today.tm_year) + 1900
        let month = Int(today.tm_mon) + 1
        guard let then = local(year, month, Int(today.tm_mday), clock) else { return nil }
        if (then > now) != isPast { return then }
        return local(year, month, Int(today.tm_mday) + (isPast ? -1 : 1), clock)
    }

    /// Reads `YYYY-MM-DD`; nil for other texts, and for days that do not exist, such as February 30.
    private static func calendarDay(_ text: String) -> (year: Int, month: Int, day: Int)? {
        guard text.utf8.count == 10, rfc3339(text + "T00:00:00Z") != nil, let parts = numbers(text, "-"),
            parts.count == 3
        else { return nil }
        return (parts[0], parts[1], parts[2])
    }

    /// Returns the number of days from now to a day that a word names; nil for any other word.
    private static func daysAhead(_ word: String, clock: String, now: Instant, isPast: Bool) -> Int? {
        switch word.lowercased() {
        case "today": return 0
        case "tomorrow": return 1
        case "yesterday": return -1
        default: break
        }
        guard let weekday = weekday(word) else { return nil }
        let ahead = (weekday - Int(now.calendar.tm_wday) + 7) % 7
        guard ahead == 0 else { return isPast ? ahead - 7 : ahead }
        // Today, unless that time has already passed (or, for the past, not yet come).
        guard let then = parse("today \(clock)", now: now) else { return 0 }
        return isPast ? (then > now ? -7 : 0) : (then > now ? 0 : 7)
    }

    /// Returns `18:30` for `6:30pm`; nil for a text that is not a 12-hour time.
    private static func halfDay(_ text: String) -> String? {
        let text = text.lowercased()
        guard text.hasSuffix("am") || text.hasSuffix("pm") else { return nil }
        let parts = text.dropLast(2).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let hour = parts.first.flatMap({ Int($0) }), (1...12).contains(hour) else { return nil }
        return "\(hour % 12 + (text.hasSuffix("pm") ? 12 : 0)):" + (parts.count > 1 ? parts[1] : "00")
    }

    /// Parses `+5m`, `now + 5 minutes`, `in 5 minutes`.
    private static func fromNow(_ text: String, _ now: Instant) -> Instant? {
        var rest = text.split(separator: " ").joined()
        if rest.hasPrefix("now") { rest.removeFirst(3) }
        if text.hasPrefix("in ") { rest = "+" + rest.dropFirst(2) }
        guard rest.hasPrefix("+") else { return rest.isEmpty && text.hasPrefix("now") ? now : nil }
        rest.removeFirst()
        let units = [
            ("minute", "m"), ("min", "m"), ("hour", "h"), ("day", "d"), ("week", "w"), ("second", "s"), ("sec", "s"),
        ]
        for (word, unit) in units {
            for ending in [word + "s", word] where rest.hasSuffix(ending) { rest = rest.dropLast(ending.count) + unit }
        }
        return Span.parse(rest).map { now + $0 }
    }

    private static func weekday(_ word: String) -> Int? {
        let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        let word = word.lowercased()
        return word.utf8.count < 3 ? nil : names.firstIndex { $0.hasPrefix(word) }
    }

    private static func local(_ year: Int, _ month: Int, _ day: Int, _ clock: [Int]) -> Instant? {
        guard (1970...9999).contains(year), (1...12).contains(month), (-31...45).contains(day) else { return nil }
        var parts = tm()
        parts.tm_year = Int32(year - 1900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(clock[0])
        parts.tm_min = Int32(clock[1])
        parts.tm_sec = clock.count > 2 ? Int32(clock[2]) : 0
        parts.tm_isdst = -1
        let (nanoseconds, isTooLate) = Int64(mktime(&parts)).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLate || nanoseconds < 0 ? nil : Instant(nanoseconds: nanoseconds)
    }

    private static func numbers(_ text: String, _ separator: Character) -> [Int]? {
        var numbers: [Int] = []
        for part in text.split(separator: separator, omittingEmptySubsequences: false) {
            guard let number = Int(part), number >= 0, !part.hasPrefix("+") else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    static func rfc3339(_ text: String) -> Instant? {
        InstantText.parse(text).map { Instant(nanoseconds: $0.nanoseconds) }
    }

    /// Text in RFC 3339, in UTC with milliseconds, as in the wire format.
    var rfc3339: String { InstantText.format(WallInstant(nanoseconds: nanoseconds)) }

    /// Returns the local time; on another day also the date.
    func text(now: Instant) -> String {
        let parts = calendar
        let today = now.calendar
        let isToday = parts.tm_year == today.tm_year && parts.tm_yday == today.tm_yday
        return isToday ? Self.clock(parts) : Self.date(parts) + " " + Self.clock(parts)
    }

    /// Local date and time.
    var dateAndClock: String {
        let parts = calendar
        return Self.date(parts) + " " + Self.clock(parts)
    }

    private var calendar: tm {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }

    private static func date(_ parts: tm) -> String {
        padded(Int(parts.tm_year) + 1900, 4) + "-" + padded(Int(parts.tm_mon) + 1, 2) + "-"
            + padded(Int(parts.tm_mday), 2)
    }

    private static func clock(_ parts: tm) -> String {
        padded(Int(parts.tm_hour), 2) + ":" + padded(Int(parts.tm_min), 2) + ":" + padded(Int(parts.tm_sec), 2)
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
