import OpsCalendar
import OpsCore
import OpsExecutor
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Limits for the decisions, records and stored files of one user's schedules.
@Suite struct ScheduleLimitTests {
    /// Stores a schedule of each second, which was added five minutes ago. Returns its id.
    private func add(
        _ name: String, of user: UInt32, to fixture: Fixture,
        _ change: (inout AddScheduleRequest) -> Void = {
            $0.overlap = "allow"
            $0.catchUp = "all"
        }
    ) throws -> Int64 {
        let added = WallInstant.zero + .seconds(Clock.read().wall.nanoseconds / 1_000_000_000 - 300)
        let request: AddScheduleRequest = .with {
            $0.name = name
            $0.at = ["every 1s"]
            $0.zone = "UTC"
            $0.operations = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
            change(&$0)
        }
        var writer = JSONWriter()
        request.write(to: &writer)
        let stored = StoredSchedule(
            uid: user, user: "\(user)", gid: user, name: name, definition: writer.text, addedAt: added)
        return try #require(try fixture.daemon.store.add(stored))
    }

    /// Loads the only schedule as if a run of it had not finished, and as if nothing had been missed.
    private func loadSkipping(_ fixture: Fixture) throws -> Schedule {
        let schedules = fixture.daemon.schedules
        try schedules.load()
        fixture.daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        let schedule = try #require(schedules.all.first)
        schedule.unfinished = [ScheduleInstant(schedule: schedule.id, nominal: 0, through: 0, count: 1, result: .run)]
        schedule.adopt(
            InstantLedger(
                schedule.definition.recurrences, schedule.definition.policy, name: schedule.name,
                at: schedule.ledger.position))
        return schedule
    }

    @Test func `a user who has had all decisions of a minute waits for its end, and no other user does`() {
        var allowance = DecisionAllowance()
        let first = (0..<DecisionAllowance.decisionsInAMinute).map {
            allowance.consume(of: 1000, at: .zero + .nanoseconds(Int64($0)))
        }
        #expect(first.allSatisfy { $0 })
        var isAllowed = allowance.consume(of: 1000, at: .zero + .nanoseconds(59_999_999_999))
        #expect(!isAllowed)
        #expect(allowance.rest(of: 1000, at: .zero + .nanoseconds(59_999_999_999)) == .zero + .seconds(60))
        isAllowed = allowance.consume(of: 1001, at: .zero + .nanoseconds(59_999_999_999))
        #expect(isAllowed)
        #expect(allowance.rest(of: 1001, at: .zero + .nanoseconds(59_999_999_999)) == nil)
        #expect(allowance.rest(of: 1000, at: .zero + .seconds(60)) == nil)
        isAllowed = allowance.consume(of: 1000, at: .zero + .seconds(60))
        #expect(isAllowed)
        #expect(allowance.rest(of: 1000, at: .zero + .seconds(60)) == nil)
    }

    @Test func `users with many schedules keep fewer records of each`() {
        #expect(ScheduleLimits.records(ofEach: 1) == 10_000)
        #expect(ScheduleLimits.records(ofEach: 1000) == 1000)
        #expect(ScheduleLimits.records(ofEach: 100_000) == 100)
        #expect(ScheduleLimits.goneFiles(ofEach: 1) == 100_000)
        #expect(ScheduleLimits.goneFiles(ofEach: 1000) == 1000)
    }

