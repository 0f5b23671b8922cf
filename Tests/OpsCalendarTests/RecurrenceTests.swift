import Testing

@testable import OpsCalendar

@Suite struct RecurrenceTests {
    private func recurrence(_ text: String, _ zoneName: String = "UTC", start: Int64 = 0) throws -> Recurrence {
        Recurrence(try expression(text), zone: try zone(zoneName), start: UnixTime(seconds: start))
    }

    /// Returns the instants between two instants, in UTC as `HOUR:MINUTE`.
    private func instants(_ text: String, _ zoneName: String, _ from: String, _ to: String) throws -> [String] {
        let end = try utc(to)
        let recurrences = Recurrences([try recurrence(text, zoneName)], after: try utc(from))
        return Array(recurrences.prefix { $0 < end }).map { String(ZoneRules.utc.localTime(at: $0).text.dropFirst(11)) }
    }

    private let spring = ("2026-03-28T22:30:00Z", "2026-03-29T04:30:00Z")
    private let autumn = ("2026-10-24T21:30:00Z", "2026-10-25T04:30:00Z")

    // MARK: - Changes of clocks: Berlin skips 02:00 to 03:00 at 01:00 UTC, and repeats it from 00:00 to 02:00 UTC.

    @Test(
        arguments: [
            ("30 2 * * *", ["01:00"]),
            ("02:30", ["01:00"]),
            // Several skipped times, and the end of the gap itself, are one instant.
            ("0,30 2 * * *", ["01:00"]),
            ("0,30 2,3 * * *", ["01:00", "01:30"]),
            ("*/10 2 * * *", ["01:00"]),
            ("02:15..45/15:30", ["01:00"]),
            // A range with all hours is a restriction, because it does not begin with *.
            ("30 0-23 * * *", ["23:30", "00:30", "01:00", "01:30", "02:30", "03:30"]),
        ] as [(String, [String])])
    func `skipped times run once, at the end of the gap`(text: String, expected: [String]) throws {
        #expect(try instants(text, "Europe/Berlin", spring.0, spring.1) == expected)
    }

    @Test(
        arguments: [
            ("30 2 * * *", ["00:30"]), ("02:30", ["00:30"]), ("0 2 * * *", ["00:00"]), ("0 3 * * *", ["02:00"]),
            ("30 0-23 * * *", ["22:30", "23:30", "00:30", "02:30", "03:30"]),
            ("0/2:30", ["22:30", "00:30", "03:30"]),
        ] as [(String, [String])])
    func `repeated times run the first time only`(text: String, expected: [String]) throws {
        #expect(try instants(text, "Europe/Berlin", autumn.0, autumn.1) == expected)
    }

    @Test(
        arguments: [
            ("30 * * * *", ["23:30", "00:30", "01:30", "02:30", "03:30"]),
            ("*:30", ["23:30", "00:30", "01:30", "02:30", "03:30"]),
            // 00:30 and 04:30 local: 02:30 does not occur.
            ("30 */2 * * *", ["23:30", "02:30"]),
        ] as [(String, [String])])
    func `unrestricted hours follow elapsed time through a gap`(text: String, expected: [String]) throws {
        #expect(try instants(text, "Europe/Berlin", spring.0, spring.1) == expected)
    }

    @Test(
        arguments: [
            ("30 * * * *", ["22:30", "23:30", "00:30", "01:30", "02:30", "03:30"]),
            ("hourly", ["22:00", "23:00", "00:00", "01:00", "02:00", "03:00", "04:00"]),
            ("30 */2 * * *", ["22:30", "00:30", "01:30", "03:30"]),
        ] as [(String, [String])])
    func `unrestricted hours follow elapsed time through a repetition`(text: String, expected: [String]) throws {
        #expect(try instants(text, "Europe/Berlin", autumn.0, autumn.1) == expected)
    }

    /// Lord Howe Island changes its clocks by half an hour: 02:00 to 02:30 at 15:30 UTC, and 02:00 to 01:30 at 15:00
    /// UTC.
    @Test func `in a shift of half an hour, minutes match where they really occur`() throws {
        let (from, to) = ("2026-10-03T13:45:00Z", "2026-10-03T17:45:00Z")
        #expect(try instants("0 * * * *", "Australia/Lord_Howe", from, to) == ["14:30", "16:00", "17:00"])
        #expect(try instants("45 * * * *", "Australia/Lord_Howe", from, to) == ["14:15", "15:15", "15:45", "16:45"])
        #expect(try instants("15 2 * * *", "Australia/Lord_Howe", from, to) == ["15:30"])
        let (start, end) = ("2026-04-04T13:45:00Z", "2026-04-04T17:45:00Z")
        #expect(try instants("45 * * * *", "Australia/Lord_Howe", start, end) == ["14:45", "15:15", "16:15", "17:15"])
        #expect(try instants("45 1 * * *", "Australia/Lord_Howe", start, end) == ["14:45"])
    }

