import Foundation
import Testing

@Suite struct SuspendTests {
    @Test func `each level is suspended and resumed independently`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        try machine.ok("suspend", "--queue", "default")
        let id = try machine.submit("--", "true")
        #expect(try machine.ok("status", "--json").object["suspended"] as? Bool == true)
        try machine.ok("resume")
        #expect(try machine.stateOf(id) == "ready", "the queue is still suspended")
        let why = try #require(try machine.ok("why", "\(id)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["suspended"])
        try machine.ok("resume", "--queue", "default")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 0)
    }

    @Test func `a suspension survives a restart`() throws {
        let machine = try Machine()
        let graph = try machine.graph(#"{"operations": [{"command": ["true"], "held": true}]}"#)
        try machine.ok("suspend", "--graph", graph)
        try machine.ok("suspend", "--queue", "main")
        try machine.killDaemon()
        try machine.start()
        try machine.ok("resume", "1")
        #expect(try machine.stateOf(1) == "ready")
        let queues = try machine.ok("queue", "ls", "--json").objects
        #expect(queues.first { $0["name"] as? String == "main" }?["suspended"] as? Bool == true)
        try machine.ok("resume", "--graph", graph)
        #expect(try machine.ctl("wait", "1", "--timeout", "20s").status == 0)
    }

    @Test func `suspending an executing operation requires freeze`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "sleep", "600")
        try machine.await("started", of: id)
        #expect(try machine.ctl("suspend", "\(id)").status == 5)
        try machine.ok("suspend", "\(id)", "--freeze")
        #expect(try machine.show(id)["frozen"] as? Bool == true)
        try machine.ok("resume", "\(id)")
        #expect(try machine.show(id)["frozen"] as? Bool == false)
        try machine.ok("suspend", "\(id)", "--freeze")
        try machine.ok("cancel", "\(id)", "--wait")
        #expect(try machine.outcome(id) == "cancelled", "a frozen operation is thawed to get its SIGTERM")
    }

    @Test func `a waiting operation in a suspended queue is cancelled at once`() throws {
        let machine = try Machine()
        try machine.ok("suspend", "--queue", "default")
        let id = try machine.submit("--", "true")
        try machine.ok("cancel", "\(id)")
        #expect(try machine.outcome(id) == "cancelled")
    }

    @Test func `the timeout does not run while an operation is frozen`() throws {
        let machine = try Machine()
        let frozen = try machine.submit("--timeout", "5s", "--", "sleep", "600")
        try machine.await("started", of: frozen)
        try machine.ok("suspend", "\(frozen)", "--freeze")
        // It starts later, so it would end later if both clocks ran.
        let other = try machine.submit("--timeout", "5s", "--", "sleep", "600")
        #expect(try machine.ctl("wait", "\(other)", "--timeout", "30s").status == 1)
        #expect(try machine.outcome(other) == "timedOut")
        #expect(try machine.stateOf(frozen) == "executing")
        try machine.ok("resume", "\(frozen)")
        #expect(try machine.ctl("wait", "\(frozen)", "--timeout", "30s").status == 1)
        #expect(try machine.outcome(frozen) == "timedOut")
    }

    @Test func `nothing below a suspended group starts, also after a restart`() throws {
        let machine = try Machine()
        let gate = machine.state + "/gate"
        let graph = #"""
            {"operations": [{"name": "outer", "operations": [
              {"name": "inner", "operations": [
                {"name": "again", "shell": "until test -e \#(gate); do sleep 0.05; done; exit 1",
                 "retry": {"limit": 1, "backoff": 0}}]}]}]}
            """#
        _ = try machine.graph(graph)
        let again = try #require(try machine.show("again")["id"] as? Int)
        try machine.await("started", of: again)
        #expect(try machine.ok("suspend", "outer").out.contains("suspended 2 operations"))
        #expect(try machine.show("outer")["held"] as? Bool == true)
        try Data().write(to: URL(filePath: gate))
        try machine.await("retrying", of: again)
        try machine.killDaemon()
        try machine.start()
        let why = try #require(try machine.ok("why", "again", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["held"], "\(why)")
        #expect(try machine.show("again")["attempt"] as? Int == 1)
        try machine.ok("resume", "outer")
        #expect(try machine.ctl("wait", "outer", "--timeout", "30s").status == 1)
        #expect(try machine.show("again")["attempt"] as? Int == 2)
    }

    @Test func `the timeout of a group does not run while the group is frozen`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            #"{"operations": [{"name": "outer", "timeout": "5s", "operations": [{"name": "inner", "command": ["sleep", "600"]}]}]}"#
        )
        let inner = try #require(try machine.show("inner")["id"] as? Int)
        try machine.await("started", of: inner)
        try machine.ok("suspend", "outer", "--freeze")
        // It starts later, so it would end later if both clocks ran.
        let other = try machine.submit("--timeout", "5s", "--", "sleep", "600")
        #expect(try machine.ctl("wait", "\(other)", "--timeout", "30s").status == 1)
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.stateOf("outer") == "executing")
        try machine.ok("resume", "outer")
        #expect(try machine.ctl("wait", "outer", "--timeout", "30s").status == 1)
        #expect(try machine.outcome("outer") == "timedOut")
    }
}
