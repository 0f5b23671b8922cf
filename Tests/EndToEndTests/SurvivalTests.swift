import Foundation
import Glibc
import Testing

@Suite struct SurvivalTests {
    @Test func `a killed daemon finds its operations again`() throws {
        let machine = try Machine(workers: 4)
        let marks = machine.state + "/marks"
        mkfifo(machine.state + "/gate", 0o600)
        mkfifo(machine.state + "/gate2", 0o600)
        // Each operation appends a line when it starts, so a second start would show.
        let short = try machine.submit(
            "--name", "short", "--shell",
            "echo short >> \(marks); echo begun; read x < \(machine.state)/gate; echo out; exit 7")
        let long = try machine.submit(
            "--name", "long", "--shell", "echo long >> \(marks); read x < \(machine.state)/gate2; echo over")
        let after = try machine.submit("--name", "after", "--after", "long", "--shell", "echo after >> \(marks)")
        try machine.await("started", of: short)
        try machine.await("started", of: long)

        try machine.killDaemon()
        try open(gate: machine.state + "/gate")  // ends while nobody is there to see it
        try machine.start(workers: 4)
        #expect(try machine.ctl("wait", "\(short)", "--timeout", "30s").status == 1)
        #expect(try machine.show(short)["exitCode"] as? Int == 7)
        #expect(try machine.show(short)["attempt"] as? Int == 1)
        #expect(try machine.ok("log", "\(short)").out == "begun\nout\n")
        #expect(try machine.stateOf(long) == "executing")
        #expect(try machine.stateOf(after) == "pending")

        try open(gate: machine.state + "/gate2")
        #expect(try machine.ctl("wait", "\(long)", "\(after)", "--timeout", "30s").status == 0)
        #expect(try machine.ok("log", "\(long)").out == "over\n")
        let starts = try String(contentsOfFile: marks, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(starts.sorted() == ["after", "long", "short"])
    }

    @Test func `acknowledged submissions are there after a kill`() throws {
        let machine = try Machine(workers: 1)
        let blocker = try machine.submit("--", "sleep", "600")
        try machine.await("started", of: blocker)
        let ids = try (0..<20).map { _ in try machine.submit("--priority", "high", "--", "true") }
        try machine.killDaemon()
        try machine.start(workers: 1)
        let rows = try machine.ok("ls", "--json").objects
        #expect(rows.compactMap { $0["id"] as? Int } == [blocker] + ids)
        #expect(rows.dropFirst().allSatisfy { $0["state"] as? String == "ready" && $0["priority"] as? Int == 4 })
        try machine.ok("cancel", "\(blocker)")
        #expect(try machine.ctl("wait", "\(ids[0])-\(ids[19])", "--timeout", "30s").status == 0)
    }

    @Test func `the next runner starts what an ending runner did not start`() throws {
        let machine = try Machine(workers: 1)
        let gate = Gate(machine)
        let first = try machine.submit("--shell", "trap 'exit 3' TERM; echo ready; read x < \(gate.path)")
        let waiting = try (0..<3).map { _ in try machine.submit("--", "true") }
        try machine.await("started", of: first)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        let log = try machine.begin(["log", "-f", "\(first)"])
        try log.until { $0 == "ready\n" }
        #expect(kill(runner, SIGTERM) == 0)
        #expect(try machine.ctl("wait", "\(first)", "--timeout", "30s").status == 1)
        _ = try log.wait(seconds: 30)
        #expect(try machine.show(first)["exitCode"] as? Int == 3)
        #expect(try machine.ctl("wait", "\(waiting[0])-\(waiting[2])", "--timeout", "30s").status == 0)
        #expect(try machine.ok("status", "--json").object["runnerPid"] as? Int32 != runner)
    }

    @Test func `a runner that does not answer is noticed, told and taken up again`() throws {
        let machine = try Machine(workers: 1)
        let running = try machine.submit("--", "sleep", "1000")
        try machine.await("started", of: running)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        #expect(kill(runner, SIGSTOP) == 0)
        defer { kill(runner, SIGCONT) }
        try waitUntil { try machine.ctl("status").status == 1 }
        let status = try machine.ctl("status", "--json").object
        #expect(status["runnerAnswers"] as? Bool == false)
        #expect(status["runnerPid"] as? Int32 == runner)
        #expect((status["detail"] as? String)?.contains("has not answered for") == true)
        let waiting = try machine.submit("--", "true")
        for id in [running, waiting] {
            #expect(try machine.ok("why", "\(id)").out.contains("waits for opsd-runner, which has not answered for"))
        }
        #expect(kill(runner, SIGCONT) == 0)
        try machine.ok("cancel", "\(running)")
        #expect(try machine.ctl("wait", "\(waiting)", "--timeout", "30s").status == 0)
        #expect(try machine.ctl("status", "--json").object["runnerAnswers"] as? Bool == true)
        #expect(try machine.show(running)["outcome"] as? String == "cancelled")
    }

    @Test func `a status finds out that an idle runner does not answer`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        #expect(kill(runner, SIGSTOP) == 0)
        defer { kill(runner, SIGCONT) }
        try waitUntil { try machine.ctl("status").status == 1 }
        #expect(kill(runner, SIGCONT) == 0)
        try waitUntil { try machine.ctl("status").status == 0 }
    }

