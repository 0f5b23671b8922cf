import Testing

@testable import OpsCalendar

@Suite struct ZoneRulesTests {
    @Test(arguments: [
        ("Europe/Berlin", "2026-01-15T12:00:00Z", 3600), ("Europe/Berlin", "2026-07-15T12:00:00Z", 7200),
        ("America/New_York", "2026-01-15T12:00:00Z", -18_000), ("Asia/Kathmandu", "2026-01-15T12:00:00Z", 20_700),
        ("Australia/Lord_Howe", "2026-01-15T12:00:00Z", 39_600), ("Pacific/Apia", "2011-12-30T09:59:59Z", -36_000),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", 50_400), ("UTC", "2026-01-15T12:00:00Z", 0),
    ])
    func `offsets are those of the zone`(name: String, instant: String, offset: Int) throws {
        #expect(try zone(name).offset(at: utc(instant)) == offset)
    }

    @Test func `the footer governs years far beyond the table`() throws {
        let berlin = try zone("Europe/Berlin")
        #expect(berlin.offset(at: try utc("2519-07-01T00:00:00Z")) == 7200)
        #expect(berlin.offset(at: try utc("2519-01-01T00:00:00Z")) == 3600)
        let change = try #require(
            berlin.nextChange(after: utc("2400-01-01T00:00:00Z"), through: utc("2401-01-01T00:00:00Z")))
        #expect(change == ClockChange(instant: try utc("2400-03-26T01:00:00Z"), before: 3600, after: 7200))
        #expect([3600, 7200].contains(berlin.offset(at: .latest)))
        #expect(berlin.offset(at: .earliest) == 3208)
    }

    @Test(arguments: [
        // A gap.
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59Z"), ("2026-03-29 02:00", "2026-03-29T01:00:00Z"),
        ("2026-03-29 02:30", "2026-03-29T01:00:00Z"), ("2026-03-29 03:00", "2026-03-29T01:00:00Z"),
        // A repetition.
        ("2026-10-25 02:00", "2026-10-25T00:00:00Z"), ("2026-10-25 02:30", "2026-10-25T00:30:00Z"),
        ("2026-10-25 02:59:59", "2026-10-25T00:59:59Z"), ("2026-10-25 03:00", "2026-10-25T02:00:00Z"),
    ])
    func `a skipped time counts at the end of its gap, and a repeated time once`(time: String, instant: String) throws {
        #expect(try zone("Europe/Berlin").firstInstant(reaching: local(time)) == utc(instant))
    }

    @Test func `a whole day can be missing`() throws {
        let apia = try zone("Pacific/Apia")
        #expect(try apia.firstInstant(reaching: local("2011-12-30 12:00")) == utc("2011-12-30T10:00:00Z"))
        #expect(apia.clockChange(on: LocalDate(year: 2011, month: 12, day: 30)) != nil)
        #expect(apia.clockChange(on: LocalDate(year: 2011, month: 12, day: 29)) == nil)
    }

    @Test(arguments: [
        ("Europe/Berlin", 2026, 3, 29, true), ("Europe/Berlin", 2026, 3, 28, false),
        ("Europe/Berlin", 2026, 3, 30, false), ("Europe/Berlin", 2026, 10, 25, true),
        // There is no midnight: the clocks go from 23:59:59 to 01:00.
        ("Asia/Beirut", 2026, 3, 29, true), ("Asia/Beirut", 2026, 3, 28, false),
        // At midnight the clocks go back to 23:00 of the previous day.
        ("Asia/Beirut", 2026, 10, 24, true), ("Asia/Beirut", 2026, 10, 25, false),
        ("Asia/Kathmandu", 2026, 3, 29, false),
    ])
    func `days on which clocks change are known`(name: String, year: Int, month: Int, day: Int, isOne: Bool) throws {
        let change = try zone(name).clockChange(on: LocalDate(year: year, month: month, day: day))
        #expect((change != nil) == isOne)
    }

    @Test func `changes are listed in their order, and only those of the offset`() throws {
        let dublin = try zone("Europe/Dublin")
        var instant = try utc("2026-01-01T00:00:00Z")
        var changes: [ClockChange] = []
        while let change = dublin.nextChange(after: instant, through: try utc("2028-01-01T00:00:00Z")) {
            changes.append(change)
            instant = change.instant
        }
        #expect(changes.map(\.isForward) == [true, false, true, false])
        #expect(changes.map(\.instant) == changes.map(\.instant).sorted())
        #expect(ZoneRules.utc.nextChange(after: .earliest, through: .latest) == nil)
    }

    @Test func `periods follow each other without gaps`() throws {
        for name in ["Europe/Dublin", "Africa/Casablanca", "Antarctica/Troll", "America/Scoresbysund"] {
            let rules = try zone(name)
            var period = rules.period(containing: .earliest)
            while period.end < (try utc("2110-01-01T00:00:00Z")) {
                let next = rules.period(containing: period.end)
                #expect(next.start == period.end)
                #expect(rules.period(containing: period.end.advanced(by: -1)) == period)
                period = next
            }
        }
    }

    @Test func `the way to local time and back leads to the first instant of that time`() throws {
        var dice = Dice(7)
        for name in ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo"] {
            let rules = try zone(name)
            for _ in 0..<2000 {
                let instant = UnixTime(seconds: .random(in: 0...5_000_000_000, using: &dice))
                let local = rules.localTime(at: instant)
                let first = rules.firstInstant(reaching: local)
                #expect(first <= instant && rules.localTime(at: first) == local)
            }
        }
    }
}
