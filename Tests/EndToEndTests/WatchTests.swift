import Glibc
import Testing

@Suite struct WatchTests {
    @Test func theStreamHasNoGapAndReplaysFromAnySequence() throws {
        let machine = try Machine()
        let ids = try (0..<5).map { _ in try machine.submit("--", "true") }
        try machine.ok("wait", "--all")
        let watch = try machine.begin(["watch", "--since", "0", "--json"])
        try machine.await("finished", of: ids[4])
        let last = try #require(try machine.ok("status", "--json").object["lastSeq"] as? Int)
        while !watch.outSoFar.contains("\"seq\":\(last)") { try #require(kill(watch.pid, 0) == 0) }
        watch.signal(SIGTERM)
        let events = try watch.wait().objects
        #expect(events.compactMap { $0["seq"] as? Int } == Array(1...last))
        let ofFirst = events.filter { $0["id"] as? Int == ids[0] }.compactMap { $0["type"] as? String }
        #expect(ofFirst == ["submitted", "ready", "started", "finished"])
    }
}
