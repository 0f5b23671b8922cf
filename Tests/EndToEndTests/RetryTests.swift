import Foundation
import Testing

@Suite struct RetryTests {
    @Test func `retry runs a failed operation and those skipped because of it again`() throws {
        let machine = try Machine()
        let flag = machine.state + "/flag"
        let build = try machine.submit("--name", "build", "--", "test", "-e", flag)
        let test = try machine.submit("--after", "build", "--", "true")
        let other = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "--all").status == 1)
        #expect(try machine.outcome(test) == "skipped")
        #expect(FileManager.default.createFile(atPath: flag, contents: nil))
        try machine.ok("retry", "build")
        #expect(try machine.ctl("wait", "--all", "--timeout", "20s").status == 0)
        let row = try machine.show(build)
        #expect(row["run"] as? Int == 2)
        #expect(row["attempt"] as? Int == 2)
        #expect(try machine.outcome(test) == "succeeded")
        #expect(try machine.show(other)["run"] as? Int == 1)
        #expect(try machine.ctl("retry", "99").status == 4)
    }

    @Test func `a retry that needs a removed queue names the operation and the queue`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "q3")
        let id = try machine.submit("--name", "build", "--queue", "q3", "--", "false")
        #expect(try machine.ctl("wait", "\(id)").status == 1)
        try machine.ok("queue", "rm", "q3")
        let refusal = try machine.ctl("retry", "build")
        #expect(refusal.status == 5)
        #expect(
            refusal.err.contains(
                "operation \(id) (build) needs queue q3, which was removed; add it again with opsctl queue add q3"),
            "\(refusal.err)")
        try machine.ok("queue", "add", "q3")
        try machine.ok("retry", "build")
    }

    @Test func `a new run shows no values of the run before it`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "sh", "-c", "exit 3")
        #expect(try machine.ctl("wait", "\(id)", "--exit-code").status == 3)
        try machine.ok("suspend")
        try machine.ok("retry", "\(id)")
        for key in ["exitCode", "signal", "usage", "outcome", "cause", "startedAt", "finishedAt"] {
            #expect(try machine.show(id)[key] is NSNull, "\(key)")
        }
        try machine.ok("cancel", "\(id)")
        #expect(try machine.show(id)["exitCode"] is NSNull)
        #expect(try machine.ctl("wait", "\(id)", "--exit-code").status == 125)
        let attempts = try #require(try machine.show(id)["attempts"] as? [[String: Any]])
        #expect(attempts.map { $0["exitCode"] as? Int } == [3])
        try machine.ok("resume")
    }

    @Test func `automatic retries are attempts of one run`() throws {
        let machine = try Machine()
        let count = machine.state + "/count"
        let id = try machine.submit(
            "--retry", "3", "--retry-backoff", "10ms", "--shell", "echo x >> \(count); test $(wc -l < \(count)) -ge 3")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let row = try machine.show(id)
        #expect(row["attempt"] as? Int == 3)
        #expect(row["run"] as? Int == 1)
    }

    @Test func `an attempt after a back-off waits from the end of that`() throws {
        let machine = try Machine()
        let id = try machine.submit("--retry", "1", "--retry-backoff", "300ms", "--retry-jitter", "0", "--", "false")
        #expect(try machine.ctl("wait", "\(id)").status == 1)
        let row = try machine.show(id)
        let first = try #require((row["attempts"] as? [[String: Any]])?.first)
        let end = try #require(first["finishedAt"] as? String)
        let ready = try #require(row["readyAt"] as? String)
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let waited = try #require(format.date(from: ready)).timeIntervalSince(try #require(format.date(from: end)))
        #expect(waited > 0.298, "\(end) to \(ready)")
    }

    @Test func `each attempt keeps its log`() throws {
        let machine = try Machine()
        let id = try machine.submit("--shell", "echo attempt $OPS_ATTEMPT; exit 1")
        _ = try machine.ctl("wait", "\(id)")
        try machine.ok("retry", "\(id)")
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)", "--attempt", "1").out == "attempt 1\n")
        #expect(try machine.ok("log", "\(id)").out == "attempt 2\n")
    }
}