    @Test func `the runner inherits no descriptors from the program that starts the daemon`() throws {
        // Like a shell that holds a lock, or a pipe whose other end is read to its end.
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int)
        func open(by pid: Int) throws -> [String] {
            let directory = "/proc/\(pid)/fd"
            return try FileManager.default.contentsOfDirectory(atPath: directory).compactMap {
                // A listed descriptor may be closed by now.
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
            }
        }
        let ours = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(ends[0])")
        #expect(try !open(by: runner).contains(ours))
        let daemon = try #require(machine.daemon?.pid)
        #expect(try open(by: Int(daemon)).contains(ours), "it is handed on that far")
        let children = try String(contentsOfFile: "/proc/\(daemon)/task/\(daemon)/children", encoding: .utf8)
        #expect(children.isEmpty, "who went to the background is no child, dead or alive, of the daemon")
    }

    @Test func `a second daemon on one state directory is refused`() throws {
        let machine = try Machine()
        let second = try Command(
            Machine.programs + "/opsd", ["--state", machine.state, "--socket", machine.state + "/other.sock"],
            environment: Machine.environment, in: "/"
        ).wait(seconds: 20)
        #expect(second.status != 0)
        #expect(second.err.contains(machine.state))
        #expect(try machine.ctl("status").status == 0)
    }

    @Test func `the runner keeps no file open that opsd inherited`() throws {
        let machine = try Machine(start: false)
        let held = machine.state + "/held"
        let line = "exec 9> \(held); exec \"$0\" --state \"$1\" --socket \"$1/control.sock\""
        let opsd = try Command(
            "/bin/sh", ["-c", line, Machine.programs + "/opsd", machine.state], environment: Machine.environment,
            in: "/"
        )
        var runner: Int?
        try waitUntil {
            let status = try machine.ctl("status", "--json")
            if status.status == 0 { runner = try status.object["runnerPid"] as? Int }
            return runner != nil
        }
        let table = "/proc/\(try #require(runner))/fd"
        let files = try FileManager.default.contentsOfDirectory(atPath: table).compactMap {
            // A descriptor may be closed while the list is read.
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(table)/\($0)")
        }
        #expect(files.contains { $0.hasSuffix("/runner.lock") })
        #expect(!files.contains { $0.hasSuffix("/held") })
        opsd.signal(SIGTERM)
        #expect(try opsd.wait(seconds: 20).status == 0)
    }

    /// Lets the only reader of a named pipe continue.
    private func open(gate: String) throws {
        // Blocks until the reader has opened its end.
        let descriptor = Glibc.open(gate, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0, write(descriptor, "go\n", 3) == 3 else { throw SetupError("cannot open \(gate)") }
        close(descriptor)
    }

    @Test func `what was interrupted while opsd was away is said at its start`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "sleep", "600")
        try machine.await("started", of: id)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        try machine.killDaemon()
        kill(runner, SIGKILL)
        try machine.start()
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 1)
        #expect(try machine.outcome(id) == "interrupted")
        let said = try #require(machine.daemon).errSoFar
        #expect(said.contains("died while operations ran; 1 was interrupted (opsctl ls -s interrupted)"), "\(said)")
    }
}
