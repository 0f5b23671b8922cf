import Testing

@Suite struct CancelTests {
    @Test func `waiting and executing operations can be cancelled`() throws {
        let machine = try Machine(workers: 1)
        let running = try machine.submit("--", "sleep", "600")
        let waiting = try machine.submit("--", "true")
        try machine.await("started", of: running)
        #expect(try machine.ctl("cancel", "\(waiting)", "--reason", "not needed").status == 0)
        #expect(try machine.outcome(waiting) == "cancelled")
        let cause = try #require(try machine.show(waiting)["cause"] as? String)
        #expect(cause.hasPrefix("cancelled by ") && cause.hasSuffix(": not needed"))
        #expect(try machine.ctl("cancel", "\(running)", "--wait").status == 0)
        #expect(try machine.outcome(running) == "cancelled")
        #expect(try machine.show(running)["cancelling"] as? Bool == false)
    }

    @Test func `cancel refuses a finished operation and an unknown one`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        try machine.ok("wait", "\(id)")
        #expect(try machine.ctl("cancel", "\(id)").status == 5)
        #expect(try machine.ctl("cancel", "--state", "finished").status == 0)
        #expect(try machine.ctl("cancel", "99").status == 4)
        #expect(try machine.ctl("cancel", "0-9223372036854775807").status == 0)
    }

    @Test func `cancel --wait goes on when the daemon is restarted`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit(
            "--grace", "60s", "--shell", "trap '' TERM; systemd-notify --status=up; read x < \(gate.path)")
        try machine.await("progress", of: id)
        let cancel = try machine.begin(["cancel", "\(id)", "--wait"])
        try cancel.until { $0 == "cancelled \(id)\n" }
        try machine.killDaemon()
        try machine.start()
        gate.open()
        let output = try cancel.wait(seconds: 30)
        #expect(output.status == 0, "\(output.err)")
        #expect(try machine.outcome(id) == "cancelled")
    }

    @Test func `the length of reasons, messages, names and keys is limited`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        let long = String(repeating: "x", count: 4097)
        for (verb, option) in [("cancel", "--reason"), ("finish", "--message")] {
            let refused = try machine.ctl(verb, "\(id)", option, long)
            #expect(refused.status == 5, "\(verb)")
            #expect(refused.err.contains("is too large (limit 4096)"), "\(refused.err)")
        }
        #expect(try machine.ctl("why", "\(id)", "--what-if", long).status == 5)
        #expect(try machine.ctl("submit", "--graph-name", long, "--", "true").status != 0)
        #expect(try machine.ctl("submit", "--key", long, "--", "true").status != 0)
        #expect(try machine.stateOf(id) == "ready" || machine.stateOf(id) == "pending")
    }

    @Test func `a selection is cancelled in one step`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [{"name": "a", "command": ["sleep", "600"]}, {"name": "b", "command": ["true"], "after": ["a"]},
                            {"name": "c", "command": ["true"], "after": ["b"]}]}
            """)
        try machine.await("started", of: 1)
        try machine.ok("cancel", "--graph", graph)
        _ = try machine.ctl("wait", "--graph", graph)
        let outcomes = try machine.ok("ls", "--json", "--graph", graph).objects.compactMap { $0["outcome"] as? String }
        #expect(outcomes == ["cancelled", "cancelled", "cancelled"])
    }

    @Test func `a process that a signal handler starts to clean up may finish`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--shell",
            "trap 'sleep 0.3 && sh -c \"sleep 0.3 && echo cleaned\"; exit 0' TERM; systemd-notify --status=up; while :; do sleep 0.01; done"
        )
        try machine.await("progress", of: id)
        try machine.ok("cancel", "\(id)", "--wait")
        let said = try machine.ok("log", "\(id)").out
        #expect(said.hasSuffix("cleaned\n"), "\(said)")
        #expect(try machine.outcome(id) == "cancelled")
    }

    @Test func `all processes of an operation are killed even if they hide`() throws {
        let machine = try Machine()
        let mark = "opsd-e2e-\(UInt32.random(in: 0 ... .max))"
        let id = try machine.submit(
            "--grace", "300ms", "--shell",
            "setsid sh -c 'trap \"\" TERM; (exec -a \(mark) sleep 60) & exec -a \(mark) sleep 60' & trap '' TERM; sleep 60; sleep 60"
        )
        try machine.await("started", of: id)
        try machine.ok("cancel", "\(id)", "--wait")
        let alive = try Command(
            "/bin/sh", ["-c", "ps -eo args | grep -c '^\(mark)' || true"], environment: Machine.environment, in: "/"
        ).wait()
        #expect(alive.out == "0\n")
    }
}
