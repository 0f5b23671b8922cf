import OpsCore
import OpsStore
import Testing

/// Schedules, the records of their instants, and the keys of triggers in the store.
@Suite struct ScheduleRowTests {
    private func schedule(_ name: String, uid: UInt32 = 1000) -> StoredSchedule {
        StoredSchedule(
            uid: uid, user: "ann", gid: 100, name: name, definition: #"{"every":"1h"}"#, addedAt: .zero + .seconds(90))
    }

    /// A world with one schedule, which has the id 1.
    private func world() throws -> World {
        let world = try World()
        #expect(try world.store.add(schedule("nightly")) == 1)
        return world
    }

    private func record(
        _ nominal: Int64, through: Int64? = nil, _ result: ScheduleInstant.Result = .missed,
        count: Int = 1, graph: Int64? = nil, outcome: Outcome? = nil
    ) -> ScheduleInstant {
        var record = ScheduleInstant(
            schedule: 1, nominal: nominal, through: through ?? nominal, count: count, result: result)
        record.graph = graph
        record.outcome = outcome
        record.at = .zero + .seconds(nominal + 5)
        return record
    }

    private func commit(_ world: World, _ writes: [ScheduleWrite]) throws {
        try world.store.commit(Transition(), records: writes)
    }

    private func commit(_ world: World, _ records: ScheduleInstant...) throws {
        try commit(world, records.map { ScheduleWrite($0, StoredSchedule.Position(accounted: $0.through)) })
    }

    private func nominals(_ records: [ScheduleInstant]) -> [Int64] { records.map(\.nominal) }

    @Test func `a schedule is read as it was stored`() throws {
        let world = try world()
        var expected = schedule("nightly")
        expected.id = 1
        #expect(try world.history().schedules() == [expected])
        expected.definition = "{}"
        expected.position.accounted = 7200
        expected.position.runs = 3
        expected.position.isPaused = true
        expected.position.pausedThrough = 7100
        expected.position.boot = "boot-1"
        try world.store.update(expected)
        #expect(try world.history().schedules() == [expected])
        expected.position.isPaused = false
        try world.store.move(1, to: expected.position)
        #expect(try world.history().schedules() == [expected])
    }

    @Test func `a new schedule keeps its boot and gets an id that was never used`() throws {
        let world = try world()
        #expect(try world.store.add(schedule("nightly")) == nil, "one user, one name")
        #expect(try world.store.add(schedule("nightly", uid: 1001)) == 2)
        var atBoot = schedule("at-boot")
        atBoot.position.boot = "boot-7"
        #expect(try world.store.add(atBoot, after: 9) == 10)
        let all = try world.history().schedules()
        #expect(all.map(\.id) == [10, 1, 2])
        #expect(all.map(\.position.boot) == ["boot-7", nil, nil])
        for id in [10, 2] as [Int64] { try world.store.removeSchedule(id) }
        #expect(try world.store.add(schedule("other")) == 2)
        #expect(try world.history().schedules().map(\.id) == [1, 2])
    }

    @Test func `a record is read as it was stored`() throws {
        let world = try world()
        var run = record(3600, through: 3600, .run, graph: 5, outcome: .failed)
        run.origin = .trigger
        run.number = 2
        run.note = "late"
        run.key = "/in/a"
        let stretch = record(7200, through: 14_400, count: 3)
        try commit(world, run, stretch)
        let history = try world.history()
        #expect(try history.instants(of: 1, limit: 9) == [stretch, run])
        #expect(try history.instants(of: 1, .run, limit: 9) == [run])
        #expect(try history.instants(of: 1, limit: 1) == [stretch])
        #expect(try history.instants(of: 2, limit: 9).isEmpty)
        #expect(try history.missedInstants(of: 1) == 3)
        #expect(try history.schedules().map(\.position.accounted) == [14_400])
    }

    @Test func `records are found by the instants in them`() throws {
        let world = try world()
        try commit(world, record(100, through: 300, count: 3), record(400, .run, graph: 1), record(500, through: 600))
        let history = try world.history()
        for (instant, found) in [(99, nil), (100, 100), (300, 100), (301, nil), (400, nil), (600, 500)]
            as [(Int64, Int64?)]
        {
            #expect(try history.stretch(containing: instant, of: 1)?.nominal == found, "\(instant)")
        }
        for (instant, found) in [(99, [100, 400, 500]), (200, [100, 400, 500]), (300, [400, 500]), (600, [])]
            as [(Int64, [Int64])]
        {
            #expect(try nominals(history.instants(of: 1, behind: instant)).sorted() == found, "\(instant)")
        }
        #expect(try history.hasRun(at: 400, of: 1) && !history.hasRun(at: 100, of: 1))
        #expect(try history.hasRecord(at: 100, of: 1) && !history.hasRecord(at: 200, of: 1))
        #expect(try history.nextNumber(at: 400, .calendar, of: 1) == 1)
        #expect(try history.nextNumber(at: 400, .manual, of: 1) == 0)
    }

    @Test func `an instant that runs after all divides the record that contained it`() throws {
        let world = try world()
        let missed = record(100, through: 300, count: 3)
        try commit(world, missed)
        var late = ScheduleWrite(record(200, .run, graph: 1), StoredSchedule.Position(accounted: 300))
        late.replaced = missed
        late.rest = [record(100), record(300)]
        try commit(world, [late])
        let history = try world.history()
        #expect(try nominals(history.instants(of: 1, limit: 9)) == [300, 200, 100])
        #expect(try history.stretch(containing: 100, of: 1)?.through == 100)
    }

    @Test func `a backfill of the first missed instant shortens the record that contained it`() throws {
        let world = try world()
        let missed = record(100, through: 300, count: 3)
        try commit(world, missed)
        var run = record(100, .run, graph: 1)
        run.origin = .backfill
        let rest = record(200, through: 300, count: 2)
        var write = ScheduleWrite(run, StoredSchedule.Position(accounted: 300))
        write.replaced = missed
        write.rest = [rest]
        try commit(world, [write])
        let history = try world.history()
        #expect(try history.instants(of: 1, limit: 9) == [rest, run])
        #expect(try history.missedInstants(of: 1) == 2)
    }

    @Test func `a clock that was set back removes records of instants that did not run`() throws {
        let world = try world()
        var trigger = record(450)
        trigger.origin = .trigger
        try commit(world, record(100, through: 300, count: 3), record(400, .run, graph: 1), record(500), trigger)
        try world.store.removeRecords(
            of: 1, after: 200, shortened: [record(100, through: 200, count: 2)], StoredSchedule.Position(accounted: 200)
        )
        let history = try world.history()
        #expect(try nominals(history.instants(of: 1, limit: 9)) == [450, 400, 100])
        #expect(try history.stretch(containing: 200, of: 1)?.count == 2)
        #expect(try history.stretch(containing: 201, of: 1) == nil)
        #expect(try history.schedules().map(\.position.accounted) == [200])
    }

    @Test func `outcomes of runs are stored, and the oldest records leave`() throws {
        let world = try world()
        var second = record(200, .run, graph: 2)
        second.number = 1
        try commit(world, record(100, .run, graph: 1), second, record(300), record(400, .run, graph: 3))
        #expect(try world.history().runsWithoutOutcome().map(\.graph) == [1, 2, 3])
        try world.store.storeOutcomes(of: [])
        second.outcome = .succeeded
        try world.store.storeOutcomes(of: [second, record(400, .run, graph: 3, outcome: .failed)])
        let history = try world.history()
        #expect(try history.runsWithoutOutcome().map(\.graph) == [1])
        #expect(try history.instants(of: 1, limit: 9).map(\.outcome) == [.failed, nil, .succeeded, nil])
        let numbers = try history.numbers(of: 1)
        #expect(numbers.lastSuccess == second.at && numbers.missed == 1)
        // The first run has no outcome, so its record stays.
        try world.store.removeRecords(of: 1, beyond: 2)
        #expect(try nominals(world.history().instants(of: 1, limit: 9)) == [400, 300, 100])
        try world.store.removeRecords(of: 1, beyond: 9)
        #expect(try nominals(world.history().instants(of: 1, limit: 9)) == [400, 300, 100])
    }

    @Test func `the state of a run is that of its operations`() throws {
        let world = try world()
        var submission = Submission()
        submission.operations = [Draft(), Draft()]
        var texts = SubmissionTexts(submission, particulars: [.init(command: "[]"), .init(command: "[]")])
        texts.scheduled = ScheduleWrite(record(100, .run), StoredSchedule.Position(accounted: 100))
        world.submit(texts)
        try world.commit()
        let instant = try #require(try world.history().instants(of: 1, limit: 1).first)
        #expect(instant.graph == 1)
        finish(world, OperationID(1))
        try world.commit()
        let middle = try world.history().run(of: instant)
        #expect(middle.unfinished == 1 && middle.outcome == nil && middle.finishedAt == nil)
        #expect(try world.history().unfinishedOperations(of: instant) == [OperationID(2)])
        world.start(OperationID(2))
        world.end(OperationID(2), code: 3)
        let end = world.now
        try world.commit()
        let run = try world.history().run(of: instant)
        #expect(run.unfinished == 0 && run.outcome == .failed && run.finishedAt == end)
        #expect(try world.history().unfinishedOperations(of: instant).isEmpty)
        #expect(try world.history().keptGraphs(of: 1).isEmpty)
        var ended = instant
        ended.outcome = .failed
        try world.store.storeOutcomes(of: [ended])
        #expect(try world.history().keptGraphs(of: 1) == [GraphID(1)])
        #expect(try world.history().run(of: record(200)).finishedAt == nil)
        #expect(try world.history().unfinishedOperations(of: record(200)).isEmpty)
    }

    @Test func `the finished operations of a run that goes on are not read`() throws {
        let world = try world()
        var submission = Submission()
        submission.operations = Array(repeating: Draft(), count: 1000)
        var texts = SubmissionTexts(
            submission, particulars: Array(repeating: .init(command: "[]"), count: 1000))
        texts.scheduled = ScheduleWrite(record(100, .run), StoredSchedule.Position(accounted: 100))
        world.submit(texts)
        for id in Int64(1)...999 { finish(world, OperationID(id)) }
        try world.commit()
        let history = try world.history()
        let instant = try #require(try history.instants(of: 1, limit: 1).first)
        #expect(try history.run(of: instant).unfinished == 1)
        func isOver() -> Bool { true }
        let run = try history.reading(until: isOver) { try history.run(of: instant) }
        #expect(run.unfinished == 1 && run.outcome == nil && run.finishedAt == nil)
    }

    @Test func `the key of a file triggers one run for each identity`() throws {
        let world = try world()
        let keys = (1...4).map { TriggerKey(key: "/in/\($0)", identity: "i\($0)") }
        for (place, key) in keys.enumerated() {
            var instant = record(Int64(100 + place), .run, graph: Int64(place + 1))
            instant.origin = .trigger
            var write = ScheduleWrite(instant, StoredSchedule.Position(accounted: 0))
            write.keys = [key]
            try commit(world, [write])
        }
        let changed = TriggerKey(key: "/in/2", identity: "other")
        let new = TriggerKey(key: "/in/5", identity: "i5")
        let asked = [keys[0], changed, keys[2], new]
        #expect(try world.history().newKeys(among: asked, of: 1, limit: 9) == [changed, new])
        #expect(try world.history().newKeys(among: asked, of: 1, limit: 1) == [changed])
        func gone(_ present: Set<String>, beyond count: Int, limit: Int = 9) throws -> [String] {
            try world.history().goneKeys(of: 1, present: present, beyond: count, limit: limit)
        }
        #expect(try gone(["/in/1"], beyond: 0) == ["/in/2", "/in/3", "/in/4"])
        #expect(try gone(["/in/1"], beyond: 1) == ["/in/2", "/in/3"])
        #expect(try gone(["/in/1"], beyond: 1, limit: 1) == ["/in/2"])
        #expect(try gone([], beyond: 4).isEmpty)
        #expect(try world.store.forget("/in/1", of: 1))
        #expect(try !world.store.forget("/in/1", of: 1))
        try world.store.forget(["/in/2", "/in/3"], of: 1)
        #expect(try world.history().newKeys(among: keys, of: 1, limit: 9) == Array(keys.prefix(3)))
        try world.store.removeSchedule(1)
        let history = try world.history()
        #expect(try history.newKeys(among: keys, of: 1, limit: 9) == keys)
        #expect(try history.schedules().isEmpty && history.instants(of: 1, limit: 9).isEmpty)
    }
}
