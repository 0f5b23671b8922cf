import Glibc
import OpsCalendar
import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Schedules whose calendar, clock or storage changes while instants wait for their decision.
@Suite struct ScheduleChangeTests {
    func request(_ name: String, at expression: String, _ change: (inout AddScheduleRequest) -> Void = { _ in })
        -> AddScheduleRequest
    {
        .with {
            $0.name = name
            $0.at = [expression]
            $0.zone = "UTC"
            $0.operations = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
            change(&$0)
        }
    }

    /// Stores a schedule as if it had been added some seconds ago, and opens it.
    ///
    /// - Parameter accounted: Number of seconds from now up to which all instants have their record.
    func add(
        _ request: AddScheduleRequest, secondsAgo: Int64, accounted: Int64? = nil, to fixture: Fixture
    ) throws -> StoredSchedule {
        let daemon = fixture.daemon
        let now = Clock.read().wall.nanoseconds / 1_000_000_000
        let start = WallInstant.zero + .seconds(now - secondsAgo)
        var writer = JSONWriter()
        request.write(to: &writer)
        var stored = StoredSchedule(
            uid: daemon.authorization.daemonUser, user: "\(daemon.authorization.daemonUser)", gid: 0,
            name: request.name, definition: writer.text, addedAt: start)
        if let accounted { stored.position.accounted = now + accounted }
        stored.id = try #require(try daemon.store.add(stored))
        return stored
    }

    /// Returns the instants of the calendar that have a record, each once per record.
    private func accounted(_ stored: StoredSchedule, _ fixture: Fixture, every step: Int64) throws -> [Int64] {
        try fixture.daemon.history.instants(of: stored.id, limit: 10_000)
            .flatMap { record in Array(stride(from: record.nominal, through: record.through, by: Int(step))) }
            .sorted()
    }

