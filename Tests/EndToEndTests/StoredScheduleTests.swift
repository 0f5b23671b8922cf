import Foundation
import Testing

/// Schedules that a daemon stores.
@Suite struct StoredScheduleTests {
    /// Returns the records of a schedule, oldest first.
    private func runs(_ name: String, _ machine: Machine) throws -> [[String: Any]] {
        try machine.ok("schedule", "runs", name, "-n", "1000", "--json").objects.reversed()
    }

    /// Waits until a schedule has this many finished runs.
    private func until(_ count: Int, runsOf name: String, _ machine: Machine) throws {
        let watch = try machine.begin(["watch", "--since", "0", "--label", "schedule=\(name)", "--json"])
        defer {
            watch.signal(SIGTERM)
            _ = try? watch.wait(seconds: 10)  // killed by us: its status says nothing
        }
        try watch.until { text in
            text.split(separator: "\n").count { $0.contains("\"type\":\"finished\"") } >= count
        }
    }

    @Test func `a schedule runs at each instant, once, also when the daemon is killed`() throws {
        let machine = try Machine()
        let log = machine.state + "/instants"
        try machine.ok(
            "schedule", "add", "tick", "--at", "every 1s", "--catch-up", "all", "--overlap", "allow", "--shell",
            "echo $OPS_SCHEDULED_AT >> \(log)")
        try until(2, runsOf: "tick", machine)
        try machine.killDaemon()
        try machine.start()
        try until(5, runsOf: "tick", machine)
        try machine.killDaemon()
        try machine.start()
        try until(7, runsOf: "tick", machine)
        try machine.ok("schedule", "pause", "tick")
        let records = try runs("tick", machine).filter { $0["result"] as? String == "run" }
        try machine.ok("wait", "--label", "schedule=tick", "--timeout", "20s")
        let nominal = try records.map { try #require($0["nominal"] as? String) }
        #expect(Set(nominal).count == nominal.count)
        #expect(Set(records.compactMap { $0["graph"] as? String }).count == nominal.count)
        let written = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(written.count == nominal.count)
        #expect(Set(written).count == written.count)
        // No instant is missing: they are one second apart.
        let instants = try nominal.map { text in try #require(Self.seconds(text)) }
        #expect(instants == Array(instants[0]..<instants[0] + instants.count))
        try machine.ok("schedule", "rm", "tick")
    }

    private static func seconds(_ text: String) -> Int? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.date(from: text).map { Int($0.timeIntervalSince1970) }
    }

    @Test func `a run has the name, the label and the environment of its schedule`() throws {
        let machine = try Machine()
        try machine.ok(
            "schedule", "add", "nightly", "--at", "@yearly", "--zone", "Europe/Berlin", "--env", "COLOUR=blue",
            "--label",
            "kind=backup", "--shell", "echo $COLOUR $OPS_SCHEDULED_AT $OPS_SCHEDULED_BEFORE")
        let graph = try #require(try machine.ok("schedule", "run", "nightly", "--json").object["graph"] as? String)
        try machine.ok("wait", "--graph", graph, "--timeout", "20s")
        let row = try #require(try machine.ok("ls", "--graph", graph, "--json").objects.first)
        let labels = try #require(row["labels"] as? [String: String])
        #expect(labels == ["schedule": "nightly", "kind": "backup"])
        let words = try machine.ok("log", "\(try #require(row["id"] as? Int))").out.split(separator: " ")
        #expect(words.first == "blue")
        #expect(words.last?.hasSuffix("-01-01T00:00:00+01:00\n") == true)
        let record = try #require(try runs("nightly", machine).first)
        #expect(record["origin"] as? String == "manual")
        #expect(record["outcome"] as? String == "succeeded")
    }

    @Test func `ls and show have the members of the interface`() throws {
        let machine = try Machine()
        try machine.ok(
            "schedule", "add", "weekly", "--at", "Sat *-*-1..7 04:00", "--at", "@weekly", "--zone", "UTC", "--", "true")
        let row = try machine.ok("schedule", "ls", "--json").object
        #expect(
            Set(row.keys) == [
                "name", "user", "at", "zone", "paused", "overlap", "catchUp", "next", "last", "missed", "problem",
            ])
        #expect(row["at"] as? [String] == ["Sat *-*-1..7 04:00", "@weekly"])
        #expect(row["paused"] as? Bool == false)
        #expect(row["catchUp"] as? String == "last")
        #expect((row["next"] as? String)?.hasSuffix(":00:00.000Z") == true)
        #expect(try machine.ok("schedule", "show", "weekly", "--json").object["name"] as? String == "weekly")
        let next = try machine.ok("schedule", "next", "weekly", "-n", "1", "--json").object
        #expect(next["nominal"] as? String == row["next"] as? String)
        try machine.ok("schedule", "rm", "weekly")
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
    }

