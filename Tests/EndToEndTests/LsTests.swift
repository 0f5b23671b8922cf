import Testing

@Suite struct LsTests {
    static let keys = [
        "id", "name", "graph", "queue", "state", "outcome", "cause", "command", "priority", "effectivePriority",
        "attempt",
        "run", "exitCode", "signal", "cancelling", "frozen", "held", "dependencies", "categories", "labels", "user",
        "producedBy", "group", "progress", "statusText", "submittedAt", "readyAt", "startedAt", "finishedAt", "usage",
    ]

    @Test func everyKeyOfTheContractIsThereInLsAndShow() throws {
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

    @Test func selectionsMeanWhatTheySay() throws {
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
    }
}
