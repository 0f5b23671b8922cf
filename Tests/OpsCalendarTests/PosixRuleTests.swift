import Testing

@testable import OpsCalendar

@Suite struct PosixRuleTests {
    /// Returns the changes of a year, as `MONTH-DAY HOUR:MINUTE` in UTC with the offset after them in minutes.
    private func changes(_ rule: String, in year: Int) throws -> [String] {
        let rules = try ZoneRules(posix: rule)
        var instant = ZoneRules.utc.firstInstant(reaching: try local("\(year)-01-01 00:00")).advanced(by: -1)
        let end = ZoneRules.utc.firstInstant(reaching: try local("\(year + 1)-01-01 00:00"))
        var found: [String] = []
        while let change = rules.nextChange(after: instant, through: end.advanced(by: -1)) {
            instant = change.instant
            found.append("\(ZoneRules.utc.localTime(at: instant).text.dropFirst(5)) \(change.after / 60)")
        }
        return found
    }

    @Test(
        arguments: [
            ("UTC0", []), ("<+0545>-5:45", []),
            ("CET-1CEST,M3.5.0,M10.5.0/3", ["03-29 01:00 120", "10-25 01:00 60"]),
            ("EST5EDT,M3.2.0,M11.1.0", ["03-08 07:00 -240", "11-01 06:00 -300"]),
            // Half an hour, in the southern hemisphere.
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", ["04-04 15:00 630", "10-03 15:30 660"]),
            // Two hours.
            ("<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", ["03-29 01:00 120", "10-25 01:00 0"]),
            // Daylight-saving time before standard time, as in Irish law.
            ("IST-1GMT0,M10.5.0,M3.5.0/1", ["03-29 01:00 60", "10-25 01:00 0"]),
            // Days of the year, with and without 29 February.
            ("AAA0BBB,J60/0,J300/0", ["03-01 00:00 60", "10-26 23:00 0"]),
            ("AAA0BBB,59/0,299/0", ["03-01 00:00 60", "10-26 23:00 0"]),
            // Times before midnight and long after it: 167 h is a week less an hour.
            ("AAA0BBB,M3.1.0/-1,M11.1.0/167", ["02-28 23:00 60", "11-07 22:00 0"]),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ["03-29 01:00 -60", "10-25 01:00 -120"]),
            // Minutes and seconds.
            ("AAA1:02:04BBB0:02:03,J10/1:02:03,J20", ["01-10 02:04:07 -2", "01-20 02:02:03 -62"]),
        ] as [(String, [String])])
    func `rules change clocks when they say`(rule: String, expected: [String]) throws {
        #expect(try changes(rule, in: 2026) == expected)
    }

    @Test func `29 February is counted by n and not by Jn`() throws {
        #expect(try changes("AAA0BBB,J60/0,J300/0", in: 2028) == ["03-01 00:00 60", "10-26 23:00 0"])
        #expect(try changes("AAA0BBB,59/0,299/0", in: 2028) == ["02-29 00:00 60", "10-25 23:00 0"])
    }

    @Test func `daylight-saving time that never ends is one offset`() throws {
        let rules = try ZoneRules(posix: "EST5EDT4,0/0,J365/25")
        #expect(rules.nextChange(after: .earliest, through: .latest) == nil)
        #expect(rules.offset(at: try utc("2026-12-31T23:30:00Z")) == -14_400)
    }

    @Test(arguments: [
        "", "C", "CET", "CET-25", "CET-1x", "CET-1CEST", "CET-1CEST,", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,",
        "<+01-1",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J5",
        "CET-1CEST,J366,J5", "CET-1CEST,366,5", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-1:60", "CET-1CEST,M3,M10.5.0", "CET-9999999999999999999",
    ])
    func `wrong rules are refused`(rule: String) {
        #expect(throws: ZoneFileError.self) { try ZoneRules(posix: rule) }
    }
}
