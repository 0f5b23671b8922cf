import Testing

@Suite struct GroupTests {
    @Test func aGroupIsItsChildren() throws {
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

    @Test func cancellingAGroupReachesAllBelow() throws {
        let machine = try Machine()
        _ = try machine.graph(
            #"{"operations": [{"name": "g", "operations": [{"name": "x", "command": ["sleep", "60"]}, {"name": "y", "after": ["x"], "command": ["true"]}]}]}"#
        )
        try machine.await("started", of: 2)
        try machine.ok("cancel", "g", "--wait")
        #expect(try machine.outcome("g") == "cancelled")
        for child in ["x", "y"] {
            #expect(try machine.outcome(child) == "cancelled")
            #expect((try machine.show(child)["cause"] as? String)?.contains("g") == true)
        }
    }
}
