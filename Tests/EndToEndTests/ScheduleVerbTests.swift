import Foundation
import Testing

/// Verbs of schedules: why, next, backfill and import.
@Suite struct ScheduleVerbTests {
    private func seconds(_ text: Any?) -> Double? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return (text as? String).flatMap { formatter.date(from: $0) }?.timeIntervalSince1970
    }

    @Test func `a backfill runs each past instant once, one after the other`() throws {
        let machine = try Machine(workers: 4)
        let log = machine.state + "/days"
        try machine.ok(
            "schedule", "add", "daily", "--at", "0 0 * * *", "--zone", "UTC", "--shell",
            "echo begin >> \(log); echo $OPS_SCHEDULED_AT >> \(log)")
        let first = try machine.ok(
            "schedule", "backfill", "daily", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-05T00:00:00Z", "--json")
        #expect(try first.objects.map { $0["origin"] as? String } == Array(repeating: "backfill", count: 5))
        #expect(try first.objects.map { $0["nominal"] as? String }.first == "2026-01-01T00:00:00.000Z")
        try machine.ok("wait", "--label", "schedule=daily", "--timeout", "30s")
        let again = try machine.ok(
            "schedule", "backfill", "daily", "--from", "2026-01-04T00:00:00Z", "--to", "2026-01-06T00:00:00Z")
        #expect(again.out.hasSuffix("started 1 run; 2 had run already\n"), "\(again.out)")
        try machine.ok("wait", "--label", "schedule=daily", "--timeout", "30s")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines == (1...6).flatMap { ["begin", "2026-01-0\($0)T00:00:00+00:00"] })
    }

    @Test func `a duration for a backfill is counted back from now`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "yearly", "--at", "@yearly", "--", "true")
        let runs = try machine.ok("schedule", "backfill", "yearly", "--from", "800d", "--to", "1m", "--json").objects
        #expect(runs.count >= 2)
    }

    @Test(arguments: [
        (["--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z"], "earlier"),
        (["--from", "2020-01-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z"], "1000"),
        (["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z", "--overlap", "skip"], "queueAll"),
    ])
    func `a wrong backfill is refused with status 5`(arguments: [String], word: String) throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "daily", "--at", "@daily", "--", "true")
        let output = try machine.begin(["schedule", "backfill", "daily"] + arguments).wait()
        #expect(output.status == 5, "\(output.err)")
        #expect(output.err.contains(word), "\(output.err)")
    }

    @Test func `next has the spread of each instant, and ends with the schedule`() throws {
        let machine = try Machine()
        try machine.ok(
            "schedule", "add", "soft", "--at", "0 0 * * *", "--zone", "Europe/Berlin", "--spread", "10h", "--until",
            "2199-01-03T12:00:00Z", "--from", "2199-01-01T00:00:00Z", "--", "true")
        let rows = try machine.ok("schedule", "next", "soft", "--json").objects
        #expect(rows.compactMap { $0["local"] as? String } == ["02", "03"].map { "2199-01-\($0)T00:00:00+01:00" })
        #expect(rows.allSatisfy { Set($0.keys) == ["nominal", "local", "start"] })
        for row in rows {
            let delay = try #require(seconds(row["start"])) - (try #require(seconds(row["nominal"])))
            #expect(delay > 0 && delay <= 36_000)
        }
        let after = try machine.ok(
            "schedule", "next", "soft", "--after", "2199-01-01T23:00:00Z", "-n", "5", "--json"
        ).objects
        #expect(after.count == 1)
        #expect(try machine.ok("schedule", "next", "soft", "-n", "1").out.contains("Wed 2199-01-02 00:00:00 +01:00"))
    }

    @Test func `why shows the next instant, a pause, and instants that did not run`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "slow", "--at", "every 1s", "--", "sleep", "1000")
        let id = try machine.submit("--delay", "3s", "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
        let kinds = try #require(
            try machine.ok("schedule", "why", "slow", "--json").object["waitingFor"] as? [[String: Any]]
        ).compactMap { $0["kind"] as? String }
        #expect(kinds == ["overlap", "calendar", "skipped"])
        try machine.ok("schedule", "pause", "slow")
        #expect(try machine.ok("schedule", "why", "slow").out.contains("opsctl schedule resume slow"))
        #expect(try machine.ctl("schedule", "why", "nothing").status == 4)
    }

    @Test func `import shows the schedules of a crontab and adds them once`() throws {
        let machine = try Machine()
        let crontab = """
            HOME=/tmp
            COLOUR=green
            CRON_TZ=America/New_York
            30 4 * * 1-5 echo "$COLOUR in $(pwd)"; cat%one%two
            @reboot start-it
            61 * * * * wrong
            """
        let shown = try machine.begin(["schedule", "import", "-", "--json"], input: crontab).wait()
        #expect(shown.status == 1)
        #expect(try shown.objects.map { $0["name"] as? String } == ["echo", "start-it", "wrong"])
        #expect(try shown.objects.map { $0["line"] as? Int } == [4, 5, 6])
        #expect(try shown.objects[2]["problem"] is String)
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
        for _ in 0..<2 {
            #expect(try machine.begin(["schedule", "import", "-", "--apply"], input: crontab).wait().status == 1)
            let rows = try machine.ok("schedule", "ls", "--json").objects
            #expect(rows.map { $0["name"] as? String } == ["echo", "start-it"])
            #expect(rows[0]["zone"] as? String == "America/New_York")
        }
        let graph = try #require(try machine.ok("schedule", "run", "echo", "--json").object["graph"] as? String)
        try machine.ok("wait", "--graph", graph, "--timeout", "20s")
        let row = try #require(try machine.ok("ls", "--graph", graph, "--json").objects.first)
        #expect(try machine.ok("log", "\(try #require(row["id"] as? Int))").out == "green in /tmp\none\ntwo\n")
        let fine = try machine.begin(["schedule", "import", "-"], input: "@daily true\n*/7 * * * * true\n").wait()
        #expect(fine.status == 0 && fine.err.hasPrefix("opsctl: warning: line 2: "), "\(fine.err)")
    }

    @Test func `a line whose variables have changed since its import is refused`() throws {
        let machine = try Machine()
        for (colour, status) in [("green", 0), ("green", 0), ("red", 1)] as [(String, Int32)] {
            let crontab = "COLOUR=\(colour)\n@daily echo $COLOUR\n"
            let output = try machine.begin(["schedule", "import", "-", "--apply"], input: crontab).wait()
            #expect(output.status == status, "\(output.out)\(output.err)")
        }
    }

    @Test func `metrics have the last success and the missed instants of a schedule`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "good", "--at", "@yearly", "--", "true")
        let graph = try #require(try machine.ok("schedule", "run", "good", "--json").object["graph"] as? String)
        try machine.ok("wait", "--graph", graph, "--timeout", "20s")
        func lines() throws -> [Substring] {
            try machine.ok("metrics").out.split(separator: "\n").filter { $0.hasPrefix("opsd_schedule_") }
        }
        // The outcome is stored a moment after the end.
        while try lines().count < 2 {}
        let found = try lines()
        #expect(found[0].hasPrefix("opsd_schedule_last_success_timestamp_seconds{schedule=\"good\",user=\""))
        #expect(found[1].hasPrefix("opsd_schedule_missed{schedule=\"good\"") && found[1].hasSuffix("} 0"))
    }

    /// 125 belongs to `run`, which exits with the status of its operation.
    @Test func `the exit statuses of schedule run are those of every verb`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("schedule", "run", "none").status == 4)
        #expect(try machine.ctl("schedule", "run").status == 2)
    }

    @Test func `until before from is reported as an error of until`() throws {
        let machine = try Machine()
        let output = try machine.ctl(
            "schedule", "add", "wrong", "--at", "@daily", "--from", "2030-01-01T00:00:00Z", "--until",
            "2029-01-01T00:00:00Z", "--", "true")
        #expect(output.status == 5 && output.err.contains("until: is before from"), "\(output.err)")
    }

    @Test func `an imported command is executed as it is in the crontab`() throws {
        let machine = try Machine()
        let crontab = "@daily for scheduled in a b; do echo \"${scheduled} ${file}$${scheduled}\" | tr -d 0-9; done\n"
        #expect(try machine.begin(["schedule", "import", "-", "--apply"], input: crontab).wait().status == 0)
        let graph = try #require(try machine.ok("schedule", "run", "for", "--json").object["graph"] as? String)
        try machine.ok("wait", "--graph", graph, "--timeout", "20s")
        let row = try #require(try machine.ok("ls", "--graph", graph, "--json").objects.first)
        #expect(try machine.ok("log", "\(try #require(row["id"] as? Int))").out == "a {scheduled}\nb {scheduled}\n")
    }
}
