/// The set of local times of a cron line or a calendar event.
public struct CalendarPattern: Hashable, Sendable {
    enum DayRule: Hashable, Sendable {
        /// Both day of the month and day of the week must match.
        case both
        /// One of the two is enough, as in cron if both are restricted.
        case either
    }

    // Values as bits.
    var seconds: UInt64 = 1
    var minutes: UInt64 = 1
    var hours: UInt64 = 1
    var days: UInt64 = Self.everyDay
    /// True if `days` count from the last day of the month.
    var countsFromEnd = false
    var months: UInt64 = Self.everyMonth
    /// Weekdays as bits; bit 0 is Sunday.
    var weekdays: UInt64 = Self.everyWeekday
    var dayRule = DayRule.both
    /// Years; nil for every year.
    var years: [FieldItem]?
    /// True if the hour begins with `*`: then the pattern follows elapsed time when clocks are changed.
    var isHourUnrestricted = false

    static let everyDay: UInt64 = 0xffff_fffe
    static let everyMonth: UInt64 = 0x1ffe
    static let everyWeekday: UInt64 = 0x7f

    /// Returns the first matching local time from `local` on, up to the end of 2199.
    func next(from local: LocalTime) -> LocalTime? {
        let first = LocalDate(year: CalendarField.year.range.lowerBound, month: 1, day: 1)
        let local = max(local, LocalTime(first, hour: 0, minute: 0, second: 0))
        let date = local.date
        guard let day = nextDay(from: date) else { return nil }
        if day == date, let time = nextTime(from: local.secondOfDay) { return LocalTime(day, time) }
        guard let first = nextTime(from: 0) else { return nil }
        if day > date { return LocalTime(day, first) }
        return nextDay(from: LocalDate(dayNumber: date.dayNumber + 1)).map { LocalTime($0, first) }
    }

    // MARK: - Days

    private func nextDay(from date: LocalDate) -> LocalDate? {
        var (year, month) = (date.year, date.month)
        var remaining: UInt64 = ~0 << UInt64(date.day)
        while year <= CalendarField.year.range.upperBound {
            let mask = dayMask(year, month) & remaining
            if mask != 0 { return LocalDate(year: year, month: month, day: mask.trailingZeroBitCount) }
            remaining = ~0
            month += 1
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        return nil
    }

    /// Returns one bit for each matching day of a month.
    private func dayMask(_ year: Int, _ month: Int) -> UInt64 {
        guard months >> UInt64(month) & 1 == 1 else { return 0 }
        if let years, !years.contains(where: { $0.contains(year, in: .year) }) { return 0 }
        let length = LocalDate.days(inMonth: month, of: year)
        let valid: UInt64 = (1 << UInt64(length + 1)) - 2
        var byDate: UInt64 = 0
        if countsFromEnd {
            for day in 1...length where days >> UInt64(length - day + 1) & 1 == 1 { byDate |= 1 << UInt64(day) }
        } else {
            byDate = days & valid
        }
        guard weekdays != Self.everyWeekday || dayRule == .either else { return byDate }
        let first = LocalDate(year: year, month: month, day: 1).weekday
        /// Bits 0 to 28 for the 1st, 8th, 15th, 22nd and 29th.
        let weeks: UInt64 = 0x1020_4081
        var byWeekday: UInt64 = 0
        for day in 1...7 where weekdays >> UInt64((first + day - 1) % 7) & 1 == 1 { byWeekday |= weeks << UInt64(day) }
        byWeekday &= valid
        return dayRule == .both ? byDate & byWeekday : byDate | byWeekday
    }

    // MARK: - Times of day

    /// Returns the first matching second of a day, from `start` on.
    private func nextTime(from start: Int) -> Int? {
        let (hour, minute, second) = (start / 3600, start / 60 % 60, start % 60)
        if hours >> UInt64(hour) & 1 == 1 {
            if minutes >> UInt64(minute) & 1 == 1, let found = Self.bit(seconds, from: second) {
                return hour * 3600 + minute * 60 + found
            }
            if let found = Self.bit(minutes, from: minute + 1) {
                return hour * 3600 + found * 60 + seconds.trailingZeroBitCount
            }
        }
        return Self.bit(hours, from: hour + 1).map {
            $0 * 3600 + minutes.trailingZeroBitCount * 60 + seconds.trailingZeroBitCount
        }
    }

    private static func bit(_ mask: UInt64, from start: Int) -> Int? {
        let rest = mask & (~0 << UInt64(start))
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }
}

extension LocalTime {
    fileprivate init(_ date: LocalDate, _ secondOfDay: Int) {
        self.init(seconds: date.dayNumber * Self.secondsPerDay + Int64(secondOfDay))
    }
}
