import Foundation
import Testing

@testable import OpsCalendar

/// Reads a zone file of the machine.
func zone(_ name: String) throws -> ZoneRules {
    let path = ZoneName.folder + "/" + name
    guard let data = FileManager.default.contents(atPath: path) else {
        Issue.record("\(path) is missing: install the package tzdata (scripts/setup does)")
        throw CocoaError(.fileNoSuchFile)
    }
    return try ZoneRules(file: [UInt8](data))
}

func expression(_ text: String) throws(CalendarProblem) -> CalendarExpression {
    try CalendarExpression(text, duration: duration)
}

/// Reads durations such as `15m`. The full grammar belongs to another target.
private func duration(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()), number < 1e9 else {
        return nil
    }
    return Int64(number * Double(unit)) * 1_000_000
}

/// Reads `2026-03-29T01:00:00Z`.
func utc(_ text: String) throws -> UnixTime {
    let date = try Date(text, strategy: .iso8601)
    return UnixTime(seconds: Int64(date.timeIntervalSince1970))
}

/// Reads `2026-03-29 02:30` or `2026-03-29 02:30:15`.
func local(_ text: String) throws -> LocalTime {
    let numbers = text.split { "- :".contains($0) }.compactMap { Int($0) }
    try #require(numbers.count == 5 || numbers.count == 6, "\(text)")
    return LocalTime(
        LocalDate(year: numbers[0], month: numbers[1], day: numbers[2]), hour: numbers[3], minute: numbers[4],
        second: numbers.count > 5 ? numbers[5] : 0)
}

extension LocalTime {
    /// Text such as `2026-03-29 02:30`, with seconds if they are not zero.
    var text: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(date.year)-\(two(date.month))-\(two(date.day))"
        return "\(day) \(two(hour)):\(two(minute))" + (second == 0 ? "" : ":\(two(second))")
    }
}

/// Returns the first instants of an expression after a UTC instant, in local time of the zone.
func next(_ text: String, _ zoneName: String, after: String, _ count: Int) throws -> [String] {
    let rules = try zone(zoneName)
    let recurrence = Recurrence(try expression(text), zone: rules, start: UnixTime(seconds: 0))
    return Recurrences([recurrence], after: try utc(after)).prefix(count).map { rules.localTime(at: $0).text }
}

/// A small generator that gives the same numbers in every run (constants of Numerical Recipes).
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        var result: UInt64 = 0
        for _ in 0..<4 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            result = result << 16 | state >> 48
        }
        return result
    }
}
