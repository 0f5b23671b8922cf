import Foundation
import Glibc
import TestSupport
import Testing

/// Operations on an executor that the daemon starts itself: a program that speaks the launch protocol.
@Suite struct ExecutorTests {
    /// A machine with an executor `far` and a queue that uses it.
    private func machine(program: String = Machine.programs + "/fake-executor") throws -> (Machine, [String]) {
        let machine = try Machine(start: false)
        let file = machine.state + "/opsd.conf"
        try "[executor far]\nkind = slurm\nwindow = 3\nprogram = \(program)\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        try machine.start(["--config", file])
        return (machine, ["--config", file])
    }

    private func finish(_ machine: Machine, _ id: Int) throws -> [String: Any] {
        _ = try machine.ctl("wait", "\(id)", "--timeout", "60s")
        return try machine.show(id)
    }

    private func pid(ofProgramIn state: String) throws -> pid_t? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.first { pid in
            // A process that has just ended has no command line.
            let words = (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
            return words.contains("fake-executor") && words.contains(state)
        }
    }

    @Test func `an operation runs on its executor and has the outcome of its job`() throws {
        let (machine, _) = try machine()
        let good = try finish(machine, try machine.submit("--executor", "far", "--", "exit", "0"))
        #expect(good["outcome"] as? String == "succeeded")
        #expect(good["executor"] as? String == "far")
        #expect(good["job"] as? String == "4711")
        let bad = try finish(machine, try machine.submit("--executor", "far", "--", "exit", "3"))
        #expect(bad["outcome"] as? String == "failed")
        #expect(bad["exitCode"] as? Int == 3)
        let refused = try finish(
            machine, try machine.submit("--executor", "far", "--retry", "3", "--", "refuse", "no", "such", "partition"))
        #expect(refused["cause"] as? String == "refused: no such partition")
        #expect(refused["attempt"] as? Int == 1)
        let lost = try finish(machine, try machine.submit("--executor", "far", "--", "lose", "node", "n1", "failed"))
        #expect(lost["outcome"] as? String == "interrupted")
        #expect(lost["cause"] as? String == "node n1 failed")
        let row = try #require(try machine.ok("executor", "ls", "--json").objects.first)
        #expect(row["name"] as? String == "far")
        #expect(row["kind"] as? String == "slurm")
        #expect(row["state"] as? String == "connected")
        #expect(row["window"] as? Int == 3)
        #expect(row["inFlight"] as? Int == 0)
    }

