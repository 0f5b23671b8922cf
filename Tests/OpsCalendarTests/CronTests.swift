import Testing

@testable import OpsCalendar

@Suite struct CronTests {
    private let start = "2026-11-22T12:00:00Z"

    @Test(
        arguments: [
            ("30 4 * * *", ["2026-11-23 04:30", "2026-11-24 04:30"]),
            ("*/20 13 * * *", ["2026-11-22 13:00", "2026-11-22 13:20", "2026-11-22 13:40", "2026-11-23 13:00"]),
            ("0 9-17/4 * * *", ["2026-11-22 13:00", "2026-11-22 17:00", "2026-11-23 09:00"]),
            ("0 0 1 JAN,jul *", ["2027-01-01 00:00", "2027-07-01 00:00"]),
            ("0 0 * * mon-Wed", ["2026-11-23 00:00", "2026-11-24 00:00", "2026-11-25 00:00", "2026-11-30 00:00"]),
            ("0 0 * * 7", ["2026-11-29 00:00", "2026-12-06 00:00"]),
            ("0 0 * * 0", ["2026-11-29 00:00", "2026-12-06 00:00"]),
            ("0 0 * * FRI-SUN", ["2026-11-27 00:00", "2026-11-28 00:00", "2026-11-29 00:00", "2026-12-04 00:00"]),
            // If day of month and day of week are both restricted, either matches.
            ("0 0 1 * 2", ["2026-11-24 00:00", "2026-12-01 00:00", "2026-12-08 00:00"]),
            ("0 0 13 * 5", ["2026-11-27 00:00", "2026-12-04 00:00", "2026-12-11 00:00", "2026-12-13 00:00"]),
            // A day that begins with * is unrestricted, even with a step: both must match.
            ("0 0 */15 * 2", ["2026-12-01 00:00", "2027-02-16 00:00", "2027-03-16 00:00"]),
            ("0 0 1 * */2", ["2026-12-01 00:00", "2027-04-01 00:00", "2027-05-01 00:00"]),
            ("0 0 31 * *", ["2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00"]),
            ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00"]),
            ("@hourly", ["2026-11-22 13:00", "2026-11-22 14:00"]), ("@daily", ["2026-11-23 00:00"]),
            ("@midnight", ["2026-11-23 00:00"]), ("@weekly", ["2026-11-29 00:00"]), ("@monthly", ["2026-12-01 00:00"]),
            ("@yearly", ["2027-01-01 00:00"]), ("@ANNUALLY", ["2027-01-01 00:00", "2028-01-01 00:00"]),
        ] as [(String, [String])])
    func `lines match the times of cron`(line: String, expected: [String]) throws {
        #expect(try next(line, "UTC", after: start, expected.count) == expected)
    }

    @Test func `a line of blanks and tabs is the same as one with spaces`() throws {
        #expect(try expression("  */15\t* 1,1,2  * 1-1 ").description == "*/15 * 1,2 * 1")
    }

