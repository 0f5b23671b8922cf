import Testing

@Suite struct StatsTests {
    @Test func `stats prints counts, times and the critical path`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [{"name": "a", "command": ["true"]}, {"name": "b", "command": ["false"], "after": ["a"]},
                            {"name": "c", "command": ["true"], "after": ["b"]}]}
            """)
        _ = try machine.submit("--hold", "--", "true")
        _ = try machine.ctl("wait", "--graph", graph)
        let all = try machine.ok("stats", "--json").object
        #expect(all["count"] as? Int == 4)
        let stats = try machine.ok("stats", "--graph", graph, "--json").object
        #expect(stats["count"] as? Int == 3)
        let outcomes = try #require(stats["outcomes"] as? [String: Int])
        #expect(outcomes["succeeded"] == 1 && outcomes["failed"] == 1 && outcomes["skipped"] == 1)
        #expect(stats["criticalPath"] as? [Int] == [1, 2])
        #expect(try machine.ok("stats", "--timeline").out.hasPrefix("<svg "))
        let drawn = try machine.ok("stats", "--timeline", "--json", "--graph", graph).objects
        #expect(drawn.compactMap { $0["id"] as? Int } == [1, 2])
        #expect(drawn.allSatisfy { $0["startedAt"] is String })
        #expect(try machine.ctl("stats", "--rows", "worker").status == 2)
        #expect(try machine.ctl("stats", "--graph", "g99").status == 4)
    }
}
