import Foundation
import Testing

@Suite struct ObserverTests {
    @Test func `observers get the event on standard input`() throws {
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

    @Test func `observers get the same event as watchers`() throws {
        let machine = try Machine()
        let seen = machine.state + "/seen"
        let keep = "cat > \(seen).new; mv \(seen).new \(seen)"
        let id = try machine.submit("--hold", "--observer", "finish=\(keep)", "true")
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
        let line = try #require(watch.outSoFar.split(separator: "\n").first)
        var printed = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(printed["type"] as? String == "finished")
        #expect(printed["detail"] is NSNull)
        printed["detail"] = event["detail"]
        func text(_ object: [String: Any]) throws -> String {
            let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
            return String(decoding: data, as: UTF8.self)
        }
        #expect(try text(event) == text(printed))
    }

    @Test func `a word of an observer stays one word beside an observer of the daemon`() throws {
        let machine = try Machine(start: false)
        let (seen, mark) = (machine.state + "/seen", machine.state + "/mark")
        try "on-finish = true\n".write(toFile: machine.state + "/opsd.conf", atomically: true, encoding: .utf8)
        try machine.start(["--config", machine.state + "/opsd.conf"])
        let word = "'\u{301}; touch \(mark); '\u{301}"
        let script = #"printf %s \"$1\" > \#(seen).new; mv \#(seen).new \#(seen)"#
        _ = try machine.graph(
            #"""
            {"operations": [{"name": "watched", "command": ["true"],
              "observers": {"finish": ["sh", "-c", "\#(script)", "sh", "\#(word)"]}}]}
            """#)
        try waitUntil("the observer did not run") { FileManager.default.fileExists(atPath: seen) }
        #expect(FileManager.default.contents(atPath: seen) == Data(word.utf8))
        #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test func `a failure runs the observers of failures, of the operation and of the daemon`() throws {
        let machine = try Machine(start: false)
        let told = machine.state + "/told"
        try "on-failure = echo \"daemon $OPS_ID\" >> \(told)\non-finish = echo \"all $OPS_ID\" >> \(told)\n".write(
            toFile: machine.state + "/opsd.conf", atomically: true, encoding: .utf8)
        try machine.start(["--config", machine.state + "/opsd.conf"])
        let good = try machine.submit("--observer", "failed=echo own $OPS_ID >> \(told)", "--", "true")
        let bad = try machine.submit("--observer", "failed=echo own $OPS_ID >> \(told)", "--", "false")
        let skipped = try machine.submit("--after", "\(bad)", "--", "true")
        _ = try machine.ctl("wait", "\(good)", "\(bad)", "\(skipped)")
        let expected = ["all \(good)", "own \(bad)", "all \(bad)", "daemon \(bad)", "all \(skipped)"]
        let end = Date().addingTimeInterval(20)
        var lines: [String] = []
        while Set(lines) != Set(expected), Date() < end {
            lines = ((try? String(contentsOfFile: told, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
        }
        #expect(lines.sorted() == expected.sorted())
    }
}
