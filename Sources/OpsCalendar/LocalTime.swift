/// A date of the Gregorian calendar.
public struct LocalDate: Hashable, Comparable, Sendable {
    public let year: Int
    public let month: Int
    public let day: Int

    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    public static func < (a: LocalDate, b: LocalDate) -> Bool {
        (a.year, a.month, a.day) < (b.year, b.month, b.day)
    }

    static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // A calendar whose years begin in March, so that a leap day is the last day of a year (Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms").

    /// Days since 1970-01-01.
    var dayNumber: Int64 {
        let year = Int64(month <= 2 ? self.year - 1 : self.year)
        let era = floorDivide(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    init(dayNumber: Int64) {
        let shifted = dayNumber + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        day = Int(dayOfYear - (153 * marchMonth + 2) / 5) + 1
    }

    /// Day of the week, from 0 for Sunday to 6 for Saturday.
    public var weekday: Int { Int((dayNumber + 4) - floorDivide(dayNumber + 4, 7) * 7) }
}

/// A reading of a wall clock with its date, without a time zone: seconds since 1970-01-01 00:00:00 on that clock.
public struct LocalTime: Hashable, Comparable, Sendable {
    static let secondsPerDay: Int64 = 86_400

    let seconds: Int64

    init(seconds: Int64) { self.seconds = seconds }

    public init(_ date: LocalDate, hour: Int, minute: Int, second: Int) {
        seconds = date.dayNumber * Self.secondsPerDay + Int64(hour * 3600 + minute * 60 + second)
    }

    public var date: LocalDate { LocalDate(dayNumber: dayNumber) }
    public var hour: Int { secondOfDay / 3600 }
    public var minute: Int { secondOfDay / 60 % 60 }
    public var second: Int { secondOfDay % 60 }

    var dayNumber: Int64 { floorDivide(seconds, Self.secondsPerDay) }
    var secondOfDay: Int { Int(seconds - dayNumber * Self.secondsPerDay) }

    public static func < (a: LocalTime, b: LocalTime) -> Bool { a.seconds < b.seconds }
}
