/// Instants in RFC 3339.
public enum InstantText {
    private static let secondsPerDay: Int64 = 86_400

    /// Parses RFC 3339 with a zone, from 1970 to 2262; returns nil for other texts.
    public static func parse(_ text: String) -> WallInstant? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 0x2d, bytes[7] == 0x2d, bytes[13] == 0x3a, bytes[16] == 0x3a,
            bytes[10] | 0x20 == UInt8(ascii: "t") || bytes[10] == 0x20
        else { return nil }
        guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            1...12 ~= month, day >= 1, day <= days(inMonth: month, of: year), hour < 24, minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        guard let fraction = takeFraction(&rest), let offset = offset(rest) else { return nil }
        let seconds = daysFromCivil(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset
        let (nanoseconds, overflowed) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowedAgain) = nanoseconds.addingReportingOverflow(fraction)
        return overflowed || overflowedAgain || sum < 0 ? nil : WallInstant(nanoseconds: sum)
    }

    /// Formats in UTC with milliseconds, rounded down: `2026-11-21T06:40:00.123Z`.
    public static func format(_ instant: WallInstant) -> String {
        let milliseconds = floorDivide(instant.nanoseconds, 1_000_000)
        let seconds = floorDivide(milliseconds, 1000)
        let day = floorDivide(seconds, secondsPerDay)
        let (year, month, date) = civil(fromDays: day)
        let second = seconds - day * secondsPerDay
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var count = 0
            func put(_ value: Int64, digits: Int, then separator: UInt8) {
                var rest = value
                for index in stride(from: count + digits - 1, through: count, by: -1) {
                    buffer[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                buffer[count + digits] = separator
                count += digits + 1
            }
            put(year, digits: 4, then: 0x2d)
            put(month, digits: 2, then: 0x2d)
            put(date, digits: 2, then: UInt8(ascii: "T"))
            put(second / 3600, digits: 2, then: 0x3a)
            put(second / 60 % 60, digits: 2, then: 0x3a)
            put(second % 60, digits: 2, then: UInt8(ascii: "."))
            put(milliseconds - seconds * 1000, digits: 3, then: UInt8(ascii: "Z"))
            return count
        }
    }

    // MARK: - Parts

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for byte in digits {
            guard byte &- UInt8(ascii: "0") <= 9 else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    /// Reads `.123` as nanoseconds; digits after the ninth are ignored.
    private static func takeFraction(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        guard rest.first == UInt8(ascii: ".") else { return 0 }
        let digits = rest.dropFirst().prefix { $0 &- UInt8(ascii: "0") <= 9 }
        rest = rest.dropFirst(1 + digits.count)
        guard !digits.isEmpty else { return nil }
        let shown = digits.prefix(9)
        return number(shown).map { value in (shown.count..<9).reduce(value) { product, _ in product * 10 } }
    }

    /// Returns the offset of a zone in seconds east of Greenwich.
    private static func offset(_ zone: ArraySlice<UInt8>) -> Int64? {
        let zone = Array(zone)
        if zone.count == 1, zone[0] | 0x20 == UInt8(ascii: "z") { return 0 }
        guard zone.count == 6, zone[0] == 0x2b || zone[0] == 0x2d, zone[3] == 0x3a, let hours = number(zone[1..<3]),
            let minutes = number(zone[4..<6]), hours < 24, minutes < 60
        else { return nil }
        return (zone[0] == 0x2d ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    // A calendar whose years begin in March, so that a leap day is the last day of a year (Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms").

    static func daysFromCivil(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = floorDivide(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// Divides by a positive number, and rounds down.
    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a % b < 0 ? a / b - 1 : a / b }
}
