import Foundation
import Testing

@Suite struct MetricsTests {
    private func metrics(_ machine: Machine) throws -> OpenMetrics { try OpenMetrics(machine.ok("metrics").out) }

    private func finished(_ outcome: String, _ queue: String = "default") -> String {
        "opsd_operations_finished_total{outcome=\"\(outcome)\",queue=\"\(queue)\"}"
    }

    @Test func `numbers of a daemon are strict OpenMetrics`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "gpu", "--capacity", "2")
        let first = try machine.submit("--", "true")
        let second = try machine.submit("--", "false")
        let held = try machine.submit("--hold", "--category", "gpu", "--", "true")
        let later = try machine.submit("--delay", "1h", "--", "true")
        _ = try machine.ctl("wait", "\(first)", "\(second)")
        let metrics = try metrics(machine)
        #expect(metrics.samples[finished("succeeded")] == 1)
        #expect(metrics.samples[finished("failed")] == 1)
        #expect(metrics.samples["opsd_operations{state=\"finished\"}"] == 2)
        #expect(metrics.samples["opsd_operation_running_seconds_count{queue=\"default\"}"] == 2)
        #expect(metrics.samples["opsd_queue_limit{queue=\"main\"}"] == 1)
        #expect(metrics.samples["opsd_category_capacity{category=\"gpu\"}"] == 2)
        #expect(metrics.samples["opsd_runner_connected"] == 1)
        #expect(metrics.samples["opsd_storage_available"] == 1)
        #expect(metrics.samples["opsd_ready_age_seconds"] == 0, "\(held) is held, and \(later) has a start time")
        #expect(metrics.samples["opsd_queue_operations{queue=\"default\",state=\"ready\"}"] == 0)
        #expect(try #require(metrics.samples["opsd_commit_duration_seconds_count"]) > 0)
    }

    @Test func `counters do not go back when the daemon ends and operations are pruned`() throws {
        let machine = try Machine()
        for word in ["true", "false"] { _ = try machine.ctl("wait", "\(machine.submit("--", word))") }
        let before = try metrics(machine)
        let last = try machine.submit("--", "true")
        try machine.ok("wait", "\(last)")
        try machine.killDaemon()
        try machine.start()
        try machine.ok("prune", "--older-than", "0s")
        let after = try metrics(machine)
        for (series, value) in before.growing {
            let now = try #require(after.samples[series], "\(series) is gone")
            #expect(now >= value, "\(series)")
        }
        #expect(after.samples[finished("succeeded")] == 2)
        #expect(after.samples["opsd_operations{state=\"finished\"}"] == 0)
    }

    @Test func `there are at most 1000 series`() throws {
        let machine = try Machine()
        for number in 1...40 {
            try machine.ok("queue", "add", "q\(number)")
            let id = try machine.submit("--queue", "q\(number)", "--category", "c\(number)", "--hold", "--", "true")
            #expect(id == number)
        }
        for number in 41...130 { try machine.ok("category", "set", "c\(number)", "--capacity", "3") }
        try machine.ok("category", "set", "unlimited", "--rate", "60/1m", "--capacity", "none")
        try machine.ok("cancel", "--all")
        try machine.ok("metrics")
        let metrics = try metrics(machine)
        #expect(metrics.samples.count <= 1000)
        #expect(metrics.samples[finished("cancelled", "(others)")] == 26)
        #expect(metrics.samples.filter { $0.key.hasPrefix("opsd_operations_finished_total") }.values.reduce(0, +) == 40)
        let capacity = try #require(metrics.samples["opsd_category_capacity{category=\"(others)\"}"])
        #expect(capacity > 0 && capacity <= 90 * 3)
    }

    @Test func `every executor has series, and its operations are not counted as those of this machine`() throws {
        let machine = try Machine(start: false)
        let file = machine.state + "/opsd.conf"
        try """
        [executor far]
        kind = slurm
        window = 3
        program = \(Machine.programs)/fake-executor
        [executor gone]
        kind = slurm
        program = /no/such/program

        """.write(toFile: file, atomically: true, encoding: .utf8)
        try machine.start(["--config", file])
        let far = try machine.submit("--executor", "far", "--", "wait")
        let here = try machine.submit("--", "sleep", "60")
        for id in [far, here] { try machine.await("started", of: id) }
        let samples = try metrics(machine).samples
        let expected: [(executor: String, connected: Double, inFlight: Double)] = [
            ("local", 1, 1), ("far", 1, 1), ("gone", 0, 0),
        ]
        for (executor, connected, inFlight) in expected {
            #expect(samples["opsd_executor_connected{executor=\"\(executor)\"}"] == connected, "\(executor)")
            #expect(samples["opsd_executor_in_flight{executor=\"\(executor)\"}"] == inFlight, "\(executor)")
        }
        #expect(samples["opsd_executor_window{executor=\"far\"}"] == 3)
        #expect(samples["opsd_executor_window{executor=\"local\"}"] == 2)
    }

    @Test func `a category without a capacity has no sample of a capacity`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "api", "--rate", "60/1m", "--capacity", "none")
        let samples = try metrics(machine).samples
        #expect(samples["opsd_category_capacity{category=\"api\"}"] == nil)
        #expect(samples["opsd_category_used{category=\"api\"}"] == 0)
        try machine.await("started", of: machine.submit("--category", "api:exclusive", "--", "sleep", "60"))
        #expect(try metrics(machine).samples["opsd_category_used{category=\"api\"}"] == 1)
    }

    @Test func `with --json metrics are the reply of the daemon as one object`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "api", "--rate", "60/1m", "--capacity", "none")
        let output = try machine.ok("metrics", "--json")
        #expect(output.lines.count == 1)
        let reply = try output.object
        #expect(
            Set(reply.keys) == ["queues", "categories", "schedules", "commits", "turns", "databaseBytes"])
        let categories = try #require(reply["categories"] as? [[String: Any]])
        let category = try #require(categories.first { $0["name"] as? String == "api" })
        #expect(category["capacity"] is NSNull && category["used"] as? Int == 0)
    }
}
