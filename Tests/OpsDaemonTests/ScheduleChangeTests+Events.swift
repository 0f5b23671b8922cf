import OpsCalendar
import OpsCore
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Changes of clocks and definitions that concern stored records, and instants that events cause.
extension ScheduleChangeTests {
    private func store(_ instant: ScheduleInstant, of stored: StoredSchedule, in fixture: Fixture) throws {
        let store = fixture.daemon.store
        let write = ScheduleWrite(instant, stored.position)
        try store.change { () throws(StoreError) in try store.put(write) }
    }

    private func seconds(_ instant: WallInstant) -> Int64 { UnixTime(flooring: instant).seconds }

    @Test func `a change of the clock that could not be stored is handled after the outage`() throws {
        let fixture = try Fixture()
        let (daemon, schedules) = (fixture.daemon, fixture.daemon.schedules)
        _ = try add(request("steady", at: "every 1h"), secondsAgo: 10, accounted: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        // Other work of the daemon must not be the first that cannot be stored.
        try fixture.turn { !daemon.turns.turn.isAheadOfStore }
        let (now, position) = turnClockBack(by: 7200, for: schedule, of: schedules)
        try daemon.store.database.execute("PRAGMA query_only = 1")
        schedules.zonesChanged.set(after: .zero)
        try fixture.turn { daemon.turns.outage != nil }
        #expect(schedule.ledger.position.accounted == position.accounted)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { schedule.ledger.position.accounted < position.accounted }
        #expect(try #require(schedule.nextStart).seconds <= now.seconds + 3600)
    }

    @Test func `a record that a change of the clock shortens keeps its reason and its time`() throws {
        let fixture = try Fixture()
        let stored = try add(request("steady", at: "every 1h"), secondsAgo: 7200, accounted: 7200, to: fixture)
        let start = seconds(stored.addedAt)
        var instant = ScheduleInstant(
            schedule: stored.id, nominal: start, through: start + 4 * 3600, count: 5, result: .refused)
        (instant.at, instant.note) = (stored.addedAt, "no such queue")
        try store(instant, of: stored, in: fixture)
        try fixture.daemon.schedules.load()
        let record = try #require(try fixture.daemon.history.instants(of: stored.id, limit: 1).first)
        #expect(record.count == 3 && record.through == start + 7200)
        #expect(record.at == stored.addedAt && record.note == "no such queue")
    }

    @Test func `an instant that a backfill has run does not run again after the clock was turned back`() throws {
        let fixture = try Fixture()
        let hourly = request("steady", at: "every 1h") { $0.overlap = "allow" }
        let stored = try add(hourly, secondsAgo: 7200, accounted: -1, to: fixture)
        let due = seconds(stored.addedAt) + 7200
        var ran = ScheduleInstant(schedule: stored.id, nominal: due, through: due, count: 1, result: .run)
        ran.origin = .backfill
        try store(ran, of: stored, in: fixture)
        try fixture.daemon.schedules.load()
        let schedule = try #require(fixture.daemon.schedules.all.first)
        #expect(schedule.nextStart?.seconds == due)
        try fixture.turn { schedule.nextStart?.seconds == due + 3600 }
        #expect(try fixture.daemon.history.instants(of: stored.id, limit: 9).map(\.origin) == [.backfill])
    }

    @Test func `an instant of an event is not merged with later ones after the clock was turned back`() throws {
        let fixture = try Fixture()
        _ = try add(request("loop", at: "afterFinish 10m"), secondsAgo: 0, to: fixture)
        try fixture.daemon.schedules.load()
        let schedule = try #require(fixture.daemon.schedules.all.first)
        let now = UnixTime(flooring: Clock.read().wall)
        func pause(at nominal: UnixTime) -> (write: ScheduleWrite, after: Schedule.EventState) {
            let event = Schedule.EventInstant(nominal: nominal, isBoot: false)
            return schedule.accounting(InstantRecord(.paused, at: nominal), of: event)
        }
        schedule.adopt(pause(at: UnixTime(seconds: now.seconds + 3600)).after, isRun: false)
        schedule.turnBackEvents(to: now)
        let record = pause(at: now).write.instant
        #expect(record.nominal == now.seconds && record.through == now.seconds && record.count == 1)
    }

    @Test func `an event whose second has a record waits for the next one without further decisions`() throws {
        let fixture = try Fixture()
        let stored = try add(request("loop", at: "afterFinish 1h"), secondsAgo: 0, to: fixture)
        let schedules = fixture.daemon.schedules
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        let first = seconds(stored.addedAt)
        #expect(schedule.nextStart?.seconds == first)
        for second in first..<first + 3 {
            let ran = ScheduleInstant(schedule: stored.id, nominal: second, through: second, count: 1, result: .run)
            try store(ran, of: stored, in: fixture)
        }
        try schedules.decideEvents(schedule, at: UnixTime(seconds: first))
        #expect(schedule.nextStart?.seconds == first + 3)
        #expect(try fixture.daemon.history.instants(of: stored.id, limit: 9).count == 3)
    }

    @Test func `instants that come while a run is unfinished are decided when a runner is connected`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let stored = try add(request("steady", at: "every 1s"), secondsAgo: 10, accounted: 0, to: fixture)
        try daemon.schedules.load()
        func results() throws -> [ScheduleInstant.Result] {
            try daemon.history.instants(of: stored.id, limit: 9).map(\.result)
        }
        try fixture.turn { try !results().isEmpty }
        let later = Clock.read().monotonic + .milliseconds(2500)
        try fixture.turn { Clock.read().monotonic > later }
        #expect(try results() == [.run])
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        try fixture.turn { try results().count > 1 }
        #expect(try results() == [.skipped, .run])
    }

