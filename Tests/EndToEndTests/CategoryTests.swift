import Testing

@Suite struct CategoryTests {
    @Test func `a dependent in the same category may be submitted first`() throws {
        // A classic deadlock in other schedulers: A after B, A submitted first, both in one category.
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [{"name": "A", "command": ["true"], "after": ["B"], "categories": ["c"]},
                            {"name": "B", "command": ["true"], "categories": ["c"]}]}
            """)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
    }

    @Test func `why names the holder of a category`() throws {
        let machine = try Machine()
        let holder = try machine.submit("--category", "db", "--", "sleep", "600")
        try machine.await("started", of: holder)
        let waiter = try machine.submit("--category", "db", "--", "true")
        let reasons = try #require(
            try machine.ok("why", "\(waiter)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(reasons.count == 1)
        #expect(reasons.first?["kind"] as? String == "category")
        #expect(reasons.first?["ids"] as? [Int] == [holder])
        #expect((reasons.first?["text"] as? String)?.contains("db") == true)
        let row = try #require(
            try machine.ok("category", "ls", "--json").objects.first { $0["name"] as? String == "db" })
        #expect(row["capacity"] as? Int == 1)
        #expect(row["holders"] as? [Int] == [holder])
        #expect(row["waiting"] as? [Int] == [waiter])
    }

    @Test func `units of a category are limited by its capacity`() throws {
        let machine = try Machine(workers: 4)
        let refusal = try machine.ctl("submit", "--category", "gpu:2", "--", "true")
        #expect(refusal.status == 5, "the default capacity is one unit")
        #expect(refusal.err.contains("opsctl category set gpu --capacity 2"), "what to do is said")
        try machine.ok("category", "set", "gpu", "--capacity", "3")
        let two = try machine.submit("--category", "gpu:2", "--", "sleep", "600")
        let one = try machine.submit("--category", "gpu", "--", "sleep", "600")
        let wait = try machine.submit("--category", "gpu", "--", "true")
        try machine.await("started", of: two)
        try machine.await("started", of: one)
        #expect(try machine.stateOf(wait) == "ready")
        try machine.ok("cancel", "\(one)")
        #expect(try machine.ctl("wait", "\(wait)", "--timeout", "20s").status == 0)
        let wide = try machine.submit("--category", "gpu:3", "--", "true")
        try machine.ok("category", "set", "gpu", "--capacity", "2")
        #expect(try machine.ok("why", "\(wide)").out.contains("3 units of category gpu, whose capacity is 2"))
    }

    @Test func `the refusal of a child names the category units that its group takes`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "gx", "--capacity", "3")
        func refusal(group: String, child: String) throws -> String {
            let graph = """
                {"operations": [{"name": "g", "categories": [\(group)], "operations": [
                  {"name": "x", "command": ["true"], "categories": [\(child)]}]}]}
                """
            let result = try machine.ctl("submit", "-f", "-", input: graph)
            #expect(result.status == 5)
            return result.err
        }
        let shared = #"{"name": "gx", "mode": "shared"}"#
        #expect(try refusal(group: shared, child: #""gx""#).contains("the group around it takes category gx shared"))
        let units = try refusal(group: #"{"name": "gx", "units": 2}"#, child: #"{"name": "gx", "units": 3}"#)
        #expect(units.contains("the group around it takes 2"), "\(units)")
        #expect(units.hasPrefix("opsctl: standard input:2:38: operation x, key categories: 3 units"), "\(units)")
        let many = try refusal(group: #""gx""#, child: #"{"name": "gy", "units": 2}"#)
        #expect(many.hasPrefix("opsctl: standard input:2:38: operation x, key categories: 2 units"), "\(many)")
        let id = try machine.submit("--hold", "--", "true")
        let edit = try machine.ctl("set", "\(id)", "--category", "gx:4")
        #expect(edit.status == 5)
        #expect(edit.err.hasPrefix("opsctl: set: operation \(id), key categories: 4 units"), "\(edit.err)")
    }

    @Test func `a category named twice counts once in its stricter mode`() throws {
        let machine = try Machine()
        func uses(_ one: String, _ other: String) throws -> [String] {
            let id = try machine.submit("--category", one, "--category", other, "--hold", "--", "true")
            let rows = try #require(machine.show(id)["categories"] as? [[String: Any]])
            return rows.map { "\($0["name"] ?? "") \($0["mode"] ?? "") \($0["units"] ?? "")" }
        }
        try machine.ok("category", "set", "wide", "--capacity", "3")
        #expect(try uses("db:shared", "db") == ["db units 1"])
        #expect(try uses("db:exclusive", "db:shared") == ["db exclusive 1"])
        #expect(try uses("wide:2", "wide") == ["wide units 2"])
        let edited = try machine.submit("--hold", "--", "true")
        try machine.ok("set", "\(edited)", "--category", "db", "--category", "db:shared")
        #expect((try machine.show(edited)["categories"] as? [[String: Any]])?.count == 1)
    }

    @Test func `readers share a category and a writer waits for them`() throws {
        let machine = try Machine(workers: 4)
        let readers = try (0..<2).map { _ in try machine.submit("--category", "disk:shared", "--", "sleep", "600") }
        for reader in readers { try machine.await("started", of: reader) }
        let writer = try machine.submit("--category", "disk:exclusive", "--", "true")
        #expect(try machine.stateOf(writer) == "ready")
        try machine.ok("cancel", "\(readers[0])", "\(readers[1])")
        #expect(try machine.ctl("wait", "\(writer)", "--timeout", "20s").status == 0)
    }
}
