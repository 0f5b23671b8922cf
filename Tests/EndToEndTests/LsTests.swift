import Testing

@Suite struct LsTests {
    static let keys = [
        "id", "name", "graph", "queue", "state", "outcome", "cause", "command", "priority", "effectivePriority",
        "attempt",
        "run", "exitCode", "signal", "cancelling", "frozen", "held", "dependencies", "categories", "labels", "user",
        "producedBy", "group", "progress", "statusText", "submittedAt", "readyAt", "startedAt", "finishedAt", "usage",
    ]

    @Test func `ls and show print every documented key`() throws {
        let machine = try Machine()
        let id = try machine.submit("--name", "one", "--category", "db", "--label", "team=x", "--", "true")
        try machine.ok("wait", "\(id)")
        for row in [try machine.ok("ls", "--json").object, try machine.show(id)] {
            for key in Self.keys { #expect(row[key] != nil, "\(key) is missing") }
            #expect(row["command"] as? [String] == ["true"])
            #expect((row["submittedAt"] as? String)?.hasSuffix("Z") == true)
            #expect((row["categories"] as? [[String: Any]])?.first?["name"] as? String == "db")
        }
    }

    @Test func `each option of ls selects its operations`() throws {
        let machine = try Machine()
        let good = try machine.submit("--label", "kind=a", "--", "true")
        let bad = try machine.submit("--label", "kind=b", "--", "false")
        let held = try machine.submit("--hold", "--queue", "main", "--", "true")
        _ = try machine.ctl("wait", "\(good)", "\(bad)")
        func ids(_ arguments: String...) throws -> [Int] {
            try machine.begin(["ls", "--json"] + arguments).wait().objects.compactMap { $0["id"] as? Int }
        }
        #expect(try ids("--outcome", "failed") == [bad])
        #expect(try ids("--state", "finished") == [good, bad])
        #expect(try ids("--queue", "main") == [held])
        #expect(try ids("--label", "kind=a") == [good])
        #expect(try ids("1-2") == [good, bad])
        let later = try machine.submit("--at", "tomorrow 06:00", "--", "true")
        #expect(try ids("-s", "held") == [held])
        #expect(try ids("-s", "scheduled") == [later])
        #expect(try ids("-s", "failed") == [bad])
        #expect(try ids("-s", "ready,failed") == [bad, held, later])
        #expect(try ids("-s", "waiting", "-s", "succeeded") == [good, held, later])
        #expect(try ids("--active") == [held, later])
        #expect(try ids("--outcome", "failed,succeeded") == [good, bad])
        let list = try machine.ok("ls").out
        #expect(list.contains("scheduled") && list.contains("06:00:00"), "\(list)")
        let counts = try #require(try machine.ok("status", "--json").object["counts"] as? [String: Int])
        #expect(counts == ["pending": 0, "ready": 0, "scheduled": 1, "held": 1, "executing": 0, "finished": 2])
        #expect(try machine.ok("status").out.contains("1 scheduled, 1 held"))
        try machine.ok("set", "\(later)", "--not-before", "none")
        try machine.ok("resume", "\(held)")
        try machine.ok("wait", "--active")
        #expect(try ids("--active").isEmpty)
    }

    @Test func `without a selection the unfinished and the newest fifty of the finished are listed`() throws {
        let machine = try Machine()
        let old = try machine.submit("--hold", "--", "true")
        try machine.ok("submit", "--array", "1-60", "--", "true")
        try machine.ok("wait", "--queue", "default", "2-61")
        let ids = try machine.ok("ls", "--json").objects.compactMap { $0["id"] as? Int }
        #expect(ids.first == old && ids.count == 51 && ids.last == 61, "\(ids)")
        #expect(try machine.ok("ls", "-a", "--json").objects.count == 61)
    }
}
