import Foundation
import Glibc
import Testing

/// Tests of opsd and its runner after either has been killed.
@Suite struct CrashTests {
    /// A named pipe that releases as many readers as there are lines in it, whenever the readers arrive.
    struct Gate {
        let path: String
        private let descriptor: Int32

        init(_ path: String) throws {
            self.path = path
            guard mkfifo(path, 0o600) == 0 else { throw SetupError("mkfifo \(path)") }
            // Open for reading and writing, so that opening does not wait and no reader reads an end.
            descriptor = open(path, O_RDWR | O_CLOEXEC)
        }

        func letGo(_ count: Int) {
            let lines = [UInt8](repeating: 10, count: count)
            #expect(write(descriptor, lines, count) == count)
        }

        func close() { Glibc.close(descriptor) }
    }

    /// Fifty operations sleep and exit with different codes. Half of them end while no daemon runs, and the daemon that
    /// learns of these ends is killed while it does.
    @Test func `exit codes of fifty operations survive crashes of the daemon`() throws {
        let machine = try Machine(workers: 50)
        let early = try Gate(machine.state + "/early")
        let late = try Gate(machine.state + "/late")
        defer {
            early.close()
            late.close()
        }
        let marks = machine.state + "/marks"
        let operations = (1...50).map { code in
            let gate = code % 2 == 0 ? early.path : late.path
            let script = "echo \(code) >> \(marks); read x < \(gate); echo log of \(code); exit \(code)"
            return "{\"name\": \"s\(code)\", \"shell\": \"\(script)\"}"
        }
        let graph = try machine.graph("{\"operations\": [\(operations.joined(separator: ", "))]}")
        try waitUntil { try self.lines(marks).count == 50 }

        try machine.killDaemon()
        early.letGo(25)
        try machine.start(workers: 50)
        // Kills the daemon during its recovery, each time a little later.
        for delay in [0, 3, 10, 30] {
            try machine.killDaemon()
            let recovering = try Command(
                Machine.programs + "/opsd",
                ["--state", machine.state, "--socket", machine.socket, "--workers", "50"],
                environment: Machine.environment, in: "/")
            usleep(UInt32(delay) * 1000)
            recovering.signal(SIGKILL)
            #expect(try recovering.wait(seconds: 20).status == 128 + 9)
            try machine.start(workers: 50)
        }
        late.letGo(25)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "60s").status == 1)

        for row in try machine.ok("ls", "--graph", graph, "--json").objects {
            let name = try #require(row["name"] as? String)
            #expect(row["exitCode"] as? Int == Int(name.dropFirst()), "\(row)")
            #expect(row["attempt"] as? Int == 1)
            #expect(row["outcome"] as? String == "failed")
            let id = try #require(row["id"] as? Int)
            #expect(try machine.ok("log", "\(id)").out == "log of \(name.dropFirst())\n")
        }
        #expect(try lines(marks).compactMap { Int($0) }.sorted() == Array(1...50), "each started once")
    }

    @Test func `leftovers of a killed runner end before their category is free again`() throws {
        let machine = try Machine()
        // The kernel releases the lock when the last process that has it open has ended.
        let lock = machine.state + "/held"
        let ready = machine.state + "/ready"
        let holder = try machine.submit(
            "--category", "db", "--shell",
            "setsid flock \(lock) sh -c 'trap \"\" TERM HUP; echo ready > \(ready); while :; do sleep 0.05; done' & wait"
        )
        let heir = try machine.submit(
            "--category", "db", "--shell", "flock -n \(lock) echo it is gone || echo it lives")
        try waitUntil { try self.lines(ready).count == 1 }
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        kill(runner, SIGKILL)
        #expect(try machine.ctl("wait", "\(heir)", "--timeout", "60s").status == 0)
        #expect(try machine.ok("log", "\(heir)").out == "it is gone\n")
        #expect(try machine.outcome(holder) == "interrupted")
    }

    @Test func `two thousand operations leave nothing behind`() throws {
        let machine = try Machine(workers: 4)
        let daemon = try #require(machine.daemon?.pid)
        func run(_ count: Int) throws {
            try machine.ok("submit", "--array", "1-\(count)", "--", "/bin/true")
            try machine.ok("wait", "--all", "--timeout", "120s")
        }
        try run(2000)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        func open(_ pid: pid_t) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        }
        func children(_ pid: pid_t) throws -> String {
            try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        }
        // A descriptor that is opened only once, such as that of a thread for long queries, may appear late. A leak
        // would grow in every round.
        var counts = [try (open(daemon), open(runner))]
        func isGrown(since before: (Int, Int)) throws -> Bool {
            // The connection of the client that waited last may not be closed yet.
            for _ in 0..<100 {
                if try open(daemon) <= before.0 && open(runner) <= before.1 { return false }
                usleep(20_000)
            }
            return true
        }
        var hasGrown = true
        for _ in 0..<5 where hasGrown {
            try run(1000)
            hasGrown = try isGrown(since: counts[counts.count - 1])
            counts.append(try (open(daemon), open(runner)))
        }
        #expect(!hasGrown, "descriptors of opsd and of its runner after each round: \(counts)")
        #expect(try children(runner).isEmpty)
        #expect(try children(daemon).isEmpty)
    }

    private func lines(_ path: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
