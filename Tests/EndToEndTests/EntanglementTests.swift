import Testing

/// Graphs in which dependencies and categories contradict each other.
@Suite struct EntanglementTests {
    @Test func `an operation that needs a category which its dependencies' group holds is refused`() throws {
        let machine = try Machine()
        let graph = """
            {"operations": [
              {"name": "deploy", "categories": ["site"], "operations": [
                {"name": "stop", "command": ["true"]}, {"name": "start", "command": ["true"], "after": ["copy"]}]},
              {"name": "copy", "command": ["true"], "categories": ["site"], "after": ["stop"]}]}
            """
        let refusal = try machine.ctl("submit", "-f", "-", input: graph)
        #expect(refusal.status == 5)
        for word in ["deploy", "copy", "site"] { #expect(refusal.err.contains(word), "\(word) is named") }
        #expect(try machine.ok("ls", "--all").out.contains("copy") == false, "nothing of it is stored")
    }

    @Test func `a later dependency that causes a deadlock is refused`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            """
            {"operations": [
              {"name": "deploy", "categories": ["site"], "held": true, "operations": [
                {"name": "stop", "command": ["true"]}, {"name": "start", "command": ["true"], "after": ["copy"]}]},
              {"name": "copy", "command": ["true"], "held": true, "categories": ["site"]}]}
            """)
        let refusal = try machine.ctl("depend", "copy", "--on", "stop")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("site"))
        #expect(try machine.stateOf("copy") == "ready", "the edge was not added")
    }

    @Test func `why names the operations that a group yields to`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "copy", "command": ["true"], "held": true, "categories": ["site"]},
              {"name": "deploy", "categories": ["site"], "operations": [
                {"name": "start", "command": ["true"], "after": ["copy"]}]}]}
            """)
        #expect(
            try machine.ok("why", "deploy").out.contains(
                "yields to 1 (copy), which it waits for and which wants category site too"))
        try machine.ok("resume", "copy")
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
    }

    @Test func `a deadlock from a lowered capacity is explained and ends with a higher one`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "site", "--capacity", "2")
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "deploy", "categories": ["site"], "operations": [
                {"name": "stop", "command": ["true"], "held": true},
                {"name": "start", "command": ["true"], "after": ["copy"]}]},
              {"name": "copy", "command": ["true"], "categories": ["site"], "after": ["stop"]}]}
            """)
        try machine.await("started", of: 1)
        try machine.ok("category", "set", "site", "--capacity", "1")
        try machine.ok("resume", "stop")
        #expect(try machine.ctl("wait", "stop", "--timeout", "20s").status == 0)
        #expect(try machine.ok("why", "copy").out.contains("category site wait for one another"))
        try machine.ok("category", "set", "site", "--capacity", "2")
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
    }
}
