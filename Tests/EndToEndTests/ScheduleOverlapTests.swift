import Foundation
import Testing

/// Runs of a schedule that are due while an earlier one is unfinished.
@Suite struct ScheduleOverlapTests {
    /// Returns the results of the instants, oldest first.
    private func results(_ name: String, _ machine: Machine) throws -> [String] {
        try machine.ok("schedule", "runs", name, "-n", "1000", "--json").objects.reversed()
            .flatMap { row in
                Array(repeating: row["result"] as? String ?? "", count: row["count"] as? Int ?? 0)
            }
    }

    private func operations(_ name: String, _ machine: Machine) throws -> [[String: Any]] {
        try machine.ok("ls", "--label", "schedule=\(name)", "--json").objects
    }

    /// Waits for about this many seconds of the daemon's own clock.
    private func pass(_ duration: String, _ machine: Machine) throws {
        let id = try machine.submit("--delay", duration, "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
    }

    @Test func `queueOne keeps one waiting run and skips the instants behind it`() throws {
        let machine = try Machine(workers: 4)
        try machine.ok(
            "schedule", "add", "slow", "--at", "every 1s", "--overlap", "queueOne", "--", "sleep", "1000")
        try pass("4s", machine)
        try machine.ok("schedule", "pause", "slow")
        let results = try results("slow", machine)
        #expect(results.prefix(3) == ["run", "run", "skipped"], "\(results)")
        #expect(results.filter { $0 == "run" }.count == 2)
        let states = try operations("slow", machine).compactMap { $0["state"] as? String }
        #expect(states.count { $0 == "executing" } == 1, "\(states)")
        #expect(states.count == 2)
    }

    @Test func `queueAll runs every instant, one after the other`() throws {
        let machine = try Machine(workers: 4)
        let log = machine.state + "/order"
        let graph = """
            {"operations": [
              {"name": "first", "shell": "echo begin ${scheduled} >> \(log)"},
              {"name": "second", "shell": "sleep 1.3; echo end ${scheduled} >> \(log)", "after": ["first"]},
              {"name": "third", "command": ["true"], "after": ["first"]}]}
            """
        let added = try machine.begin(
            ["schedule", "add", "all", "--at", "every 1s", "--overlap", "queueAll", "-f", "-"], input: graph
        ).wait()
        #expect(added.status == 0, "\(added.err)")
        try pass("3500ms", machine)
        try machine.ok("schedule", "pause", "all")
        try machine.ok("wait", "--label", "schedule=all", "--timeout", "60s")
        let results = try results("all", machine).filter { $0 != "paused" }
        #expect(Set(results) == ["run"])
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2 * results.count)
        let words = lines.map { $0.split(separator: " ").map(String.init) }
        for (begin, end) in zip(words, words.dropFirst()) where begin[0] == "begin" {
            #expect(end == ["end", begin[1]])
        }
    }

    /// Text for the shell that writes when an attempt begins and ends.
    private func job(_ log: String) -> String {
        "echo begin $OPS_ID-$OPS_ATTEMPT >> \(log); sleep 1; echo end $OPS_ID-$OPS_ATTEMPT >> \(log)"
    }

