import Foundation
import Testing

@Suite struct ObserverTests {
    @Test func observersGetTheEventOnStandardInput() throws {
        let machine = try Machine()
        let seen = machine.state + "/seen"
        _ = try machine.graph(
            """
            {"operations": [{"name": "watched", "command": ["true"],
              "observers": {"finish": ["sh", "-c", "cat > \(seen).new; echo $OPS_ATTEMPT > \(seen).attempt; mv \(seen).new \(seen)"]}}]}
            """)
        #expect(try machine.ctl("wait", "watched", "--timeout", "20s").status == 0)
        try waitUntil("the observer did not run") { FileManager.default.fileExists(atPath: seen) }
        let event =
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: seen))) as? [String: Any]
        #expect(event?["type"] as? String == "finished")
        #expect(event?["id"] as? Int == 1)
        #expect(try String(contentsOfFile: seen + ".attempt", encoding: .utf8) == "1\n")
    }

    @Test func theEventIsTheOneThatWatchersSee() throws {
        let machine = try Machine()
        let seen = machine.state + "/seen"
        let id = try machine.submit("--hold", "--observer", "finish=cat > \(seen).new; mv \(seen).new \(seen)", "true")
        try machine.ok("cancel", "\(id)", "--reason", "not today")
        try waitUntil("the observer did not run") { FileManager.default.fileExists(atPath: seen) }
        let event = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: seen))) as? [String: Any])
        #expect(event["old"] as? String == "ready")
        #expect(event["new"] as? String == "finished")
        #expect(event["outcome"] as? String == "cancelled")
        #expect((event["detail"] as? String)?.hasSuffix(": not today") == true)
        let seq = try #require(event["seq"] as? Int)
        let watch = try machine.begin(["watch", "--json", "--since", "\(seq - 1)"])
        defer {
            watch.signal(SIGTERM)
            _ = try? watch.wait(seconds: 10)  // killed by us: its status says nothing
        }
        try watch.until { $0.contains("\n") }
        #expect(watch.outSoFar.hasPrefix("{\"seq\":\(seq),\"at\":\"\(try #require(event["at"] as? String))\""))
        #expect(watch.outSoFar.contains("\"type\":\"finished\""))
    }
}