    /// A text block of YAML ends with a newline.
    @Test(arguments: ["0 3 * * *", "@reboot", "Mon *-*-* 02:00:00", "every 15m"])
    func `an expression may end with the end of a line`(text: String) throws {
        let plain = try expression(text)
        for end in ["\n", "\r\n"] { #expect(try expression(text + end) == plain) }
    }

    @Test(arguments: [
        ("0 3 * * 1-5", "0 3 * * 1-5"), ("*/1 * * * 7", "* * * * 7"), ("00 03 1-31/1 jan mon-fri", "0 3 1-31 1 1-5"),
        ("@weekly", "0 0 * * 0"), ("@reboot", "@reboot"), ("0 0 * * 5-SUN", "0 0 * * 5-7"),
    ])
    func `the canonical text reads as the same line`(line: String, canonical: String) throws {
        let parsed = try expression(line)
        #expect(parsed.description == canonical)
        #expect(try expression(canonical).timing == parsed.timing)
    }

    @Test(
        arguments: [
            ("61 * * * *", 1, "minute 61 is out of range", "write 0 to 59"),
            ("0 24 * * *", 3, "hour 24 is out of range", "write 0 to 23"),
            ("0 0 0 * *", 5, "day of the month 0 is out of range", "write 1 to 31"),
            ("0 0 * 13 *", 7, "month 13 is out of range", "write 1 to 12"),
            ("0 0 * * 8", 9, "day of the week 8 is out of range", "write 0 to 7"),
            ("0 0 * Foo *", 7, "\"Foo\" is not a value here", "write 1 to 12 or jan to dec"),
            (
                "0 0 L * *", 5, "\"L\" is not a value here",
                "write the last day of the month as a calendar event: \"*-*~1\""
            ),
            ("0 0 ? * *", 5, "\"?\" is not a value", "write 1 to 31, or * for all"),
            ("5/15 * * * *", 3, "a step needs a range, and 5 is one value", "write 5-59/15"),
            ("*/0 * * * *", 3, "a step of 0 is not possible", "write a number from 1 on"),
            ("*/ * * * *", 3, "a step is missing", "write a number from 1 on after \"/\""),
            ("0 22-2 * * *", 6, "the range ends before it begins", "write 22-23,0-2 if it continues after 23"),
            ("0 0 * * 5-1", 11, "the range ends before it begins", "write 5-6,0-1 if it continues after 6"),
            ("0 0 * * 7-1", 11, "the range ends before it begins", "write 0-1"),
            ("1,,2 * * * *", 3, "a value is missing", "write 0 to 59, or * for all"),
            (
                "* * * *", 8, "a cron line has five fields, not 4",
                "write minute, hour, day of the month, month and day of the week"
            ),
            (
                "0 0 0 * * *", 11, "a cron line has five fields, not 6",
                "write seconds, years and zones as a calendar event: \"Mon..Fri *-*-* 03:00:30 Europe/Berlin\""
            ),
            (
                "1-5- * * * *", 4, "\"-\" is not allowed in a cron field",
                "write numbers, names, ranges (1-5), steps (*/15) and lists of them (1,3)"
            ),
            ("99999999999999999999 * * * *", 1, "minute 999999999 is out of range", "write 0 to 59"),
            (
                "@fortnightly", 1, "there is no shorthand @fortnightly",
                "write one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually and @reboot"
            ),
            ("@every 5m", 1, "there is no shorthand @every", "write \"every 5m\""),
            ("@EVERY", 1, "there is no shorthand @every", "write \"every 15m\""),
            ("@daily UTC", 8, "nothing may follow @daily", "write @daily alone, or a calendar event with a zone"),
            ("", 1, "it is empty", "write an expression such as \"0 3 * * 1-5\""),
            ("every", 6, "the duration is missing", "write every 15m"),
            ("every now", 7, "\"now\" is not a duration", "write a duration such as 90s, 15m or 1h30m"),
            ("every 0.5s", 7, "\"0.5s\" is not a number of whole seconds", "write 1s or more"),
            ("afterFinish 0s", 13, "\"0s\" is not a number of whole seconds", "write 1s or more"),
        ] as [(String, Int, String, String)])
    func `an error says what, where, why and what to do`(
        line: String, column: Int, reason: String, advice: String
    ) throws {
        let problem = try #require(throws: CalendarProblem.self) { try expression(line) }
        #expect(problem.reason == reason)
        #expect(problem.advice == advice)
        #expect(problem.column == column)
        #expect("\(problem)" == "\"\(line)\": \(reason) (column \(column)); \(advice)")
    }

    @Test(arguments: [
        ("*/7 * * * *", "\"*/7\": 7 does not divide 60; the minute after 56 is 0"),
        ("0 */5 * * *", "\"*/5\": 5 does not divide 24; the hour after 20 is 0"),
        ("0 0 * * */2", "\"*/2\": 2 does not divide 7; the day of the week after 6 is 0"),
        ("0 0 */2 * *", "\"*/2\": 2 does not divide each month; the day of the month after 31 is 1"),
        ("*/90 * * * *", "\"*/90\": a step of 90 goes beyond 59; the minute is always 0"),
        ("0 0 */31 * *", "\"*/31\": a step of 31 goes beyond 31; the day of the month is always 1"),
        ("0 9-17/3 * * *", "\"9-17/3\": 3 does not divide the range; the last value is 15"),
        ("0 0 1-5/10 * *", "\"1-5/10\": 10 does not divide the range; the last value is 1"),
    ])
    func `a step that does not divide its range is taken with a warning`(line: String, warning: String) throws {
        #expect(try expression(line).warnings.map(\.description) == [warning])
    }

    @Test(arguments: ["*/15 * * * *", "0 */6 * * *", "0 0 * */3 *", "0 9-17/4 * * *", "*/1 * * * *", "0 0 */1 * *"])
    func `a step that divides its range gives no warning`(line: String) throws {
        #expect(try expression(line).warnings.isEmpty)
    }

    @Test func `an expression of more than 1000 bytes is refused`() throws {
        let problem = try #require(throws: CalendarProblem.self) {
            try expression(String(repeating: "1,", count: 600) + "1 * * * *")
        }
        #expect(problem.reason == "it has more than 1000 bytes")
        #expect("\(problem)".count < 250)
    }

    /// Every text is either an expression whose canonical text reads as the same expression, or an error at a position
    /// in the text.
    @Test func `no text does harm`() throws {
        var dice = Dice(3)
        let pieces = [
            "*", "/", "-", ",", "~", ":", "..", " ", "0", "1", "5", "59", "2026", "mon", "Fri", "jan", "UTC", "@daily",
            "every", "15m", "é", "\u{0}", "*-*-*", "0 0 * * ", "Europe/Berlin", "99999999999999999999999",
        ]
        var taken = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...8, using: &dice)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &dice)]
            }.joined()
            do throws(CalendarProblem) {
                let parsed = try expression(text)
                taken += 1
                let again = try expression(parsed.description)
                #expect(again.timing == parsed.timing && again.zoneName == parsed.zoneName, "\(text)")
                _ = Recurrence(parsed, zone: .utc, start: UnixTime(seconds: 0)).next(after: UnixTime(seconds: 0))
            } catch {
                #expect(1...text.utf8.count + 1 ~= error.column, "\(text): \(error)")
            }
        }
        #expect(taken > 100)
    }
}
