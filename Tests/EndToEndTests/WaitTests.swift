import Glibc
import Testing

@Suite struct WaitTests {
    @Test func `wait exits with the status that the outcomes call for`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("wait", "--queue", "main").status == 0, "nothing selected")
        let good = try machine.submit("--", "true")
        let bad = try machine.submit("--", "sh", "-c", "exit 9")
        let held = try machine.submit("--hold", "--", "true")
        #expect(try machine.ctl("wait", "\(good)").status == 0)
        #expect(try machine.ctl("wait", "\(bad)").status == 1)
        #expect(try machine.ctl("wait", "\(bad)", "--exit-code").status == 9)
        #expect(try machine.ctl("wait", "\(held)", "--timeout", "100ms").status == 7)
        #expect(try machine.ctl("wait", "\(held)", "\(good)", "--any").status == 0)
        #expect(try machine.ctl("wait", "77").status == 4)
        #expect(try machine.ctl("wait").status == 2, "it says nothing to wait for")
        #expect(try machine.ctl("wait", "--all", "--timeout", "100ms").status == 7)
    }

    /// The answer is the same whether the queue finished before the call or after it.
    @Test func `wait for a queue gives the same result during and after its work`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "q")
        let bad = try machine.submit("--queue", "q", "--retry", "0", "--shell", "[ $OPS_ATTEMPT = 2 ]")
        #expect(try machine.ctl("wait", "\(bad)").status == 1)
        let good = try machine.submit("--queue", "q", "--", "true")
        #expect(try machine.ctl("wait", "\(good)").status == 0)
        #expect(try machine.ctl("wait", "--queue", "q").status == 1)
        #expect(try machine.ctl("wait", "--queue", "q", "--any").status == 1)
        #expect(try machine.ctl("wait", "--queue", "main").status == 0)
        let held = try machine.submit("--queue", "q", "--hold", "--", "true")
        let any = try machine.ctl("wait", "--queue", "q", "--any", "--timeout", "100ms")
        #expect(any.status == 7, "the next to end")
        try machine.ok("retry", "\(bad)")
        try machine.ok("resume", "\(held)")
        #expect(try machine.ctl("wait", "--queue", "q", "--timeout", "30s").status == 0, "its last end counts")
    }

    @Test func `wait for a graph includes operations that are added to it`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"{"operations": [{"name": "maker", "shell": "\#(Machine.programs)/opsctl submit --child --name late -- true"}]}"#
        )
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "30s").status == 0)
        let late = try machine.show("late")
        #expect(late["outcome"] as? String == "succeeded")
        #expect(late["graph"] as? String == graph)
        #expect(late["producedBy"] as? Int == 1)
        #expect(late["group"] as? Int == 1)
    }

    @Test func `an error handler that was not needed is no failure`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "g", "operations": [
                {"name": "deploy", "command": ["true"]},
                {"name": "alarm", "command": ["true"], "after": [{"op": "deploy", "when": "failed"}]},
                {"name": "after-alarm", "command": ["true"], "after": ["alarm"]}]},
              {"name": "optional", "command": ["true"],
               "conditions": [{"pathExists": "\(machine.state)/nothing", "otherwise": "skip"}]}]}
            """)
        let wait = try machine.ctl("wait", "--graph", graph)
        #expect(wait.status == 0 && wait.out.isEmpty, "\(wait.out)")
        for name in ["alarm", "after-alarm", "optional"] {
            let row = try machine.show(name)
            #expect(row["outcome"] as? String == "skipped" && row["notNeeded"] as? Bool == true, "\(name)")
        }
        #expect(try machine.outcome("g") == "succeeded")
        #expect(try machine.show("deploy")["notNeeded"] as? Bool == false)
        #expect(try machine.ok("ls").out.contains("not needed"))
        #expect(try machine.ok("ls", "-s", "not needed", "--json").objects.count == 3)
        #expect(try machine.ok("ls", "--outcome", "skipped", "--json").objects.count == 3)
        #expect(try machine.ctl("wait", "alarm", "--exit-code").status == 0)
        #expect(try machine.ok("retry", "--graph", graph, "--json").object["touched"] as? Int == 0)
        #expect(try machine.ctl("run", "--condition", "skip:pathExists=/nothing/there", "--", "true").status == 0)
        #expect(try machine.ctl("check").status == 0)
        // A skip because of a failure counts as before.
        let broken = try machine.submit("--", "false")
        let behind = try machine.submit("--after", "\(broken)", "--", "true")
        #expect(try machine.ctl("wait", "\(behind)").status == 1)
        #expect(try machine.show(behind)["notNeeded"] as? Bool == false)
    }

    @Test func `wait waits again for an operation that is retried meanwhile`() throws {
        let machine = try Machine()
        let (first, second) = (Gate(machine, "first"), Gate(machine, "second"))
        let mended = machine.state + "/mended"
        let broken = try machine.submit("--shell", "[ -e \(mended) ] || exit 3; read x < \(first.path)")
        let other = try machine.submit("--shell", "read x < \(second.path)")
        let wait = try machine.begin(["wait", "\(broken)", "\(other)", "--json"])
        try wait.until { $0.contains("failed") }
        #expect(close(creat(mended, 0o600)) == 0)
        try machine.ok("retry", "\(broken)")
        second.open()
        try wait.until { $0.contains("\"id\":\(other),") }
        first.open()
        let output = try wait.wait(seconds: 30)
        #expect(try output.objects.compactMap { $0["outcome"] as? String } == ["failed", "succeeded", "succeeded"])
        #expect(output.status == 0)
    }
}
