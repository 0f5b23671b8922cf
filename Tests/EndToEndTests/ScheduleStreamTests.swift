import Foundation
import Testing

/// Events of schedules in the event stream.
@Suite struct ScheduleStreamTests {
    private func events(_ machine: Machine) throws -> [[String: Any]] {
        let last = try #require(try machine.ok("status", "--json").object["lastSeq"] as? Int)
        let watch = try machine.begin(["watch", "--since", "0", "--json"])
        try watch.until { $0.contains("\"seq\":\(last),") && $0.hasSuffix("\n") }
        watch.signal(SIGTERM)
        return try watch.wait().objects
    }

    private func ofSchedules(_ events: [[String: Any]]) -> [[String: Any]] {
        events.filter { $0["schedule"] is String }
    }

    @Test func `the stream tells which instants of a schedule fired and were skipped, each once`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "slow", "--at", "every 1s", "--overlap", "skip", "--", "sleep", "1000")
        let id = try machine.submit("--delay", "4s", "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
        try machine.ok("schedule", "pause", "slow")
        try machine.killDaemon()
        try machine.start()
        let all = try events(machine)
        #expect(all.compactMap { $0["seq"] as? Int } == Array(1...all.count))
        let told = ofSchedules(all)
        #expect(Set(told.compactMap { $0["schedule"] as? String }) == ["slow"])
        let fired = told.filter { $0["type"] as? String == "fired" }
        #expect(fired.count == 1)
        let runs = try machine.ok("schedule", "runs", "slow", "-n", "1000", "--json").objects
        let run = try #require(runs.first { $0["result"] as? String == "run" })
        #expect(fired.first?["graph"] as? String == run["graph"] as? String)
        let skipped = runs.filter { $0["result"] as? String == "skipped" }
        let counts = told.filter { $0["type"] as? String == "skipped" }.compactMap { $0["count"] as? Int }
        #expect(counts.reduce(0, +) == skipped.compactMap { $0["count"] as? Int }.reduce(0, +))
        #expect(!counts.isEmpty)
        let nominals = told.compactMap { $0["nominal"] as? String }
        #expect(Set(nominals).count == told.count)
        // A watcher knows the graph already when the run is reported.
        let submitted = all.firstIndex { $0["graph"] as? String == run["graph"] as? String }
        let place = all.firstIndex { $0["type"] as? String == "fired" }
        #expect(try #require(submitted) < #require(place))
    }

    @Test func `a person sees the schedule and its instant`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "nightly", "--at", "@yearly", "--", "true")
        try machine.ok("schedule", "run", "nightly")
        let watch = try machine.begin(["watch", "--since", "0"])
        try watch.until { $0.contains("fired  schedule nightly  of ") }
        watch.signal(SIGTERM)
        #expect(try watch.wait().out.contains("  g1"))
    }
}
