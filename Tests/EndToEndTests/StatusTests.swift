import Testing

@Suite struct StatusTests {
    @Test func `status prints every documented key`() throws {
        let machine = try Machine(workers: 3)
        let status = try machine.ok("status", "--json").object
        for key in ["version", "pid", "runnerPid", "state", "suspended", "workers", "counts", "queues", "lastSeq"] {
            #expect(status[key] != nil, "\(key) is missing")
        }
        #expect(status["state"] as? String == "running")
        #expect(status["workers"] as? Int == 3)
        #expect(
            (status["queues"] as? [[String: Any]])?.compactMap { $0["name"] as? String }.sorted() == [
                "default", "main",
            ])
    }
}
