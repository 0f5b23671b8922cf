import Testing

@Suite struct BarrierTests {
    @Test func `nothing passes a barrier`() throws {
        let machine = try Machine(workers: 4)
        let before = try machine.submit("--", "sleep", "600")
        let barrier = try machine.submit("--barrier", "--", "true")
        let after = try machine.submit("--", "true")
        try machine.await("started", of: before)
        #expect(try machine.stateOf(barrier) == "pending")
        #expect(try machine.stateOf(after) == "pending")
        let why = try #require(try machine.ok("why", "\(after)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.first?["kind"] as? String == "barrier")
        #expect(why.first?["ids"] as? [Int] == [barrier])
        try machine.ok("cancel", "\(before)")
        #expect(try machine.ctl("wait", "\(barrier)", "\(after)", "--timeout", "20s").status == 0)
    }
}
