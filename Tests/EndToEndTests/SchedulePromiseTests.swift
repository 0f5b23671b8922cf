import CSQLite
import Foundation
import Testing

/// Schedules whose owner no longer exists, of suspended daemons, and with calendars that change.
@Suite struct SchedulePromiseTests {
    private func runs(_ name: String, _ machine: Machine) throws -> [[String: Any]] {
        try machine.ok("schedule", "runs", name, "-n", "1000", "--json").objects.reversed()
    }

    private func pass(_ duration: String, _ machine: Machine) throws {
        let id = try machine.submit("--delay", duration, "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
    }

    @Test func `an instant of an owner without account is refused, with the reason`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "orphan", "--at", "every 1s", "--", "true")
        try machine.ok("schedule", "pause", "orphan")
        let before = try runs("orphan", machine).count { $0["result"] as? String == "run" }
        try machine.killDaemon()
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        sqlite3_open(machine.state + "/opsd.db", &handle)
        let change = "UPDATE schedule SET uid = 54321, user = 'nobody-of-that-name'"
        try #require(sqlite3_exec(handle, change, nil, nil, nil) == SQLITE_OK)
        try machine.start()
        try machine.ok("schedule", "resume", "orphan")
        try pass("3s", machine)
        let rows = try runs("orphan", machine)
        #expect(rows.count { $0["result"] as? String == "run" } == before)
        let refused = rows.filter { $0["result"] as? String == "refused" }
        #expect(!refused.isEmpty)
        #expect(refused.allSatisfy { ($0["note"] as? String)?.contains("nobody-of-that-name") == true })
        #expect(try machine.ok("ls", "--label", "schedule=orphan", "--json").objects.count == before)
    }

    @Test func `a suspended queue does not stop a schedule from submitting`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "slow")
        try machine.ok("suspend", "--queue", "slow")
        try machine.ok(
            "schedule", "add", "tick", "--at", "every 1s", "--overlap", "allow", "--queue", "slow", "--", "true")
        try pass("3s", machine)
        try machine.ok("schedule", "pause", "tick")
        let operations = try machine.ok("ls", "--label", "schedule=tick", "--json").objects
        #expect(operations.count >= 2)
        #expect(operations.allSatisfy { $0["state"] as? String == "ready" })
        #expect(try runs("tick", machine).count { $0["result"] as? String == "run" } == operations.count)
    }

    @Test func `a suspended daemon does not stop a schedule from submitting`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "tick", "--at", "every 1s", "--overlap", "allow", "--", "true")
        try machine.ok("suspend")
        let count = { try self.runs("tick", machine).count { $0["result"] as? String == "run" } }
        let watch = try machine.begin(["watch", "--since", "0", "--json"])
        try watch.until { $0.split(separator: "\n").count { $0.contains("\"type\":\"fired\"") } >= 3 }
        watch.signal(SIGTERM)
        _ = try watch.wait()
        try machine.ok("schedule", "pause", "tick")
        #expect(try count() >= 3)
    }

    @Test func `a calendar that changes while instants are due loses none of them`() throws {
        let machine = try Machine()
        let calendars = [["every 1s"], ["every 1s", "@yearly"]]
        let graph = { (at: [String]) in
            "{\"name\": \"steady\", \"schedule\": {\"at\": \(at), \"overlap\": \"allow\"}, "
                + "\"operations\": [{\"command\": [\"true\"]}]}"
        }
        var round = 0
        while try round < 2 || runs("steady", machine).count < 4 {
            let applied = try machine.begin(["schedule", "apply", "-f", "-"], input: graph(calendars[round % 2])).wait()
            try #require(applied.status == 0, "\(applied.err)")
            round += 1
        }
        try machine.ok("schedule", "pause", "steady")
        let rows = try runs("steady", machine).filter { $0["result"] as? String == "run" }
        let nominals = rows.compactMap { $0["nominal"] as? String }
        #expect(Set(nominals).count == nominals.count)
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let seconds = nominals.compactMap { formatter.date(from: $0)?.timeIntervalSince1970 }
        #expect(seconds.count >= 2)
        for (earlier, later) in zip(seconds, seconds.dropFirst()) { #expect(later - earlier == 1) }
    }
}
