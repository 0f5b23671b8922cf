import Foundation
import Testing

@Suite struct QueueTests {
    @Test func `the limit of a queue can be changed while operations wait`() throws {
        let machine = try Machine(workers: 4)
        // Until there is a runner, every operation waits for that as well.
        try machine.ok("run", "--", "true")
        try machine.ok("queue", "add", "io", "--limit", "0")
        let ids = try (0..<3).map { _ in try machine.submit("--queue", "io", "--", "sleep", "600") }
        let why = try #require(try machine.ok("why", "\(ids[0])", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["queue"])
        try machine.ok("queue", "set", "io", "--limit", "2")
        try machine.await("started", of: ids[1])
        #expect(try machine.stateOf(ids[2]) == "ready")
        try machine.ok("queue", "set", "io", "--limit", "none")
        try machine.await("started", of: ids[2])
        let row = try #require(try machine.ok("queue", "ls", "--json").objects.first { $0["name"] as? String == "io" })
        #expect(row["limit"] is NSNull || row["limit"] == nil)
        #expect(row["executing"] as? Int == 3)
        #expect(try machine.ctl("queue", "rm", "io").status == 5, "not empty")
        try machine.ok("cancel", "--queue", "io")
        _ = try machine.ctl("wait", "--queue", "io", "--timeout", "20s")
        try machine.ok("queue", "rm", "io")
    }

    @Test func `held and scheduled operations are counted apart from ready ones`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        let held = try machine.submit("--hold", "--", "true")
        _ = try machine.submit("--delay", "1h", "--", "true")
        _ = try machine.submit("--", "true")
        func counts(_ queue: Int) throws -> String { try machine.ok("queue", "ls", "--json").lines[queue] }
        #expect(try counts(0).contains(#""pending":0,"ready":1,"scheduled":1,"held":1,"executing":0"#))
        #expect(try machine.ok("queue").lines[0].contains("READY  SCHEDULED  HELD  PENDING"))
        try machine.ok("set", "\(held)", "--queue", "main")
        #expect(try counts(0).contains(#""scheduled":1,"held":0"#) && counts(1).contains(#""scheduled":0,"held":1"#))
        #expect(try machine.ctl("check").status == 0)
    }

    @Test func `built-in queues can be neither removed nor changed`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("queue", "rm", "main").status == 5)
        #expect(try machine.ctl("queue", "set", "main", "--limit", "2").status == 5)
        let output = try machine.ctl("submit", "--queue", "defualt", "--", "true")
        #expect(output.status == 5 || output.status == 4)
        #expect(output.err.contains("default"))
    }

    @Test func `the main queue runs one operation at a time`() throws {
        let machine = try Machine(workers: 4)
        let first = try machine.submit("--queue", "main", "--", "sleep", "600")
        let second = try machine.submit("--queue", "main", "--", "true")
        try machine.await("started", of: first)
        #expect(try machine.stateOf(second) == "ready")
        try machine.ok("cancel", "\(first)")
        #expect(try machine.ctl("wait", "\(second)", "--timeout", "20s").status == 0)
    }

    @Test func `queues and categories are listed without a further word`() throws {
        let machine = try Machine()
        #expect(try machine.ok("queue").out == (try machine.ok("queue", "ls").out))
        #expect(try machine.ok("queue", "--json").objects.count == 2)
        try machine.ok("category", "set", "gpu", "--capacity", "2")
        #expect(try machine.ok("category", "--json").object["capacity"] as? Int == 2)
        #expect(try machine.ok("queue", "add", "q").out == "added queue q\n")
    }
}