    /// Waits for all runs of a schedule, and expects that this many attempts were executed one after the other.
    private func expectOneAtATime(_ count: Int, of name: String, _ log: String, _ machine: Machine) throws {
        try machine.ok("wait", "--label", "schedule=\(name)", "--timeout", "60s")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines.count == 2 * count)
        for (index, line) in lines.enumerated() where line.hasPrefix("begin") {
            #expect(index + 1 < lines.count && lines[index + 1] == line.replacing("begin", with: "end"), "\(lines)")
        }
    }

    @Test func `a run that is retried and the next run exclude each other`() throws {
        let machine = try Machine(workers: 4)
        let log = machine.state + "/log"
        try machine.ok(
            "schedule", "add", "job", "--at", "@yearly", "--overlap", "queueAll", "--shell",
            job(log) + "; test $OPS_ID-$OPS_ATTEMPT != 1-1")
        try machine.ok("schedule", "run", "job")
        #expect(try machine.ctl("wait", "1", "--timeout", "20s").status == 1)
        try machine.ok("retry", "1")
        try machine.ok("schedule", "run", "job")
        try expectOneAtATime(3, of: "job", log, machine)
    }

    @Test func `the group of a run is in the queue of its operations`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "backup")
        try machine.ok("suspend", "--queue", "default")
        let operations = ["a", "b"].map { #"{"name": "\#($0)", "queue": "backup", "command": ["true"]}"# }
        let graph = """
            {"name": "job", "schedule": {"at": "@yearly", "overlap": "queueAll"},
             "operations": [\(operations.joined(separator: ", "))]}
            """
        try machine.ok("schedule", "apply", "-f", "-", input: graph)
        try machine.ok("schedule", "run", "job")
        try machine.ok("wait", "--label", "schedule=job", "--timeout", "60s")
        let rows = try machine.ok("ls", "--all", "--json").objects
        #expect(rows.count == 3 && rows.allSatisfy { $0["queue"] as? String == "backup" })
    }

    @Test func `a problem of a run that needs a group is reported for its operation`() throws {
        let machine = try Machine()
        let graph = """
            {"name": "job", "schedule": {"at": "@yearly", "overlap": "queueAll"}, "operations": [
              {"name": "a", "command": ["true"], "executor": "nowhere"},
              {"name": "b", "command": ["true"]}]}
            """
        let refused = try machine.ctl("schedule", "apply", "-f", "-", input: graph)
        #expect(refused.status != 0 && refused.err.contains("2:"), "\(refused.err)")
    }

    @Test func `no run starts between the attempts of another`() throws {
        let machine = try Machine(workers: 4)
        let log = machine.state + "/log"
        try machine.ok(
            "schedule", "add", "job", "--at", "@yearly", "--overlap", "queueAll", "--retry", "1", "--retry-backoff",
            "1s", "--retry-jitter", "0", "--shell", "echo $OPS_GRAPH >> \(log); test $OPS_ATTEMPT = 2")
        for _ in 0..<2 { try machine.ok("schedule", "run", "job") }
        try machine.ok("wait", "--label", "schedule=job", "--timeout", "60s")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(lines == ["g1", "g1", "g2", "g2"])
    }

    @Test func `a run that ended while opsd was down does not skip an instant of that time`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        try machine.ok("schedule", "add", "job", "--at", "every 2s", "--shell", "read x < \(gate.path)")
        try machine.await("started", of: 1)
        try machine.killDaemon()
        let killed = Date.now
        for _ in 0..<100 { gate.open() }
        usleep(2_500_000)
        try machine.start()
        let restarted = Date.now
        try pass("1s", machine)
        try machine.ok("schedule", "pause", "job")
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let rows = try machine.ok("schedule", "runs", "job", "-n", "1000", "--json").objects
        let results = rows.compactMap { row -> String? in
            let nominal = (row["nominal"] as? String).flatMap { formatter.date(from: $0) }
            return nominal.map { killed < $0 && $0 < restarted } == true ? row["result"] as? String : nil
        }
        #expect(results.contains("run"), "\(results)")
    }

    @Test func `cancel ends the older run when the next is due`() throws {
        let machine = try Machine(workers: 4)
        try machine.ok(
            "schedule", "add", "newest", "--at", "every 1s", "--overlap", "cancel", "--", "sleep", "1000")
        try pass("3500ms", machine)
        try machine.ok("schedule", "pause", "newest")
        let runs = try machine.ok("schedule", "runs", "newest", "--json").objects.reversed()
            .filter { $0["result"] as? String == "run" }
        #expect(runs.count >= 3)
        #expect(runs.dropLast().allSatisfy { $0["outcome"] as? String == "cancelled" }, "\(runs)")
        #expect(runs.last?["outcome"] is NSNull)
        #expect(try operations("newest", machine).count { $0["state"] as? String == "executing" } == 1)
    }

    @Test func `placeholders of the instant are replaced in all strings of the graph`() throws {
        let machine = try Machine()
        let graph = """
            {"defaults": {"labels": {"day": "${scheduled}"}},
             "operations": [{"name": "a", "shell": "echo '${scheduled} ${scheduledBefore} ${HOME:-x}'"}]}
            """
        let added = try machine.begin(
            ["schedule", "add", "daily", "--at", "@daily", "--zone", "Asia/Tokyo", "-f", "-"], input: graph
        ).wait()
        #expect(added.status == 0, "\(added.err)")
        try machine.ok("schedule", "run", "daily")
        try machine.ok("wait", "--label", "schedule=daily", "--timeout", "20s")
        let row = try #require(try operations("daily", machine).first)
        let labels = try #require(row["labels"] as? [String: String])
        #expect(labels["day"]?.hasSuffix("+09:00") == true)
        let words = try machine.ok("log", "\(try #require(row["id"] as? Int))").out.split(separator: " ")
        #expect(words.first.map(String.init) == labels["day"])
        #expect(words.dropFirst().first?.hasSuffix("T00:00:00+09:00") == true)
    }

    @Test func `keep is the number of finished runs of which the graph is kept`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "few", "--at", "@yearly", "--keep", "2", "--", "false")
        for _ in 0..<5 {
            let graph = try #require(try machine.ok("schedule", "run", "few", "--json").object["graph"] as? String)
            _ = try machine.ctl("wait", "--graph", graph, "--timeout", "20s")
        }
        // Graphs are removed a moment after the end of the last run.
        while try operations("few", machine).count > 2 { try pass("100ms", machine) }
        let runs = try machine.ok("schedule", "runs", "few", "--json").objects
        #expect(runs.count == 5)
        #expect(runs.allSatisfy { $0["outcome"] as? String == "failed" && $0["graph"] is String }, "\(runs)")
        try pass("500ms", machine)
        #expect(try operations("few", machine).count == 2)
    }
}