    @Test func `a change of the calendar loses none of several hundred due instants`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let old = request("steady", at: "every 1s") {
            $0.overlap = "allow"
            $0.catchUp = "all"
        }
        let stored = try add(old, secondsAgo: 300, to: fixture)
        try fixture.daemon.schedules.load()
        try client.send(
            request("steady", at: "@yearly") {
                $0.overlap = "allow"
                $0.catchUp = "all"
                $0.replace = true
            })
        // The answer to a later call does not overtake that of the change.
        try client.send(StatusRequest())
        #expect(try client.receive()?.result(AddScheduleRequest.Reply.self).change == "updated")
        #expect(try client.receive()?.failure == nil)
        let instants = try accounted(stored, fixture, every: 1)
        let first = stored.addedAt.nanoseconds / 1_000_000_000
        #expect(instants.count >= 300)
        #expect(instants == Array((instants.first ?? 0)..<(instants.first ?? 0) + Int64(instants.count)))
        #expect(instants.first == first || instants.first == first + 1)
        let runs = try fixture.daemon.history.instants(of: stored.id, .run, limit: 10_000)
        #expect(runs.count == instants.count)
        #expect(Set(runs.compactMap(\.graph)).count == runs.count)
    }

    @Test func `a change of the calendar loses no instant whose delay is under way`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let old = request("late", at: "every 10h") {
            $0.overlap = "allow"
            $0.spread = "9h"
        }
        // The first instant is the one from which the schedule counts, or the one after it.
        let stored = try add(old, secondsAgo: 36_001, to: fixture)
        try fixture.daemon.schedules.load()
        _ = try client.call(
            request("late", at: "@yearly") {
                $0.overlap = "allow"
                $0.replace = true
            })
        let instants = try accounted(stored, fixture, every: 36_000)
        #expect(instants.last == stored.addedAt.nanoseconds / 1_000_000_000 + 36_000)
        #expect(Set(instants).count == instants.count)
    }

    @Test func `a clock that was turned back while no daemon ran stops no schedule`() throws {
        let fixture = try Fixture()
        _ = try add(request("steady", at: "every 1s"), secondsAgo: 10, accounted: 1_000_000, to: fixture)
        try fixture.daemon.schedules.load()
        let schedule = try #require(fixture.daemon.schedules.all.first)
        let next = try #require(schedule.nextStart?.wallInstant)
        #expect(next < Clock.read().wall + .seconds(60))
    }

    @Test func `a clock that was set back to before the addition of a schedule does not stop it`() throws {
        let fixture = try Fixture()
        _ = try add(request("steady", at: "every 1s"), secondsAgo: -7200, accounted: 7300, to: fixture)
        try fixture.daemon.schedules.load()
        let schedule = try #require(fixture.daemon.schedules.all.first)
        let next = try #require(schedule.nextStart?.wallInstant)
        #expect(next < Clock.read().wall + .seconds(60))
    }

    /// Lets the clock show less than when the last instant of a schedule was decided. Returns the present second, and the
    /// position that the schedule has by the earlier clock.
    func turnClockBack(
        by seconds: Int64, for schedule: Schedule, of schedules: Schedules
    ) -> (now: UnixTime, position: InstantLedger.Position) {
        let now = UnixTime(flooring: Clock.read().wall)
        schedules.clockDifference += .seconds(seconds)
        let position = InstantLedger.Position(accounted: UnixTime(seconds: now.seconds + seconds))
        let (recurrences, policy) = (schedule.definition.recurrences, schedule.definition.policy)
        schedule.adopt(InstantLedger(recurrences, policy, name: schedule.name, at: position))
        return (now, position)
    }

    @Test func `a clock that was set back while nothing could be stored stops no schedule`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let schedules = daemon.schedules
        _ = try add(
            request("steady", at: "every 1s") { $0.overlap = "allow" }, secondsAgo: 10, accounted: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        try daemon.store.database.execute("PRAGMA query_only = 1")
        try fixture.turn { daemon.turns.outage != nil }
        let (now, position) = turnClockBack(by: 3600, for: schedule, of: schedules)
        schedules.refresh()
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { schedule.ledger.position.accounted < position.accounted }
        #expect(try #require(schedule.nextStart).seconds < now.seconds + 3600)
    }

    @Test func `thousands of runs ahead of a clock that was turned back are known after a restart`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let stored = try add(request("steady", at: "every 1s"), secondsAgo: 10, accounted: 0, to: fixture)
        try daemon.store.database.execute(
            """
            WITH RECURSIVE later(second) AS (SELECT 1 UNION ALL SELECT second + 1 FROM later WHERE second < 3000)
            INSERT INTO scheduleInstant (schedule, nominal, origin, number, through, count, result, at)
            SELECT id, accounted + second, 0, 0, accounted + second, 1, 0, 0 FROM schedule, later
            """)
        try daemon.schedules.load()
        let schedule = try #require(daemon.schedules.all.first)
        #expect(schedule.nextStart?.seconds == stored.position.accounted + 3001)
    }

    @Test func `instants that come while nothing can be stored run once each, afterwards`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let stored = try add(
            request("steady", at: "every 1s") { $0.overlap = "allow" }, secondsAgo: 0, accounted: -1, to: fixture)
        try daemon.schedules.load()
        let runs = { try daemon.history.instants(of: stored.id, limit: 1000).filter { $0.result == .run } }
        try fixture.turn { try !runs().isEmpty }
        try daemon.store.database.execute("PRAGMA query_only = 1")
        try fixture.turn { daemon.turns.outage != nil }
        let recovery = Clock.read().wall.nanoseconds / 1_000_000_000 + 2
        try fixture.turn { Clock.read().wall.nanoseconds / 1_000_000_000 >= recovery }
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { try runs().contains { $0.nominal > recovery } }
        let all = try daemon.history.instants(of: stored.id, limit: 1000)
        #expect(all.allSatisfy { $0.result == .run && $0.count == 1 })
        let instants = all.map(\.nominal).sorted()
        let first = try #require(instants.first)
        #expect(instants == Array(first..<first + Int64(instants.count)))
        #expect(Set(all.compactMap(\.graph)).count == all.count)
    }

    @Test func `thousands of schedules are loaded in several turns, and requests wait for them`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        for number in 0..<3000 { _ = try add(request("s\(number)", at: "@yearly"), secondsAgo: 0, to: fixture) }
        let schedules = fixture.daemon.schedules
        try schedules.load()
        #expect(schedules.loading != nil && schedules.all.count < 3000)
        #expect(!schedules.isEmpty)
        #expect(try client.call(ListSchedulesRequest()).schedules.count == 3000)
        #expect(schedules.loading == nil)
        #expect(schedules.all.map(\.name) == schedules.all.map(\.name).sorted())
    }

    @Test func `instants of a long absence are recorded in several turns, each once`() throws {
        let fixture = try Fixture()
        let most = InstantLedger.instantsPerDecision
        let old = request("steady", at: "every 1s") { $0.catchUp = "none" }
        let stored = try add(old, secondsAgo: Int64(3 * most + most / 2), to: fixture)
        try fixture.daemon.schedules.load()
        let history = fixture.daemon.history
        var counts = [0]
        let first = stored.addedAt.nanoseconds / 1_000_000_000
        try fixture.turn {
            let records = try history.instants(of: stored.id, limit: 1000)
            let missed = records.filter { $0.result == .missed }.reduce(0) { $0 + $1.count }
            if missed != counts.last { counts.append(missed) }
            return records.contains { $0.result == .run }
        }
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= most }, "\(counts)")
        let instants = try accounted(stored, fixture, every: 1)
        #expect(instants == Array((instants.first ?? 0)..<(instants.first ?? 0) + Int64(instants.count)))
        #expect(instants.first == first || instants.first == first + 1)
    }

    @Test func `files that wait for the store while they are found again are in one run`() throws {
        let fixture = try Fixture()
        let trigger = request("drop", at: "") {
            $0.at = []
            $0.onPath = "/nowhere/*"
            $0.settle = "1s"
            $0.batch = true
        }
        _ = try add(trigger, secondsAgo: 0, to: fixture)
        let schedules = fixture.daemon.schedules
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        let watch = TriggerWatch(schedules.triggers, schedule, try #require(schedule.definition.trigger))
        let keys = (1...3).map { TriggerKey(key: "/nowhere/\($0)", identity: "same") }
        // Meanwhile nothing is stored, because the store is unavailable.
        for _ in 0..<4 {
            watch.found(keys, isCut: false)
            usleep(1_100_000)
        }
        #expect(watch.ready == keys)
        watch.found([], isCut: false)
        #expect(watch.ready.isEmpty)
        watch.end()
    }

    /// Returns the watch of a trigger that checks a directory without an inotify watch.
    private func watch(settle: String, _ fixture: Fixture) throws -> TriggerWatch {
        let trigger = request("drop", at: "") {
            $0.at = []
            $0.onPath = "/nowhere/*"
            $0.settle = settle
        }
        _ = try add(trigger, secondsAgo: 0, to: fixture)
        let schedules = fixture.daemon.schedules
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        return TriggerWatch(schedules.triggers, schedule, try #require(schedule.definition.trigger))
    }

    @Test func `files whose names differ only in their bytes settle both`() throws {
        let fixture = try Fixture()
        let watch = try watch(settle: "1s", fixture)
        let keys = [
            TriggerKey(key: "/nowhere/caf\u{e9}", identity: "1"),
            TriggerKey(key: "/nowhere/cafe\u{301}", identity: "2"),
        ]
        try fixture.turn {
            watch.found(keys, isCut: false)
            return watch.ready.count == keys.count
        }
        watch.end()
    }

    @Test func `a file settles for less than a second, and is checked once in a second`() throws {
        let fixture = try Fixture()
        let watch = try watch(settle: "900ms", fixture)
        let key = TriggerKey(key: "/nowhere/a", identity: "1")
        let start = Clock.read().monotonic
        watch.found([key], isCut: false)
        #expect(watch.ready.isEmpty)
        #expect(try #require(watch.alarm.instant) >= start + .seconds(1))
        try fixture.turn {
            watch.found([key], isCut: false)
            return !watch.ready.isEmpty
        }
        watch.end()
    }

    @Test func `a check that failed or found only some files is repeated before the usual pause`() throws {
        let fixture = try Fixture()
        let watch = try watch(settle: "0s", fixture)
        watch.found([], isCut: false, mayLackFiles: true)
        #expect(try #require(watch.alarm.instant) <= Clock.read().monotonic + .seconds(60))
        watch.found([], isCut: false)
        #expect(try #require(watch.alarm.instant) > Clock.read().monotonic + .seconds(60))
        watch.failed()
        #expect(try #require(watch.alarm.instant) <= Clock.read().monotonic + .seconds(60))
        watch.end()
    }

    @Test func `a run that finishes in the commit of its submission is finished`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let late = request("late", at: "@yearly") {
            let operation = #"{"command":["true"],"deadline":"2020-01-01T00:00:00Z"}"#
            $0.operations = RawElements(Array("[\(operation)]".utf8))
        }
        let stored = try add(late, secondsAgo: 0, to: fixture)
        try fixture.daemon.schedules.load()
        _ = try client.call(.with { $0.name = "late" } as RunScheduleRequest)
        let schedule = try #require(fixture.daemon.schedules.all.first)
        #expect(schedule.latest != nil)
        try fixture.turn { schedule.unfinished.isEmpty }
        let history = fixture.daemon.history
        try fixture.turn { try history.instants(of: stored.id, limit: 1).first?.outcome != nil }
    }

    @Test func `a backfill ends with a change of its schedule, and stores nothing over the change`() throws {
        let fixture = try Fixture()
        let schedules = fixture.daemon.schedules
        let stored = try add(request("steady", at: "@yearly") { $0.overlap = "allow" }, secondsAgo: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        let now = UnixTime(flooring: Clock.read().wall)
        let instants = (1...100).map { UnixTime(seconds: now.seconds - $0) }
        var answer: Result<Backfill.Answer, ControlError>?
        schedules.backfill(schedule, instants, isSerial: false) { answer = $0 }
        let definition = ScheduleDefinition(
            request("steady", at: "@monthly") { $0.overlap = "allow" }, start: now)
        let changed = try #require(try schedules.update(schedule, definition))
        try schedules.setPaused(changed, true)
        try fixture.turn { answer != nil }
        guard case .failure(.wrongState(_, let message))? = answer else {
            Issue.record("the backfill goes on")
            return
        }
        #expect(message.contains("the schedule was changed"))
        let history = fixture.daemon.history
        #expect(try history.instants(of: stored.id, .run, limit: 1000).count < instants.count)
        #expect(try history.schedules().first?.position.isPaused == true)
    }

    @Test func `a backfill of earlier instants does not change the last run`() throws {
        let fixture = try Fixture()
        let schedules = fixture.daemon.schedules
        let stored = try add(request("steady", at: "@yearly") { $0.overlap = "allow" }, secondsAgo: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        let now = Clock.read().wall.nanoseconds / 1_000_000_000
        for age in [10, 20] as [Int64] {
            var answer: Result<Backfill.Answer, ControlError>?
            schedules.backfill(schedule, [UnixTime(seconds: now - age)], isSerial: false) { answer = $0 }
            try fixture.turn { answer != nil }
        }
        #expect(schedule.latest?.nominal == now - 10)
        let run = try fixture.daemon.history.instants(of: stored.id, .run, limit: 1).first
        #expect(schedule.latest?.graph == run?.graph)
    }

    @Test func `no schedule gets the id of one that was removed while the daemon runs`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let schedules = fixture.daemon.schedules
        _ = try client.call(request("first", at: "@yearly"))
        let id = try #require(schedules.all.first).id
        _ = try client.call(.with { $0.name = "first" } as RemoveScheduleRequest)
        _ = try client.call(request("second", at: "@yearly"))
        #expect(try #require(schedules.all.first).id > id)
    }

    @Test func `a schedule whose time zone is missing stays listed, and can be changed`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try add(request("lost", at: "every 1h") { $0.zone = "No/Where" }, secondsAgo: 0, to: fixture)
        _ = try add(request("other", at: "12:00 No/Where"), secondsAgo: 0, to: fixture)
        try fixture.daemon.schedules.load()
        let rows = try client.call(ListSchedulesRequest()).schedules
        #expect(rows.map(\.name) == ["lost", "other"])
        #expect(rows.allSatisfy { $0.next == nil && $0.problem?.contains("no time zone \"No/Where\"") == true })
        let why = try client.call(.with { $0.name = "lost" } as WhyScheduleRequest)
        #expect(why.waitingFor.map(\.kind) == ["problem"])
        let failure = try client.refusal(.with { $0.name = "lost" } as RunScheduleRequest)
        guard case .control(.wrongState(_, let message)) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(message.contains("does not run"))
        let pause = PauseScheduleRequest.with {
            $0.name = "lost"
            $0.paused = true
        }
        _ = try client.call(pause)
        let changed = try client.call(request("lost", at: "every 1h") { $0.replace = true })
        #expect(changed.change == "updated" && changed.schedule.problem == nil && changed.schedule.paused)
        _ = try client.call(.with { $0.name = "other" } as RemoveScheduleRequest)
        #expect(try client.call(ListSchedulesRequest()).schedules.map(\.name) == ["lost"])
    }

    @Test func `missed instants that a backfill runs have one record, and are missed no more`() throws {
        let fixture = try Fixture()
        let old = request("hourly", at: "every 1h") {
            $0.overlap = "allow"
            $0.catchUp = "none"
        }
        // The first instant is the one from which the schedule counts, or the one after it.
        let stored = try add(old, secondsAgo: 36_001, to: fixture)
        let (schedules, history) = (fixture.daemon.schedules, fixture.daemon.history)
        try schedules.load()
        try fixture.turn { try history.missedInstants(of: stored.id) >= 10 }
        let missed = try history.missedInstants(of: stored.id)
        let schedule = try #require(schedules.all.first)
        let now = UnixTime(flooring: Clock.read().wall)
        let first = UnixTime(seconds: now.seconds - 36_000)
        let instants = schedule.pastInstants(first, through: now, limit: 100).suffix(8).prefix(3)
        var answer: Result<Backfill.Answer, ControlError>?
        schedules.backfill(schedule, Array(instants), isSerial: false) { answer = $0 }
        try fixture.turn { answer != nil }
        #expect(try history.missedInstants(of: stored.id) == missed - 3)
        let runs = try history.instants(of: stored.id, .run, limit: 10)
        #expect(runs.map(\.nominal) == instants.reversed().map(\.seconds))
        let rest = try history.instants(of: stored.id, .missed, limit: 10)
        #expect(rest.map(\.count) == [5, missed - 8])
        #expect(try accounted(stored, fixture, every: 3600).count == missed)
        #expect(schedule.ledger.position.last?.count == 5)
    }

    /// The submission of a run revokes staged launches, and the reports of the runner about them may be so many that
    /// they begin a long turn.
    @Test func `runs start although a long turn begins to gather within their turn`() throws {
        let fixture = try Fixture()
        let (schedules, turns) = (fixture.daemon.schedules, fixture.daemon.turns)
        let stored = try add(request("steady", at: "@yearly") { $0.overlap = "allow" }, secondsAgo: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        var graphs: [GraphID?] = []
        func start(_ nominal: Int64) throws {
            let instant = ScheduleInstant(
                schedule: stored.id, nominal: nominal, through: nominal, count: 1, result: .run)
            let write = ScheduleWrite(instant, schedule.position(schedule.ledger))
            try schedules.startOutsideCalendar(schedule, write, isSerial: false) { graphs.append($0) }
        }
        turns.longTurn = LongTurn(facts: [.tick])
        try start(100)
        try start(200)
        let skipped = ScheduleInstant(schedule: stored.id, nominal: 300, through: 300, count: 1, result: .skipped)
        func skip() throws -> Bool {
            try turns.store(
                ScheduleWrite(skipped, schedule.position(schedule.ledger)),
                of: DecidedInstants(schedule.name, from: UnixTime(seconds: 300), count: 1))
        }
        #expect(try !skip(), "the commit may yet fail")
        try fixture.turn { graphs.count == 2 && turns.longTurn == nil }
        #expect(graphs.allSatisfy { $0 != nil })
        func nominals() throws -> [Int64] {
            try fixture.daemon.history.instants(of: stored.id, limit: 9).map(\.nominal)
        }
        #expect(try nominals() == [200, 100])
        #expect(try skip())
        #expect(try nominals() == [300, 200, 100])
    }

    @Test(
        arguments: [
            (nil, "/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"), (nil, nil, "UTC"),
            (nil, "zoneinfo/../secret", "UTC"),
            ("Europe/Berlin", nil, "Europe/Berlin"), (":Europe/Berlin", "../zoneinfo/Asia/Tokyo", "Europe/Berlin"),
            ("/usr/share/zoneinfo/Europe/Berlin", nil, "Europe/Berlin"), ("", "/usr/share/zoneinfo/Asia/Tokyo", "UTC"),
            ("XXX-7:15", "/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
            (":/etc/localtime", "/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"), ("Mars/Base", nil, "UTC"),
        ] as [(String?, String?, String)])
    func `the zone of opsd is that of TZ, or else that of the machine`(variable: String?, link: String?, name: String) {
        #expect(ZoneFiles.zone(variable: variable, link: link) == name)
    }
}