    @Test func `runs beyond those of a minute stay due`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let start = Clock.read()
        for number in 0..<10 { _ = try add("every\(number)", of: 54321, to: fixture) }
        try daemon.schedules.load()
        let records = {
            try daemon.schedules.all.flatMap { try daemon.history.instants(of: $0.id, limit: 10_000) }
        }
        try fixture.turn { try records().count >= DecisionAllowance.decisionsInAMinute }
        for _ in 0..<20 { try fixture.loop.turn(timeout: 1000) }
        let minutes = Int((Clock.read().monotonic - start.monotonic) / .minutes(1))
        let found = try records()
        #expect(found.allSatisfy { $0.result == .run })
        #expect(found.count <= DecisionAllowance.decisionsInAMinute * (minutes + 1))
    }

    @Test func `schedules of one user do not keep those of another from a decision`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let others = try (0..<200).map { try add("a\($0)", of: 54321, to: fixture) }
        let own = try add("z", of: daemon.authorization.daemonUser, to: fixture)
        try daemon.schedules.load()
        try fixture.turn { try !daemon.history.instants(of: own, limit: 1).isEmpty }
        let decided = try others.map { try daemon.history.instants(of: $0, limit: 1000).count }.reduce(0, +)
        #expect(decided < DecisionAllowance.decisionsInAMinute / 2)
    }

    @Test func `instants that do not run count like runs`() throws {
        let fixture = try Fixture()
        let id = try add("steady", of: 54321, to: fixture) { $0.overlap = "skip" }
        let schedule = try loadSkipping(fixture)
        let start = Clock.read().monotonic
        for _ in 0..<DecisionAllowance.decisionsInAMinute { _ = fixture.daemon.schedules.spendDecision(of: schedule) }
        for _ in 0..<20 { try fixture.loop.turn(timeout: 1000) }
        let records = try fixture.daemon.history.instants(of: id, limit: 1)
        #expect(records.isEmpty || Clock.read().monotonic - start >= .minutes(1))
    }

    @Test func `instants that waited for their turn are not missed`() throws {
        let fixture = try Fixture()
        let id = try add("steady", of: 54321, to: fixture) { $0.overlap = "skip" }
        _ = try loadSkipping(fixture)
        let history = fixture.daemon.history
        try fixture.turn { try !history.instants(of: id, limit: 1).isEmpty }
        let records = try history.instants(of: id, limit: 10)
        #expect(records.map(\.result) == [.skipped])
        #expect(records.first.map { $0.count >= 300 } == true)
    }

    @Test func `stored files of a trigger that are gone are bounded, and those that exist are not`() throws {
        let fixture = try Fixture()
        let store = fixture.daemon.store
        try store.database.execute(
            """
            WITH RECURSIVE each(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM each WHERE n < 50)
            INSERT INTO triggerKey SELECT 1, '/in/' || n, 'identity', n FROM each
            """)
        let history = fixture.daemon.history
        let gone = try history.goneKeys(of: 1, present: ["/in/1", "/in/3"], beyond: 40, limit: 5)
        #expect(gone == ["/in/2", "/in/4", "/in/5", "/in/6", "/in/7"])
        try store.forget(gone, of: 1)
        #expect(
            try history.goneKeys(of: 1, present: ["/in/1", "/in/3"], beyond: 40, limit: 5) == [
                "/in/8", "/in/9", "/in/10",
            ])
        #expect(try history.goneKeys(of: 1, present: ["/in/1", "/in/3"], beyond: 43, limit: 5).isEmpty)
    }

    @Test func `the values of a run fill its graph up to a limit`() throws {
        let text = RunText(["file": String(repeating: "x", count: 1 << 20)])
        let marks = { (count: Int) in Array(String(repeating: "${file}", count: count).utf8) }
        #expect(try text.fill(marks(15)).count == 15 << 20)
        #expect(throws: ControlError.self) { _ = try text.fill(marks(17)) }
    }

    private func tooLarge(_ failure: ReplyError?) -> String? {
        guard case .control(.tooLarge(let what, _)) = failure else { return nil }
        return what
    }

    @Test func `the environment, the directory and the observers of a schedule are bounded`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = AddScheduleRequest()
        request.name = "daily"
        request.at = ["@daily"]
        request.zone = "UTC"
        request.operations = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
        request.capture = Capture()
        request.capture?.directory = "/a\0b"
        let failure = try client.refusal(request)
        guard case .control(.invalidOperation(let problems)) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(problems.first?.key == "capture.directory")
        request.capture?.directory = "/"

        let value = String(repeating: "x", count: 64 << 10)
        var large = request
        large.capture?.environment = StringMap((0..<20).map { ("A\($0)", value) })
        #expect(tooLarge(try client.refusal(large)) == "the captured environment")
        large = request
        let observer = String(repeating: "x", count: Limits.scheduleBytes)
        large.observers = RawJSON(Array(#"{"finish":["\#(observer)"]}"#.utf8))
        #expect(tooLarge(try client.refusal(large)) == "the size of a schedule's graph in bytes")
        large = request
        large.at = []
        large.onExec = String(repeating: "x", count: ScheduleLimits.definitionBytes)
        #expect(tooLarge(try client.refusal(large)) == "the size of a schedule's definition in bytes")

        request.capture?.environment = StringMap([("A", value)])
        #expect(try client.call(request).change == "added")
    }
}
