import Foundation
import Glibc
import Testing

@Suite struct FinishTests {
    @Test func `finish ends an asynchronous operation`() throws {
        let machine = try Machine()
        let id = try machine.submit("--completion", "notify", "--category", "db", "--", "true")
        let next = try machine.submit("--category", "db", "--", "true")
        try machine.await("started", of: id)
        #expect(try machine.stateOf(id) == "executing")
        #expect(try machine.stateOf(next) == "ready", "the category is held")
        try machine.ok("finish", "\(id)")
        #expect(try machine.ctl("wait", "\(id)", "\(next)", "--timeout", "20s").status == 0)
        #expect(try machine.ctl("finish", "\(id)").status == 5)
    }

    @Test func `approvals that wait for a person stop no worker`() throws {
        let machine = try Machine(workers: 1)
        let first = try machine.submit("--completion", "notify", "--category", "db", "--", "true")
        let second = try machine.submit("--completion", "notify", "--", "true")
        #expect(try machine.ctl("run", "--", "true").status == 0)
        #expect(try machine.stateOf(first) == "executing" && machine.stateOf(second) == "executing")
        try machine.killDaemon()
        try machine.start(workers: 1)
        #expect(try machine.ctl("run", "--", "true").status == 0, "after a restart, too")
        let behind = try machine.submit("--category", "db", "--", "true")
        #expect(try machine.stateOf(behind) == "ready", "the category is held")
        try machine.ok("finish", "\(first)")
        try machine.ok("finish", "\(second)", "--failed", "--message", "not today")
        #expect(try machine.ctl("wait", "\(behind)", "--timeout", "20s").status == 0)
        #expect(try machine.outcome(second) == "failed")
        #expect(try machine.ok("check").status == 0)
    }

    @Test func `finish can fail an operation with a message`() throws {
        let machine = try Machine()
        let id = try machine.submit("--completion", "notify", "--", "true")
        try machine.await("started", of: id)
        try machine.ok("finish", "\(id)", "--failed", "--message", "not approved")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 1)
        let row = try machine.show(id)
        #expect(row["outcome"] as? String == "failed")
        #expect((row["cause"] as? String)?.contains("not approved") == true)
    }

    @Test func `finish is refused for an operation that completes by its exit`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "sleep", "600")
        try machine.await("started", of: id)
        let refusal = try machine.ctl("finish", "\(id)")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("completion: exit"), "\(refusal.err)")
        #expect(try machine.stateOf(id) == "executing")
    }

    @Test func `a non-zero exit fails an asynchronous operation at once`() throws {
        let machine = try Machine()
        let id = try machine.submit("--completion", "notify", "--", "sh", "-c", "exit 4")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 1)
        #expect(try machine.show(id)["exitCode"] as? Int == 4)
    }

    /// Submits a script that continues in the background and reports its end there, which is the purpose of `notify`.
    private func daemonized(_ machine: Machine, _ more: String...) throws -> (id: Int, pid: Int32) {
        mkfifo(machine.state + "/gate", 0o600)
        let script = """
            setsid sh -c 'echo $$ > \(machine.state)/pid; read x < \(machine.state)/gate
            systemd-notify X_OPS_FINISHED=0; exec sleep 1000' > /dev/null &
            while ! [ -s \(machine.state)/pid ]; do sleep 0.01; done
            """
        let submit = try machine.begin(["submit", "--completion", "notify"] + more + ["--shell", script])
        let id = try #require(try submit.wait().lines.first.flatMap { Int($0) })
        try machine.await("started", of: id)
        try awaitSilence(machine, id)
        let pid = try String(contentsOfFile: machine.state + "/pid", encoding: .utf8)
        return (id, try #require(Int32(pid.dropLast())))
    }

    /// Waits until the main process has ended and only the message of the operation is missing.
    private func awaitSilence(_ machine: Machine, _ id: Int) throws {
        try waitUntil { try machine.ok("why", "\(id)").out.contains("X_OPS_FINISHED") }
    }

    @Test func `leftovers that may still report the result run until they have reported it`() throws {
        let machine = try Machine()
        let (id, pid) = try daemonized(machine)
        #expect(kill(pid, 0) == 0)
        try machine.killDaemon()
        try machine.start()
        // Until the runner has connected, the operation waits for the runner.
        try awaitSilence(machine, id)
        let gate = open(machine.state + "/gate", O_WRONLY | O_CLOEXEC)
        #expect(write(gate, "go\n", 3) == 3)
        close(gate)
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        // The leftover processes have been killed, but the runner may not have reaped them yet.
        try waitUntil { kill(pid, 0) != 0 }
    }

    @Test func `finish ends leftover processes`() throws {
        let machine = try Machine()
        let (id, pid) = try daemonized(machine)
        try machine.ok("finish", "\(id)")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        try waitUntil { kill(pid, 0) != 0 }
    }

    @Test func `leftovers that may stay keep running after finish`() throws {
        let machine = try Machine()
        let (id, pid) = try daemonized(machine, "--leftovers", "leave")
        try machine.ok("finish", "\(id)")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        #expect(kill(pid, SIGKILL) == 0)
    }

    @Test func `messages of systemd-notify are received`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--name", "counter", "--shell",
            "systemd-notify --status='half way' X_OPS_PROGRESS=42/100 X_OPS_RESULT=answer; true")
        let after = try machine.submit("--after", "counter", "--shell", "echo $OPS_RESULT_COUNTER")
        #expect(try machine.ctl("wait", "\(id)", "\(after)", "--timeout", "20s").status == 0)
        let row = try machine.show(id)
        #expect(row["statusText"] as? String == "half way")
        let progress = try #require(row["progress"] as? [String: Any])
        #expect(progress["done"] as? Int == 42)
        #expect(progress["total"] as? Int == 100)
        #expect(try machine.ok("log", "\(after)").out == "answer\n")
    }

    /// The runner starts the next operation by itself only if its predecessor has no result, because a result becomes
    /// part of the next environment.
    @Test func `results are passed along a chain`() throws {
        let machine = try Machine()
        let links = (0..<12).map { link in
            let said = link == 0 ? "0" : "$((${OPS_RESULT_C\(link - 1):-0} + 1))"
            let say = link % 3 == 2 ? "true" : "systemd-notify X_OPS_RESULT=\(said)"
            let after = link == 0 ? "" : #","after":["c\#(link - 1)"]"#
            return #"{"name":"c\#(link)","shell":"\#(say); echo \#(said)"\#(after)}"#
        }
        let graph = try machine.graph("[\(links.joined(separator: ","))]")
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "30s").status == 0)
        // Every third operation sends no result, so the next one begins to count again.
        for link in 0..<12 {
            let expected = link < 3 ? link : 1 + link % 3
            #expect(try machine.ok("log", "c\(link)").out == "\(expected)\n", "link \(link)")
        }
    }
}
