import OpsCalendar
import OpsExecutor
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Limits for the runs, records and stored files of one user's schedules.
@Suite struct ScheduleLimitTests {
    @Test func `a user who has had all runs of a minute waits for its end, and no other user does`() {
        var allowance = RunAllowance()
        let first = (0..<RunAllowance.runsInAMinute).map {
            allowance.consumeRun(of: 1000, at: .zero + .nanoseconds(Int64($0)))
        }
        #expect(first.allSatisfy { $0 })
        var mayRun = allowance.consumeRun(of: 1000, at: .zero + .nanoseconds(59_999_999_999))
        #expect(!mayRun)
        #expect(allowance.rest(of: 1000, at: .zero + .nanoseconds(59_999_999_999)) == .zero + .seconds(60))
        mayRun = allowance.consumeRun(of: 1001, at: .zero + .nanoseconds(59_999_999_999))
        #expect(mayRun)
        #expect(allowance.rest(of: 1001, at: .zero + .nanoseconds(59_999_999_999)) == nil)
        #expect(allowance.rest(of: 1000, at: .zero + .seconds(60)) == nil)
        mayRun = allowance.consumeRun(of: 1000, at: .zero + .seconds(60))
        #expect(mayRun)
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
        let added = WallInstant.zero + .seconds(start.wall.nanoseconds / 1_000_000_000 - 300)
        for name in (0..<10).map({ "every\($0)" }) {
            let request: AddScheduleRequest = .with {
                $0.name = name
                $0.at = ["every 1s"]
                $0.zone = "UTC"
                $0.overlap = "allow"
                $0.catchUp = "all"
                $0.operations = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
            }
            var writer = JSONWriter()
            request.write(to: &writer)
            let stored = StoredSchedule(
                uid: 54321, user: "54321", gid: 54321, name: name, definition: writer.text, addedAt: added)
            _ = try daemon.store.add(stored)
        }
        try daemon.schedules.load()
        let records = {
            try daemon.schedules.all.flatMap { try daemon.history.instants(of: $0.id, limit: 10_000) }
        }
        try fixture.turn { try records().count >= RunAllowance.runsInAMinute }
        for _ in 0..<20 { try fixture.loop.turn(timeout: 1000) }
        let minutes = Int((Clock.read().monotonic - start.monotonic) / .minutes(1))
        let found = try records()
        #expect(found.allSatisfy { $0.result == .run })
        #expect(found.count <= RunAllowance.runsInAMinute * (minutes + 1))
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
        #expect(tooLarge(try client.refusal(large)) == "the graph of a schedule")
        large = request
        large.at = []
        large.onExec = String(repeating: "x", count: ScheduleLimits.definitionBytes)
        #expect(tooLarge(try client.refusal(large)) == "the definition of a schedule")

        request.capture?.environment = StringMap([("A", value)])
        #expect(try client.call(request).change == "added")
    }
}
