import Foundation
import Testing

@Suite struct GroupTests {
    @Test func `a group fails when one of its children fails`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "group", "limit": 1, "operations": [{"name": "a", "command": ["true"]}, {"name": "b", "command": ["false"]}]},
              {"name": "then", "command": ["true"], "after": [{"op": "group", "when": "failed"}]}]}
            """)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 1)
        let group = try machine.show("group")
        #expect(group["outcome"] as? String == "failed")
        #expect((group["cause"] as? String)?.contains("(b)") == true)
        #expect(try machine.show("a")["group"] as? Int == group["id"] as? Int)
        #expect(try machine.outcome("then") == "succeeded")
    }

    @Test func `the limit of a group can be changed while it executes`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"{"operations": [{"name": "g", "limit": 0, "operations": [{"name": "x", "command": ["true"]}]}]}"#)
        try machine.await("started", of: 1)
        let why = try #require(try machine.ok("why", "x", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.map { $0["kind"] as? String } == ["group"])
        #expect(why.first?["text"] as? String == "group 1 (g) has a limit of 0")
        let refusal = try machine.ctl("set", "g", "--limit", "1", "--timeout", "5m")
        #expect(refusal.status == 5, "only the limit of what executes can change")
        try machine.ok("set", "g", "--limit", "1")
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
    }

    @Test func `operations of a skipped group name the failed dependency as their cause`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "root", "command": ["false"]}, {"name": "between", "command": ["true"], "after": ["root"]},
              {"name": "g", "after": ["between"], "operations": [
                {"name": "inner", "operations": [{"name": "leaf", "command": ["true"]}]}]}]}
            """)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 1)
        for name in ["inner", "leaf"] {
            #expect(try machine.outcome(name) == "skipped")
            #expect(
                try machine.show(name)["cause"] as? String == "group 3 (g) was skipped: dependency 1 (root) failed")
        }
        let leaf = try #require(try machine.show("leaf")["id"] as? Int)
        let later = try machine.submit("--after", "\(leaf)", "--", "true")
        let depending = try machine.submit("--hold", "--", "true")
        try machine.ok("depend", "\(depending)", "--on", "\(leaf)")
        for id in [later, depending] {
            #expect(try machine.outcome(id) == "skipped")
            #expect(try machine.show(id)["cause"] as? String == "dependency 1 (root) failed")
        }
    }

    @Test func `operations of a group whose condition is false name the end of the group as their cause`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "bad", "conditions": [{"exec": ["false"]}], "operations": [{"name": "x", "command": ["true"]}]},
              {"name": "afterX", "command": ["true"], "after": ["x"]},
              {"name": "done", "conditions": [{"exec": ["false"], "otherwise": "succeed"}],
               "operations": [{"name": "y", "command": ["true"]}]},
              {"name": "afterY", "command": ["true"], "after": ["y"]}]}
            """)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 1)
        let bad = try #require(try machine.show("bad")["id"] as? Int)
        let done = try #require(try machine.show("done")["id"] as? Int)
        for (name, cause) in [
            ("x", "group \(bad) (bad) failed"), ("afterX", "dependency \(bad) (bad) failed"),
            ("y", "group \(done) (done) is up to date"), ("afterY", "dependency \(done) (done) is up to date"),
        ] {
            #expect(try machine.outcome(name) == "skipped")
            #expect(try machine.show(name)["cause"] as? String == cause)
        }
    }

    @Test func `cancelling a group cancels all its operations`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            #"{"operations": [{"name": "g", "operations": [{"name": "x", "command": ["sleep", "600"]}, {"name": "y", "after": ["x"], "command": ["true"]}]}]}"#
        )
        try machine.await("started", of: 2)
        try machine.ok("cancel", "g", "--wait")
        #expect(try machine.outcome("g") == "cancelled")
        for child in ["x", "y"] {
            #expect(try machine.outcome(child) == "cancelled")
            #expect((try machine.show(child)["cause"] as? String)?.contains("g") == true)
        }
    }

    /// A name means the operation of the same graph, not one with the same name in another graph.
    @Test func `children may name operations of their graph`() throws {
        let machine = try Machine()
        let file = machine.state + "/children.json"
        try #"""
        {"operations": [{"name": "second", "command": ["true"], "after": ["first"]},
          {"name": "third", "command": ["true"], "after": ["second", "maker@g1"]}]}
        """#.write(toFile: file, atomically: true, encoding: .utf8)
        let submit = "\(Machine.programs)/opsctl submit --child"
        let script = """
            \(submit) --name first -- true; \(submit) -f \(file); echo $?
            sed -i 's/, "maker@g1"//' \(file); \(submit) -f \(file); echo $?
            sed -i 's/first/frist/' \(file); \(submit) -f \(file); echo $?
            """
        let maker = try machine.submit("--name", "maker", "--output", "split", "--shell", script)
        _ = try machine.submit("--name", "frist", "--", "true")
        #expect(try machine.ctl("wait", "\(maker)", "--timeout", "30s").status == 0)
        let said = try machine.ok("log", "\(maker)").lines.filter { !$0.hasPrefix("g") }
        #expect(said.suffix(3) == ["5", "0", "5"], "\(said): it waits for its producer, is well, or names nothing")
        let first = try machine.show("first")["id"] as? Int
        let edges = try #require(machine.show("second")["dependencies"] as? [[String: Any]])
        #expect(edges.compactMap { $0["id"] as? Int } == [first])
    }
}
