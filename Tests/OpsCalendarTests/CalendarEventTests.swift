import Testing

@testable import OpsCalendar

@Suite struct CalendarEventTests {
    /// The examples of systemd.time(7), except those with fractions of a second.
    @Test(arguments: [
        ("Sat,Thu,Mon..Wed,Sat..Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"),
        ("Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"), ("Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed..Wed,Wed *-1", "Wed *-*-01 00:00:00"), ("Wed, 17:48", "Wed *-*-* 17:48:00"),
        ("Wed..Sat,Tue 12-10-15 1:2:3", "Tue..Sat 2012-10-15 01:02:03"), ("*-*-7 0:0:0", "*-*-07 00:00:00"),
        ("10-15", "*-10-15 00:00:00"), ("monday *-12-* 17:00", "Mon *-12-* 17:00:00"),
        ("Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"),
        ("12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"), ("12..14:10,20,30", "*-*-* 12..14:10,20,30:00"),
        ("mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"), ("03-05 08:05:40", "*-03-05 08:05:40"),
        ("08:05:40", "*-*-* 08:05:40"), ("05:40", "*-*-* 05:40:00"),
        ("Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"), ("Sat,Sun 08:05:40", "Sat,Sun *-*-* 08:05:40"),
        ("2003-03-05 05:40", "2003-03-05 05:40:00"), ("2003-02..04-05", "2003-02..04-05 00:00:00"),
        ("2003-03-05 05:40 UTC", "2003-03-05 05:40:00 UTC"), ("2003-03-05", "2003-03-05 00:00:00"),
        ("03-05", "*-03-05 00:00:00"), ("hourly", "*-*-* *:00:00"), ("daily", "*-*-* 00:00:00"),
        ("daily UTC", "*-*-* 00:00:00 UTC"), ("monthly", "*-*-01 00:00:00"), ("weekly", "Mon *-*-* 00:00:00"),
        ("weekly Pacific/Auckland", "Mon *-*-* 00:00:00 Pacific/Auckland"), ("yearly", "*-01-01 00:00:00"),
        ("annually", "*-01-01 00:00:00"), ("*:2/3", "*-*-* *:02/3:00"), ("minutely", "*-*-* *:*:00"),
        ("quarterly", "*-01,04,07,10-01 00:00:00"), ("semiannually", "*-01,07-01 00:00:00"),
        ("*-02~03", "*-02~03 00:00:00"), ("Mon *-05~07/1", "Mon *-05~07/1 00:00:00"),
        ("Thu,Fri 2012-*-1,5 11:12:13", "Thu,Fri 2012-*-01,05 11:12:13"),
    ])
    func `the canonical text is systemd's normalized form`(text: String, canonical: String) throws {
        let parsed = try expression(text)
        #expect(parsed.description == canonical)
        #expect(try expression(canonical) == parsed)
    }

    @Test(
        arguments: [
            ("Mon..Fri *-*-* 02:00", ["2026-11-23 02:00", "2026-11-24 02:00"]),
            ("Sat *-*-1..7 04:00", ["2026-12-05 04:00", "2027-01-02 04:00"]),
            ("*-*~1", ["2026-11-30 00:00", "2026-12-31 00:00", "2027-01-31 00:00", "2027-02-28 00:00"]),
            ("*-02~3", ["2027-02-26 00:00", "2028-02-27 00:00"]),
            ("Mon *-05~07/1", ["2027-05-31 00:00", "2028-05-29 00:00"]),
            ("*-*~7/3 1:0", ["2026-11-24 01:00", "2026-11-27 01:00", "2026-11-30 01:00", "2026-12-25 01:00"]),
            ("*-*~1..2", ["2026-11-29 00:00", "2026-11-30 00:00", "2026-12-30 00:00"]),
            ("*:*:20/20", ["2026-11-22 12:00:20", "2026-11-22 12:00:40", "2026-11-22 12:01:20"]),
            ("2027/5-1-1", ["2027-01-01 00:00", "2032-01-01 00:00"]),
            ("Mon *-2-29", ["2044-02-29 00:00", "2072-02-29 00:00", "2112-02-29 00:00"]),
            ("2024-01-01", []), ("*-2-30", []), ("2199-12-31 23:59:59", ["2199-12-31 23:59:59"]),
        ] as [(String, [String])])
    func `events match the times of systemd`(text: String, expected: [String]) throws {
        let found = try next(text, "UTC", after: "2026-11-22T12:00:00Z", max(1, expected.count))
        #expect(found == expected)
    }

