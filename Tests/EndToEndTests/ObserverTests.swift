import Foundation
import Testing

@Suite struct ObserverTests {
    @Test func observersGetTheEventOnStandardInput() throws {
        let machine = try Machine()
        let seen = machine.state + "/seen"
        _ = try machine.graph(
            """
            {"operations": [{"name": "watched", "command": ["true"],
              "observers": {"finish": ["sh", "-c", "cat > \(seen).new; mv \(seen).new \(seen)"]}}]}
            """)
        #expect(try machine.ctl("wait", "watched", "--timeout", "20s").status == 0)
        let end = Date().addingTimeInterval(20)
        while !FileManager.default.fileExists(atPath: seen) { try #require(Date() < end, "the observer did not run") }
        let event =
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: seen))) as? [String: Any]
        #expect(event?["type"] as? String == "finished")
        #expect(event?["id"] as? Int == 1)
    }
}
