import Testing

@Suite struct OrderTests {
    /// Returns the names of finished operations of a graph in the order of their starts.
    private func starts(_ machine: Machine, _ graph: String) throws -> [String] {
        let rows = try machine.ok("ls", "--graph", graph, "-a", "--json").objects
        return try rows.sorted {
            let (a, b) = (try #require($0["startedAt"] as? String), try #require($1["startedAt"] as? String))
            return a < b
        }
        .compactMap { $0["name"] as? String }
    }

    @Test func `the longest estimated path of a queue starts first, after a restart too`() throws {
        let machine = try Machine(workers: 1)
        #expect(try machine.ctl("queue", "set", "main", "--order", "random").status == 2)
        try machine.ok("queue", "set", "default", "--order", "longestPath")
        #expect(try machine.ok("queue", "ls", "--json").out.contains(#""order":"longestPath""#))
        let gate = Gate(machine)
        let first = try machine.submit("--shell", "read x < \(gate.path)")
        try machine.await("started", of: first)
        let id = try machine.graph(
            """
            {"name": "chain", "operations": [
              {"name": "alone", "command": ["true"]},
              {"name": "last", "command": ["true"], "after": ["middle"]},
              {"name": "middle", "command": ["true"], "after": ["head"]},
              {"name": "head", "command": ["true"]}
            ]}
            """)
        let why = try machine.ok("why", "alone@\(id)").out
        #expect(why.contains("2nd in line by its longest path, about 1s"), "\(why)")
        try machine.killDaemon()
        try machine.start(workers: 1)
        #expect(try machine.ok("why", "alone@\(id)").out.contains("2nd in line by its longest path, about 1s"))
        #expect(try machine.ok("queue", "ls").out.contains("longestPath"))
        gate.open()
        #expect(try machine.ctl("wait", "--graph", id, "--timeout", "30s").status == 0)
        #expect(try starts(machine, id) == ["head", "middle", "alone", "last"])
    }

    @Test func `a graph file asks for the order, and estimates come from the latest successes`() throws {
        let machine = try Machine(workers: 1)
        let graph = """
            {"name": "slow", "order": "longestPath", "operations": [
              {"name": "first", "command": ["true"]},
              {"name": "second", "shell": "sleep 0.3"}
            ]}
            """
        let earlier = try machine.graph(graph)
        #expect(try machine.ctl("wait", "--graph", earlier, "--timeout", "30s").status == 0)
        let id = try machine.graph(graph)
        #expect(try machine.ctl("wait", "--graph", id, "--timeout", "30s").status == 0)
        #expect(try starts(machine, earlier) == ["first", "second"])
        #expect(try starts(machine, id) == ["second", "first"])
        let wrong = #"{"order": "best", "operations": [{"command": ["true"]}]}"#
        let refused = try machine.ctl("submit", "-f", "-", input: wrong)
        #expect(refused.status == 5 && refused.err.contains("the order of a graph must be"), "\(refused)")
    }
}