    @Test func `a backfill repeats no run whose record was removed`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let hourly = request("hourly", at: "every 1h") { $0.overlap = "allow" }
        let stored = try add(hourly, secondsAgo: 36_000, accounted: 0, to: fixture)
        let hours = (-1...5).map { seconds(stored.addedAt) + Int64($0) * 3600 }
        for hour in hours.dropFirst(2) {
            let ran = ScheduleInstant(schedule: stored.id, nominal: hour, through: hour, count: 1, result: .run)
            try store(ran, of: stored, in: fixture)
        }
        try daemon.store.removeRecords(of: stored.id, beyond: 2)
        #expect(try daemon.history.instants(of: stored.id, limit: 9).count == 2)
        try daemon.schedules.load()
        let schedule = try #require(daemon.schedules.all.first)
        var answer: Result<Backfill.Answer, ControlError>?
        daemon.schedules.backfill(schedule, hours.map { UnixTime(seconds: $0) }, isSerial: false) { answer = $0 }
        try fixture.turn { answer != nil }
        let result = try #require(answer).get()
        #expect(result.present == 5)
        #expect(result.runs.map(\.nominal) == Array(hours.prefix(2)))
    }

    @Test func `a finished run that is retried is unfinished, and gets an outcome again`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let (schedules, history) = (fixture.daemon.schedules, fixture.daemon.history)
        let stored = try add(request("job", at: "@yearly"), secondsAgo: 0, to: fixture)
        try schedules.load()
        let schedule = try #require(schedules.all.first)
        _ = try client.call(.with { $0.name = "job" } as RunScheduleRequest)
        func outcome() throws -> Outcome? { try history.instants(of: stored.id, limit: 1).first?.outcome }
        for _ in 1...2 {
            #expect(schedule.unfinished.count == 1 && schedule.latest?.outcome == nil)
            _ = try client.call(CancelRequest.with { $0.selection.refs = ["1"] })
            try fixture.turn { try outcome() == .cancelled }
            #expect(schedule.unfinished.isEmpty && schedule.latest?.outcome == .cancelled)
            _ = try client.call(RetryRequest.with { $0.selection.refs = ["1"] })
            try fixture.turn { try outcome() == nil }
        }
    }

    @Test func `a pause by a clock that was then turned back does not stop a schedule of events`() throws {
        let fixture = try Fixture()
        var stored = try add(request("loop", at: "afterFinish 10m"), secondsAgo: 7200, to: fixture)
        let (now, day) = (seconds(Clock.read().wall), Int64(86_400))
        stored.position.pausedThrough = now + day
        let paused = ScheduleInstant(
            schedule: stored.id, nominal: now - 1200, through: now + day, count: 147, result: .paused)
        try store(paused, of: stored, in: fixture)
        try fixture.daemon.schedules.load()
        let schedule = try #require(fixture.daemon.schedules.all.first)
        let event = try #require(schedule.nextEvent)
        #expect(event.nominal.seconds <= seconds(Clock.read().wall) + 600)
        #expect(schedule.decision(on: event, at: event.nominal) == .run)
        let record = try #require(try fixture.daemon.history.instants(of: stored.id, limit: 1).first)
        #expect(record.count == 3 && record.through <= seconds(Clock.read().wall))
        let position = try #require(try fixture.daemon.history.schedules().first).position
        #expect(try #require(position.pausedThrough) <= seconds(Clock.read().wall))
    }

    @Test func `a schedule that gets afterFinish runs at once and has missed nothing`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let stored = try add(request("loop", at: "every 1000h"), secondsAgo: 3 * 86_400, to: fixture)
        let history = fixture.daemon.history
        try fixture.daemon.schedules.load()
        _ = try client.call(request("loop", at: "afterFinish 10m") { $0.replace = true })
        try fixture.turn { try !history.instants(of: stored.id, limit: 1).isEmpty }
        #expect(try history.instants(of: stored.id, limit: 9).map(\.result) == [.run])
        #expect(try history.missedInstants(of: stored.id) == 0)
    }

    @Test func `a schedule that gets @reboot does not run for a boot before the change`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        // It was added in an earlier boot.
        _ = try add(request("boot", at: "every 1000h"), secondsAgo: 10, to: fixture)
        let schedules = fixture.daemon.schedules
        try schedules.load()
        _ = try client.call(request("boot", at: "@reboot") { $0.replace = true })
        let stored = try #require(try fixture.daemon.history.schedules().first)
        #expect(stored.position.boot == schedules.boot)
        #expect(try #require(schedules.all.first).nextEvent == nil)
    }
}
