import Foundation
import Testing

@Suite struct SetTests {
    @Test func `set changes the order of waiting operations by priority`() throws {
        let machine = try Machine(workers: 1)
        try machine.ok("suspend")
        let marks = machine.state + "/order"
        let ids = try (1...3).map { try machine.submit("--shell", "echo \($0) >> \(marks)") }
        try machine.ok("set", "\(ids[2])", "--priority", "veryHigh")
        #expect(try machine.show(ids[2])["priority"] as? Int == 8)
        try machine.ok("resume")
        #expect(try machine.ctl("wait", "--all", "--timeout", "20s").status == 0)
        let order = try Command("/bin/cat", [marks], environment: [:], in: "/").wait().lines
        #expect(order == ["3", "1", "2"])
    }

    @Test func `the command of a waiting operation is replaced in its directory and environment`() throws {
        let machine = try Machine(workers: 1)
        let id = try machine.submit("--hold", "--env", "WORD=kept", "--", "false")
        #expect(try machine.ok("set", "\(id)", "--command", "--", "printenv", "WORD").out == "changed \(id)\n")
        #expect(try machine.show(id)["command"] as? [String] == ["printenv", "WORD"])
        try machine.ok("resume", "\(id)")
        #expect(try machine.ctl("wait", "\(id)").status == 0)
        #expect(try machine.ok("log", "\(id)").out == "kept\n")

        let text = try machine.submit("--hold", "--", "false")
        try machine.ok("set", "\(text)", "--command", "echo a; echo b")
        #expect(try machine.show(text)["command"] as? [String] == ["/bin/sh", "-c", "echo a; echo b"])
        try machine.ok("set", "\(text)", "--shell", "echo c", "--priority", "3")
        #expect(try machine.show(text)["command"] as? [String] == ["/bin/sh", "-c", "echo c"])
        #expect(try machine.show(text)["priority"] as? Int == 3)
        #expect(try machine.ctl("set", "\(text)", "--shell", "x", "--command", "y").status == 5)
        let finished = try machine.ctl("set", "\(id)", "--command", "true")
        #expect(finished.status == 5)
        #expect(finished.err.contains("has finished already; opsctl retry runs it again"), "\(finished.err)")
        #expect(try machine.ctl("check").status == 0)
    }

    @Test func `set changes only the given settings of a retry`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--hold", "--retry", "2", "--retry-backoff", "1m", "--retry-on", "failed,interrupted",
            "--retry-exit-codes", "3,4", "--retry-scale", "timeout=2", "--", "true")
        func retry() throws -> [String: Any] { try #require(try machine.show(id)["retry"] as? [String: Any]) }
        try machine.ok("set", "\(id)", "--retry", "5")
        #expect(try retry()["limit"] as? Int == 5)
        #expect(try retry()["backoff"] as? String == "1m")
        #expect(try retry()["on"] as? [String] == ["failed", "interrupted"])
        #expect(try retry()["exitCodes"] as? [Int] == [3, 4])
        try machine.ok("set", "\(id)", "--retry-backoff", "30s", "--retry-exit-codes", "none", "--timeout", "1h")
        #expect(try retry()["limit"] as? Int == 5)
        #expect(try retry()["backoff"] as? String == "30s")
        #expect(try retry()["exitCodes"] as? [Int] == nil)
        #expect((try retry()["scale"] as? [String: Any])?.keys.sorted() == ["timeout"])
        try machine.ok("set", "\(id)", "--retry-scale", "none")
        #expect(try retry()["scale"] as? [String: Any] == nil)
        try machine.ok("set", "\(id)", "--retry", "none", "--priority", "3")
        #expect(try machine.show(id)["retry"] is NSNull)
        try machine.ok("set", "\(id)", "--retry", "1", "--retry-max", "2m")
        #expect(try retry()["backoff"] as? String == "1s")
        #expect(try retry()["max"] as? String == "2m")
    }

    @Test func `only the back-off of an operation without retries is refused`() throws {
        let machine = try Machine()
        let plain = try machine.submit("--hold", "--name", "plain", "--", "true")
        let retried = try machine.submit("--hold", "--retry", "2", "--", "true")
        let refusal = try machine.ctl("set", "\(plain)", "\(retried)", "--retry-backoff", "30s")
        #expect(refusal.status == 5)
        #expect(
            refusal.err.contains("operation \(plain) (plain) has no retries; add their number with"), "\(refusal.err)")
        #expect((try machine.show(retried)["retry"] as? [String: Any])?["backoff"] as? String == "1s")
        let contradiction = try machine.ctl("set", "\(retried)", "--retry", "none", "--retry-backoff", "30s")
        #expect(contradiction.status == 2)
        #expect(contradiction.err.contains("--retry none and --retry-backoff contradict each other"))
    }

    @Test func `a group takes no command`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        _ = try machine.graph(#"{"operations": [{"name": "g", "operations": [{"name": "x", "command": ["true"]}]}]}"#)
        let refusal = try machine.ctl("set", "g", "--command", "true")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("1 (g) is a group, which has no process"), "\(refusal.err)")
    }

    @Test func `set changes all selected operations or none`() throws {
        let machine = try Machine()
        let first = try machine.submit("--hold", "--timeout", "5m", "--", "true")
        let second = try machine.submit("--hold", "--deadline", "2h", "--", "true")
        let busy = try machine.submit("--", "sleep", "600")
        try machine.await("started", of: busy)
        let refusal = try machine.ctl("set", "\(first)", "\(second)", "\(busy)", "--timeout", "1h")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("\(busy)"), "the one that cannot be edited is named")
        #expect(try machine.ok("show", "\(first)").out.contains("5m"), "nothing of it was done")
        try machine.ok("set", "\(first)", "\(second)", "--timeout", "1h")
        for id in [first, second] { #expect(try machine.ok("show", "\(id)").out.contains("1h")) }
        #expect(try machine.ok("show", "\(second)").out.contains("deadline"), "what was not named stays")
    }

    @Test func `set refuses settings that the kind of operation does not have`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        _ = try machine.graph(#"{"operations": [{"name": "g", "operations": [{"name": "x", "command": ["true"]}]}]}"#)
        for words in [["--retry", "2"], ["--leftovers", "wait"], ["--success-codes", "0,3"], ["--grace", "5s"]] {
            let refusal = try machine.begin(["set", "x", "g"] + words).wait()
            #expect(refusal.status == 5)
            #expect(refusal.err.contains("1 (g) is a group, which has no process"), "\(refusal.err)")
        }
        #expect(try machine.show("x")["retry"] as? [String: Any] == nil, "nothing of it was done")
        let refusal = try machine.ctl("set", "x", "--limit", "2")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("2 (x) is not a group"), "\(refusal.err)")
        try machine.ok("set", "g", "--limit", "2", "--timeout", "1h")
        try machine.ok("set", "x", "--retry", "2", "--leftovers", "wait")
    }

    @Test func `a priority out of range and an unknown queue are refused`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        #expect(try [2, 5].contains(machine.ctl("set", "\(id)", "--priority", "101").status))
        #expect(try machine.ctl("set", "\(id)", "--queue", "nowhere").status != 0)
        #expect(try [2, 5].contains(machine.ctl("submit", "--priority", "-101", "--", "true").status))
    }
}
