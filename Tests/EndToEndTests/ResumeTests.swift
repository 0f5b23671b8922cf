import Testing

@Suite struct ResumeTests {
    /// The daemon, queues, graphs and operations each have a flag of their own.
    @Test func `resume clears the flag of the named level and no other`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "slow")
        let graph = try machine.graph(
            #"{"operations": [{"name": "a", "command": ["true"], "queue": "slow", "held": true}]}"#)
        try machine.ok("suspend")
        try machine.ok("suspend", "--queue", "slow")
        try machine.ok("suspend", "--graph", graph)
        func flags() throws -> [String] {
            let reasons = try machine.ok("why", "a", "--json").object["waitingFor"] as? [[String: Any]] ?? []
            return reasons.compactMap { $0["kind"] as? String }.sorted()
        }
        #expect(try flags() == ["held", "suspended", "suspended", "suspended"])
        try machine.ok("resume", "--queue", "slow")
        #expect(try flags() == ["held", "suspended", "suspended"])
        try machine.ok("resume", "a")
        #expect(try flags() == ["suspended", "suspended"])
        try machine.ok("resume")
        #expect(try flags() == ["suspended"])
        try machine.ok("resume", "--graph", graph)
        try machine.ok("wait", "a")
    }
}