    /// On another machine the secret would be unset and the limit without effect, and nobody would notice.
    @Test func `what needs this machine is refused for an executor`() throws {
        let (machine, _) = try machine()
        try machine.ok("queue", "add", "remote", "--executor", "far")
        let command = #""command": ["true"], "queue": "remote""#
        let transfer = #""http": {"url": "http://127.0.0.1/", "to": "/nowhere/file"}"#
        let keys = [
            (command, "secrets", #"{"TOKEN": {"file": "/etc/passwd"}}"#), (command, "output", #""journal""#),
            (command, "limits", #"{"tasks": 9}"#), (transfer, "limits", #"{"tasks": 9}"#),
        ]
        for (work, key, value) in keys {
            let graph = #"{"operations": [{\#(work), "\#(key)": \#(value)}]}"#
            let file = machine.state + "/graph.json"
            try graph.write(toFile: file, atomically: true, encoding: .utf8)
            let output = try machine.ctl("submit", "-f", file)
            #expect(output.status == 5)
            #expect(output.err.contains("\(key): needs the executor local"), "\(output.err)")
            #expect(!output.err.contains("cannot enforce"), "\(output.err)")
        }
    }

    @Test func `an executor that nobody has configured is refused with the names that exist`() throws {
        let (machine, _) = try machine()
        let output = try machine.ctl("submit", "--executor", "fat", "--", "true")
        #expect(output.status == 5)
        #expect(output.err.contains("there is no executor \"fat\""))
        #expect(output.err.contains("the executors are local, far"))
        #expect(try machine.ctl("queue", "set", "default", "--executor", "fat").status == 5)
        #expect(try machine.ctl("submit", "--slurm", "cpus=2", "--", "true").err.contains("kind slurm"))
    }

    @Test func `operations of a queue run on its executor`() throws {
        let (machine, more) = try machine()
        try machine.ok("queue", "add", "big")
        try machine.ok("queue", "set", "big", "--executor", "far")
        try machine.killDaemon()
        try machine.start(more)
        let far = try finish(machine, try machine.submit("--queue", "big", "--", "exit", "4"))
        #expect(far["exitCode"] as? Int == 4)
        let local = try finish(machine, try machine.submit("--queue", "big", "--executor", "local", "--", "true"))
        #expect(local["outcome"] as? String == "succeeded")
        try machine.ok("queue", "set", "big", "--executor", "none")
        #expect(
            try finish(machine, try machine.submit("--queue", "big", "--", "true"))["outcome"] as? String == "succeeded"
        )
    }

    @Test func `jobs outlive opsd and the program of their executor`() throws {
        let (machine, more) = try machine()
        let running = try machine.submit("--executor", "far", "--", "wait")
        try machine.await("started", of: running)
        let queued = try machine.submit("--executor", "far", "--", "queue")
        try machine.await("progress", of: queued)
        #expect(try machine.show(queued)["statusText"] as? String == "PENDING (Priority)")
        #expect(try machine.show(queued)["startedAt"] as? String == nil)
        #expect(try machine.ok("why", "\(queued)").out.contains("job 4712 of executor far has not started"))
        try machine.killDaemon()
        kill(try #require(try pid(ofProgramIn: machine.state)), SIGKILL)
        try machine.start(more)
        #expect(
            try finish(machine, try machine.submit("--executor", "far", "--", "exit", "0"))["outcome"] as? String
                == "succeeded")
        #expect(try machine.stateOf(running) == "executing")
        #expect(try machine.stateOf(queued) == "executing")
        try machine.ok("cancel", "\(running)", "\(queued)")
        #expect(try finish(machine, running)["outcome"] as? String == "cancelled")
        #expect(try finish(machine, queued)["outcome"] as? String == "cancelled")
    }

    @Test func `an operation is submitted again for the same executor`() throws {
        let (machine, _) = try machine()
        let first = try machine.submit("--executor", "far", "--slurm", "cpus=2", "--", "exit", "0")
        let second = try finish(machine, try machine.submit("--again", "\(first)"))
        #expect(second["executor"] as? String == "far")
        #expect(second["slurm"] as? [String: Int] == ["cpus": 2])
    }

    /// The operation has more dependencies than are read between two calls of clients.
    @Test func `an operation after very many others starts on its executor`() throws {
        let (machine, _) = try machine()
        let count = 20_000
        let held = Array(repeating: #"{"command":["true"],"held":true}"#, count: count).joined(separator: ",")
        try machine.ok("submit", "-f", "-", input: "[\(held)]")
        try machine.ok("cancel", "--all")
        let after = (1...count).map { #"{"op":\#($0),"when":"finished"}"# }.joined(separator: ",")
        try machine.ok(
            "submit", "-f", "-", input: #"[{"command":["exit","0"],"executor":"far","after":[\#(after)]}]"#)
        #expect(try finish(machine, count + 1)["outcome"] as? String == "succeeded")
    }

    /// Otherwise only the state `disconnected` would show it. The test acts as the program.
    @Test(arguments: [("executor-far", "executor far lost: "), ("runner", "runner lost: ")])
    func `a program that opsd does not understand is reported once`(name: String, message: String) throws {
        let machine = try Machine(start: false)
        let file = machine.state + "/opsd.conf"
        try "[executor far]\nkind = slurm\nprogram = /bin/true\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let place = TemporaryDirectory()
        let program = try ServiceManager(in: place.path)
        try program.listen(at: "\(machine.state)/\(name).sock")
        // Without its socket, it would be lost once more.
        defer { withExtendedLifetime(program) {} }
        try machine.start(["--config", file])
        for _ in 1...4 {
            try #require(program.hasCaller())
            let connection = accept(try #require(program.listener), nil, nil)
            var greeting = [UInt8](repeating: 0, count: 64)
            let received = recv(connection, &greeting, greeting.count, 0)
            let unknown: [UInt8] = [1, 0, 0, 0, 0xFF]
            let sent = write(connection, unknown, unknown.count)
            close(connection)
            try #require(received > 0 && sent == unknown.count)
        }
        let said = try #require(machine.daemon).errSoFar
        #expect(said.components(separatedBy: message).count == 2, "\(said)")
        try machine.killDaemon()
    }

    @Test func `operations of an executor without a program stay ready`() throws {
        let (machine, _) = try machine(program: "/no/such/program")
        let id = try machine.submit("--executor", "far", "--", "exit", "0")
        #expect(try machine.stateOf(id) == "ready")
        #expect(try machine.ok("why", "\(id)").out.contains("executor far is not connected"))
        let row = try #require(try machine.ok("executor", "ls", "--json").objects.first)
        #expect(row["state"] as? String == "disconnected")
        try machine.ok("cancel", "\(id)")
    }
}
