import CSQLite
import Foundation
import Testing

/// Schedules whose instants are caused by events: the end of a run, and the boot of the machine.
@Suite struct ScheduleEventTests {
    private func runs(_ name: String, _ machine: Machine) throws -> [[String: Any]] {
        try machine.ok("schedule", "runs", name, "-n", "1000", "--json").objects.reversed()
    }

    private func pass(_ duration: String, _ machine: Machine) throws {
        let id = try machine.submit("--delay", duration, "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
    }

    @Test func `afterFinish runs at once and then after the end of each run`() throws {
        let machine = try Machine()
        try machine.ok(
            "schedule", "add", "loop", "--at", "afterFinish 1s", "--", "sh", "-c",
            "echo before $OPS_SCHEDULED_BEFORE; sleep 0.4")
        try pass("5s", machine)
        try machine.killDaemon()
        try machine.start()
        try pass("4s", machine)
        try machine.ok("schedule", "pause", "loop")
        try machine.ok("wait", "--label", "schedule=loop", "--timeout", "20s")
        let operations = try machine.ok("ls", "--label", "schedule=loop", "--json").objects
        let times = operations.compactMap { row -> (Double, Double)? in
            guard let start = Self.seconds(row["startedAt"]), let end = Self.seconds(row["finishedAt"]) else {
                return nil
            }
            return (start, end)
        }.sorted { $0.0 < $1.0 }
        #expect(times.count >= 3, "\(times)")
        for (earlier, later) in zip(times, times.dropFirst()) { #expect(later.0 - earlier.1 >= 1) }
        let records = try runs("loop", machine).filter { $0["result"] as? String == "run" }
        #expect(records.count == times.count)
        #expect(Set(records.compactMap { $0["nominal"] as? String }).count == records.count)
        let befores = try machine.ok("log", "-l", "schedule=loop").lines.filter { $0.contains("before") }
        #expect(befores.count { $0.hasSuffix("before") } == 1, "only the first run has none: \(befores)")
        #expect(Set(befores).count == times.count, "\(befores)")
    }

    @Test func `a schedule cannot be named like the id of a graph`() throws {
        let machine = try Machine()
        for name in ["g7", "7"] {
            let output = try machine.ctl("schedule", "add", name, "--at", "@daily", "--", "true")
            #expect(output.status == 5 && output.err.contains("that would be an id"), "\(output.err)")
        }
    }

    @Test func `a run at boot happens once in each boot after the one of add`() throws {
        let machine = try Machine()
        try machine.ok("schedule", "add", "boot", "--at", "@reboot", "--", "true")
        try machine.killDaemon()
        try machine.start()
        #expect(try runs("boot", machine).isEmpty)
        try machine.killDaemon()
        try changeBoot(of: machine)
        try machine.start()
        try pass("1s", machine)
        #expect(try runs("boot", machine).compactMap { $0["result"] as? String } == ["run"])
        try machine.killDaemon()
        try machine.start()
        try pass("1s", machine)
        #expect(try runs("boot", machine).count == 1)
    }

    @Test func `a run at boot happens although the machine died during the one of the boot before`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        try machine.ok("schedule", "add", "boot", "--at", "@reboot", "--shell", "read x < \(gate.path)")
        try machine.killDaemon()
        try changeBoot(of: machine)
        try machine.start()
        try machine.await("started", of: 1)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        try machine.killDaemon()
        #expect(kill(runner, SIGKILL) == 0)
        gate.open()
        try changeBoot(of: machine)
        try machine.start()
        try pass("1s", machine)
        let rows = try runs("boot", machine)
        #expect(rows.compactMap { $0["result"] as? String } == ["run", "run"])
        #expect(rows.first?["outcome"] as? String == "interrupted")
        gate.open()
    }

    /// Changes the stored boot ids, as if opsd had stopped in an earlier boot.
    private func changeBoot(of machine: Machine) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        sqlite3_open(machine.state + "/opsd.db", &handle)
        let change = "UPDATE schedule SET boot = 'earlier'; UPDATE runner SET boot = 'earlier'"
        try #require(sqlite3_exec(handle, change, nil, nil, nil) == SQLITE_OK)
    }

    private static func seconds(_ text: Any?) -> Double? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return (text as? String).flatMap { formatter.date(from: $0) }?.timeIntervalSince1970
    }
}