    @Test func `a day that is missing runs at the start of the next one`() throws {
        #expect(
            try next("0 3 30 12 *", "Pacific/Apia", after: "2011-12-01T00:00:00Z", 2)
                == ["2011-12-31 00:00", "2012-12-30 03:00"])
        #expect(
            try next("0 3 * * *", "Pacific/Apia", after: "2011-12-29T12:00:00Z", 3)
                == ["2011-12-29 03:00", "2011-12-31 00:00", "2011-12-31 03:00"])
        #expect(try next("30 * 30 12 *", "Pacific/Apia", after: "2011-12-01T00:00:00Z", 1) == ["2012-12-30 00:30"])
    }

    @Test func `a midnight that is missing runs at one o'clock`() throws {
        #expect(
            try next("0 0 * * *", "Asia/Beirut", after: "2026-03-28T12:00:00Z", 2)
                == ["2026-03-29 01:00", "2026-03-30 00:00"])
        // The hour before midnight occurs twice, midnight once.
        #expect(try instants("0 0 * * *", "Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z") == ["22:00"])
        #expect(try instants("30 23 * * *", "Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z") == ["20:30"])
    }

    @Test func `every follows elapsed time in both directions from its start`() throws {
        let every = try recurrence("every 90m", "Europe/Berlin", start: 1_774_740_000)
        let first = Recurrences([every], after: UnixTime(seconds: 1_774_739_999)).prefix(4).map(\.seconds)
        #expect(first == [1_774_740_000, 1_774_745_400, 1_774_750_800, 1_774_756_200])
        #expect(every.next(after: UnixTime(seconds: 1_774_745_399))?.seconds == 1_774_745_400)
        #expect(every.next(after: UnixTime(seconds: 1_774_745_400))?.seconds == 1_774_750_800)
        #expect(every.next(after: UnixTime(seconds: 1_774_734_599))?.seconds == 1_774_734_600)
        #expect(every.next(after: UnixTime(seconds: 1_774_734_600))?.seconds == 1_774_740_000)
        #expect(every.next(after: .latest) == nil)
    }

    @Test func `expressions that events cause have no instants`() throws {
        #expect(try recurrence("@reboot").next(after: .earliest) == nil)
        #expect(try recurrence("afterFinish 10m").next(after: .earliest) == nil)
        #expect(try expression("afterFinish 10m").timing == .afterFinish(seconds: 600))
    }

    // MARK: - Several expressions

    @Test func `an instant of several expressions counts once`() throws {
        let all = try ["0 * * * *", "*/30 * * * *", "every 1h"].map { try recurrence($0) }
        let recurrences = Recurrences(all, after: UnixTime(seconds: 3599))
        #expect(recurrences.prefix(4).map(\.seconds) == [3600, 5400, 7200, 9000])
        #expect(recurrences.previous(before: UnixTime(seconds: 5400))?.seconds == 3600)
        #expect(Recurrences([]).next(after: .earliest) == nil)
        #expect(Recurrences([]).previous(before: .latest) == nil)
    }

    @Test func `the instant before is the latest of all expressions, near or far`() throws {
        let all = try ["0 0 29 2 *", "30 2 * * *", "2026-01-01 12:00", "every 7h"].map {
            try recurrence($0, "Europe/Berlin", start: 1000)
        }
        let recurrences = Recurrences(all)
        for text in ["1970-01-01T00:16:39Z", "1972-02-29T01:30:00Z", "2026-01-01T11:00:01Z", "2026-03-29T01:00:01Z"] {
            let instant = try utc(text)
            for before in [instant, instant.advanced(by: 1), instant.advanced(by: 1_000_003)] {
                let expected = all.compactMap { $0.previous(before: before) }.max()
                #expect(recurrences.previous(before: before) == expected, "\(text)")
            }
        }
        let rare = Recurrences([try recurrence("Mon *-02-29", "Europe/Berlin")])
        #expect(try rare.previous(before: utc("2044-02-28T00:00:00Z")) == utc("2016-02-28T23:00:00Z"))
    }

    // MARK: - Limits

    @Test(arguments: ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "2024-01-01", "Mon 2027-11-23", "*-2-30 *:*:*"])
    func `an expression without a future instant ends`(text: String) throws {
        for name in ["UTC", "Europe/Berlin", "Pacific/Apia"] {
            #expect(try recurrence(text, name).next(after: utc("2026-11-22T00:00:00Z")) == nil)
        }
    }

    @Test func `the time after 2199 has no instants`() throws {
        for text in ["* * * * *", "0 0 * * *", "*:*:*"] {
            let last = try recurrence(text, "Europe/Berlin").next(after: utc("2199-12-31T22:59:58Z"))
            #expect(last == (text == "*:*:*" ? try utc("2199-12-31T22:59:59Z") : nil))
            #expect(try recurrence(text, "Europe/Berlin").next(after: .latest) == nil)
        }
    }

    @Test func `the time before 1970 has no instants`() throws {
        #expect(try recurrence("0 0 * * *").next(after: .earliest) == UnixTime(seconds: 0))
        #expect(try recurrence("0 0 * * *").previous(before: UnixTime(seconds: 0)) == nil)
    }

    @Test func `the instant before is the one whose next is this one`() throws {
        for text in ["30 2 * * *", "30 * * * *", "*-2-29", "0 0 1 1 *", "Sun 02:00..59:30"] {
            let recurrence = try recurrence(text, "Europe/Berlin")
            var last = try utc("2026-01-01T00:00:00Z")
            var found: [UnixTime] = []
            for instant in Recurrences([recurrence], after: last).prefix(400) { found.append(instant) }
            for instant in found {
                if instant > found[0] { #expect(recurrence.previous(before: instant) == last) }
                last = instant
            }
        }
    }

    @Test func `rare expressions are found across centuries`() throws {
        #expect(
            try next("Mon *-02-29 02:30", "Europe/Berlin", after: "2090-01-01T00:00:00Z", 1) == ["2112-02-29 02:30"])
        #expect(
            try next("* * 29 2 *", "Europe/Berlin", after: "2096-03-01T00:00:00Z", 1) == ["2104-02-29 00:00"])
    }
}
