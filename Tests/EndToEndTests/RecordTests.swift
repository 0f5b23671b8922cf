import Foundation
import Glibc
import Testing

/// Turns that opsd records, and their replay.
@Suite struct RecordTests {
    private func files(_ machine: Machine) throws -> [String] {
        let directory = machine.state + "/record"
        return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().map { "\(directory)/\($0)" }
    }

    /// Replays every file, and returns the number of turns in them.
    private func replay(_ machine: Machine) throws -> Int {
        let command = try Command(
            Machine.programs + "/simulate", ["--replay"] + files(machine), environment: Machine.environment, in: "/")
        let output = try command.wait(seconds: 120)
        #expect(output.status == 0, "\(output.out)\(output.err)")
        let counts = output.out.matches(of: #/: (\d+) turns/#).compactMap { Int($0.output.1) }
        return counts.reduce(0, +)
    }

    /// Runs operations of many kinds: all requests of users, failures, retries, groups, conditions, staged launches.
    private func work(_ machine: Machine, round: Int) throws {
        try machine.ok("category", "set", "gpu", "--units", "a,b")
        try machine.ok("category", "set", "api", "--rate", "50/1s")
        if round == 1 {
            try machine.ok("queue", "add", "long", "--limit", "1", "--order", "longestPath")
            try machine.ok("queue", "add", "fair", "--fair", "user")
        }
        let graph = try machine.graph(
            """
            {"operations": [
                {"name": "a", "shell": "exit 1", "retry": {"limit": 2, "backoff": "10ms"}},
                {"name": "b", "command": ["true"], "after": ["a"]},
                {"name": "c", "command": ["true"], "after": [{"op": "a", "when": "failed"}], "categories": ["gpu"]},
                {"name": "g", "categories": ["api"], "operations": [
                    {"name": "d", "command": ["true"], "priority": "high"},
                    {"name": "e", "command": ["true"], "conditions": [{"exec": ["test", "-e", "/"]}]}]},
                {"name": "f", "command": ["sleep", "100"], "timeout": "200ms"},
                {"name": "h", "command": ["true"], "queue": "fair", "barrier": true}
            ]}
            """)
        let many = (0..<40).map { "{\"command\": [\"true\"], \"queue\": \"\($0 % 2 == 0 ? "default" : "long")\"}" }
        _ = try machine.graph("{\"operations\": [\(many.joined(separator: ", "))]}")
        let held = try machine.submit("--hold", "--", "echo", "a-secret-argument-\(round)")
        try machine.ok("set", "\(held)", "--command", "echo", "another-secret-argument")
        try machine.ok("set", "\(held)", "--priority", "low")
        try machine.ok("note", "\(held)", "remember")
        let sleeper = try machine.submit("--", "sleep", "100")
        try machine.await("started", of: sleeper)
        try machine.ok("depend", "\(held)", "--on", "\(sleeper)", "--when", "finished")
        try machine.ok("suspend", "\(sleeper)", "--freeze")
        try machine.ok("resume", "\(sleeper)")
        try machine.ok("workers", "3")
        _ = try machine.ctl("submit", "--after", "\(held)", "--in", "no-such-group", "--", "true")
        try machine.ok("cancel", "\(sleeper)")
        try machine.ok("resume", "\(held)")
        _ = try machine.ctl("wait", "--graph", graph, "--timeout", "60s")
        try machine.ok("retry", "--graph", graph, "--state", "failed")
        _ = try machine.ctl("wait", "--all", "--timeout", "60s")
    }

    @Test func `what opsd has recorded is repeated without a difference after it was killed`() throws {
        let machine = try Machine(start: false)
        try machine.start(["--record", "2000"])
        try work(machine, round: 1)
        try machine.killDaemon()
        try machine.start(["--record", "2000"])
        try work(machine, round: 2)
        let sleeper = try machine.submit("--", "sleep", "100")
        try machine.await("started", of: sleeper)
        try machine.killDaemon()
        #expect(try replay(machine) > 50)
        let recorded = try files(machine).map { String(decoding: try bytes($0), as: UTF8.self) }.joined()
        #expect(!recorded.contains("secret"))
        for file in try files(machine) {
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        }
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    @Test func `no more turns are kept than the configured number and a quarter`() throws {
        let machine = try Machine(start: false)
        try machine.start(["--record", "40"])
        for _ in 0..<60 { _ = try machine.submit("--hold", "--", "true") }
        try machine.killDaemon()
        #expect(try files(machine).count <= 5)
        #expect((1...50).contains(try replay(machine)))
    }

    @Test func `nothing is recorded unless it is configured`() throws {
        let machine = try Machine()
        _ = try machine.submit("--", "true")
        #expect(!FileManager.default.fileExists(atPath: machine.state + "/record"))
    }
}
