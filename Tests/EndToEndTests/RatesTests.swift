import Testing

@Suite struct RatesTests {
    @Test func `no interval has more starts than the rate, whatever is killed in between`() throws {
        let machine = try Machine(workers: 8)
        #expect(
            try machine.ok("category", "set", "api", "--capacity", "none", "--rate", "2/3s").out
                == "category api has no capacity, and at most 2/3s starts\n")
        let ids = try (0..<5).map { _ in try machine.submit("--category", "api", "--shell", "date +%s.%N") }
        #expect(try machine.ctl("wait", "\(ids[1])", "--timeout", "30s").status == 0)
        let why = try #require(try machine.ok("why", "\(ids[2])", "--json").objects.first)
        let reason = try #require((why["waitingFor"] as? [[String: Any]])?.first)
        #expect(reason["kind"] as? String == "rate")
        #expect(reason["at"] is String)
        #expect((reason["text"] as? String)?.hasPrefix("category api starts at most 2/3s") == true)

        try machine.killDaemon()
        try machine.start(workers: 8)
        #expect(try machine.ctl("wait", "\(ids[0])-\(ids[4])", "--timeout", "60s").status == 0)
        let starts = try ids.map { id in
            try #require(Double(machine.ok("log", "\(id)").out.split(separator: "\n").first ?? ""))
        }.sorted()
        for (earlier, later) in zip(starts, starts.dropFirst(2)) { #expect(later - earlier >= 3, "\(starts)") }
    }

    @Test func `a rate is shown, changed and removed`() throws {
        let machine = try Machine()
        try machine.ok("category", "set", "api", "--rate", "60/1m")
        var row = try #require(try machine.ok("category", "ls", "--json").objects.first)
        #expect(row["rate"] as? String == "60/1m")
        #expect(row["capacity"] as? Int == 1)
        #expect(try machine.ok("category", "ls").out.contains("1, 60/1m"))
        try machine.ok("category", "set", "api", "--capacity", "none")
        row = try #require(try machine.ok("category", "ls", "--json").objects.first)
        #expect(row["capacity"] is Int == false)
        #expect(row["rate"] as? String == "60/1m")
        try machine.ok("category", "set", "api", "--rate", "none", "--capacity", "2")
        row = try #require(try machine.ok("category", "ls", "--json").objects.first)
        #expect(row["rate"] is String == false)
        #expect(row["capacity"] as? Int == 2)
        for wrong in ["0/1m", "x", "60", "60/", "1/0s", "200000/1s"] {
            #expect(try machine.ctl("category", "set", "api", "--rate", wrong).status == 5, "\(wrong)")
        }
        #expect(try machine.ctl("category", "set", "api", "--capacity", "many").status == 2)
    }
}