    @Test func `an instant is skipped while the run before is unfinished`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "slow", "--at", "every 1s", "--", "sleep", "1000")
        try machine.ok("submit", "--name", "wake", "--delay", "3s", "--", "true")
        try machine.ok("wait", "wake", "--timeout", "30s")
        try machine.ok("schedule", "pause", "slow")
        let results = try runs("slow", machine).compactMap { $0["result"] as? String }
        #expect(results.first == "run")
        // Adjacent instants share one record. One instant may have come after the pause.
        #expect(results.dropFirst().filter { $0 != "paused" } == ["skipped"])
        try machine.ok("schedule", "rm", "slow")
    }

    @Test(arguments: [
        (["--at", "61 * * * *"], "minute"), (["--at", "*-02-30"], "no instant"),
        (["--at", "every 1h", "--zone", "Mars/Base"], "time zone"),
        (["--at", "every 1h", "--catch-up", "all"], "overlap"),
        (["--at", "every 1h", "--overlap", "queue"], "queueOne"),
        (["--at", "every 1h", "--queue", "nowhere"], "queue"),
    ])
    func `a wrong schedule is refused with status 5`(arguments: [String], word: String) throws {
        let machine = try Machine()
        let output = try machine.begin(["schedule", "add", "wrong"] + arguments + ["--", "true"]).wait()
        #expect(output.status == 5, "\(output.err)")
        #expect(output.err.contains(word), "\(output.err)")
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
    }

    @Test func `a schedule without a zone has that of the TZ of opsd`() throws {
        let machine = try Machine(start: false)
        try machine.start(within: ["/usr/bin/env", "TZ=Asia/Kathmandu"])
        try machine.ok("schedule", "add", "daily", "--at", "@daily", "--", "true")
        #expect(try machine.ok("schedule", "show", "daily", "--json").object["zone"] as? String == "Asia/Kathmandu")
        let next = try machine.ok("schedule", "next", "daily", "-n", "1", "--json").object
        #expect((next["local"] as? String)?.hasSuffix("T00:00:00+05:45") == true)
    }

    @Test func `a name is taken once, and a dry run stores nothing`() throws {
        let machine = try Machine()
        let dry = try machine.ok("schedule", "add", "daily", "--at", "@daily", "--dry-run", "--", "true")
        #expect(dry.lines.count == 12, "\(dry.out)")
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
        try machine.ok("schedule", "add", "daily", "--at", "@daily", "--", "true")
        #expect(try machine.ctl("schedule", "add", "daily", "--at", "@daily", "--", "true").status == 5)
    }

    @Test func `a dry run shows the instants that the schedule would have`() throws {
        let machine = try Machine()
        let bounded = [
            "--at", "@daily", "--zone", "UTC", "--from", "2199-06-01T00:00:00Z", "--until", "2199-06-03T00:00:00Z",
            "--count", "2", "--spread", "50m", "--", "true",
        ]
        let lines = try machine.begin(["schedule", "add", "some", "--dry-run"] + bounded).wait().lines
        #expect(lines.count == 4 && lines[2].contains("2199-06-01T00:00:00Z"), "\(lines)")
        let dry = try machine.begin(["schedule", "add", "some", "--dry-run", "--json"] + bounded).wait().object
        #expect(dry["name"] as? String == "some")
        #expect(try machine.begin(["schedule", "add", "some"] + bounded).wait().status == 0)
        let next = try machine.ok("schedule", "next", "some", "--json").objects
        #expect(next.count == 2)
        #expect(dry["instants"] as? NSArray == next as NSArray)
        try machine.ok("schedule", "rm", "some")
        try machine.ok("schedule", "add", "some", "--at", "@hourly", "--zone", "UTC", "--", "true")
        let file = machine.state + "/later.json"
        try #"{"name": "some", "schedule": {"at": "@daily", "zone": "UTC"}, "operations": [{"command": ["true"]}]}"#
            .write(toFile: file, atomically: false, encoding: .utf8)
        let changed = try machine.ok("schedule", "apply", "-f", file, "--dry-run", "--json").object
        let local = ((changed["instants"] as? [[String: Any]])?.first?["local"] as? String) ?? ""
        #expect(local.hasSuffix("T00:00:00+00:00"), "the instants are those of the changed calendar: \(local)")
    }

    @Test func `a finished run stays finished when its graph is removed`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "once", "--at", "@yearly", "--keep", "0", "--", "true")
        try machine.ok("schedule", "run", "once")
        // The graph is removed when its end is recorded.
        for _ in 0..<3000 where !(try machine.ok("ls", "-a", "--json").out.isEmpty) { usleep(10_000) }
        let last = try machine.ok("schedule", "ls", "--json").object["last"] as? [String: Any]
        #expect(last?["outcome"] as? String == "succeeded")
    }

    @Test func `a calendar replaces the placeholders of its instants, and leaves others to the shell`() throws {
        let machine = try Machine()
        try machine.ok(
            "schedule", "add", "clean", "--at", "@yearly", "--zone", "UTC", "--shell",
            "for file in a; do echo \"/data/${file}/tmp ${event:-none}${event}\"; done; echo '${scheduledBefore}'")
        let graph = try #require(try machine.ok("schedule", "run", "clean", "--json").object["graph"] as? String)
        try machine.ok("wait", "--graph", graph, "--timeout", "20s")
        let row = try #require(try machine.ok("ls", "--graph", graph, "--json").objects.first)
        let lines = try machine.ok("log", "\(try #require(row["id"] as? Int))").lines
        #expect(lines.first == "/data/a/tmp none")
        #expect(lines.last?.hasSuffix("-01-01T00:00:00+00:00") == true, "\(lines)")
    }
}