    @Test func `an event may name its zone`() throws {
        #expect(try expression("daily Europe/Berlin").zoneName == "Europe/Berlin")
        #expect(try expression("daily utc").zoneName == "UTC")
        #expect(try expression("daily").zoneName == nil)
    }

    @Test(
        arguments: [
            ("*:*/5", 3, "* cannot be combined in a calendar event", "write 0/5"),
            ("*-*-*/2", 5, "* cannot be combined in a calendar event", "write 1/2"),
            ("Fri..Mon", 6, "the range ends before it begins", "weeks end on Sunday: write Sat,Sun,Mon"),
            (
                "Mon5", 4, "\"5\" cannot follow a day of the week",
                "write lists with commas (1,3) and ranges with dots (1..3)"
            ),
            ("Mon Fri", 5, "days of the week come first", "join them with commas, without spaces: Mon,Fri"),
            (
                "tuesd", 1, "\"tuesd\" is not a day of the week, a shorthand or a time",
                "write Mon to Sun, Monday to Sunday, or a word such as daily or weekly"
            ),
            ("25:00", 1, "hour 25 is out of range", "write 0 to 23"),
            (
                "10:00:00.5", 9, "\".\" is not allowed in a second",
                "schedules start at whole seconds: leave the fraction out"
            ),
            ("1969-1-1", 1, "year 1969 is out of range", "write 1970 to 2199"),
            (
                "*-*~3..1", 8, "the range ends before it begins",
                "write the number that is nearer to the month's end first"
            ),
            ("*~02-03", 3, "only a day can be counted from the end", "write ~ before the day"),
            (
                "10", 1, "\"10\" is neither a date nor a time",
                "write a date such as *-*-01, *-12-24 or *-*~1, and a time such as 02:00"
            ),
            (
                "10:00 *-*-*", 7, "\"*-*-*\" follows the time",
                "write days of the week, date, time and zone in this order"
            ),
            (
                "10:00 ../etc", 7, "\"../etc\" follows the time",
                "write days of the week, date, time and zone in this order"
            ),
            (
                "daily Europe/../x", 7, "\"Europe/../x\" is not the name of a time zone",
                "write one such as UTC or Europe/Berlin"
            ),
            ("23/5:00", 4, "no hour follows 23 after 5", "leave the repetition out, or write a smaller one"),
            ("daily 10:00", 7, "only a time zone may follow daily", "leave the rest out"),
            (":", 1, "an hour is missing", "write numbers, lists (1,3), ranges (1..3), repetitions (0/15) or *"),
            ("*:", 3, "a minute is missing", "write numbers, lists (1,3), ranges (1..3), repetitions (0/15) or *"),
            (
                "*-*-1-5 10:00", 1, "a date has three parts at most",
                "write a date such as *-*-01, *-12-24 or *-*~1, and a time such as 02:00"
            ),
            ("0/0:00", 3, "a repetition of 0 is not possible", "write a number from 1 on"),
        ] as [(String, Int, String, String)])
    func `an error says what, where, why and what to do`(
        text: String, column: Int, reason: String, advice: String
    ) throws {
        let problem = try #require(throws: CalendarProblem.self) { try expression(text) }
        #expect(problem.reason == reason)
        #expect(problem.advice == advice)
        #expect(problem.column == column)
    }

    @Test(arguments: [
        ("*:0/7", "\"0/7\": 7 does not divide 60; the minute after 56 is 0"),
        ("0..10/3:00", "\"0..10/3\": 3 does not divide the range; the last value is 9"),
    ])
    func `a repetition that does not divide its range is taken with a warning`(text: String, warning: String) throws {
        #expect(try expression(text).warnings.map(\.description) == [warning])
    }

    @Test(arguments: ["*:0/15", "*:2/3", "Mon *-05~07/1", "2020/3-1-1"])
    func `a repetition that divides its range gives no warning`(text: String) throws {
        #expect(try expression(text).warnings.isEmpty)
    }
}
