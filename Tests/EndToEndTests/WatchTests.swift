import Glibc
import Testing

@Suite struct WatchTests {
    @Test func `a watch from now on survives a restart`() throws {
        let machine = try Machine()
        let watch = try machine.begin(["watch", "--json"])
        // Events before the watcher connects are not sent, so operations are submitted until it sees one.
        try watch.until { seen in
            try machine.ok("wait", "\(try machine.submit("--", "true"))")
            return !seen.isEmpty
        }
        try machine.killDaemon()
        try machine.start()
        let after = try machine.submit("--", "true")
        try machine.ok("wait", "\(after)")
        try watch.until { $0.contains("\"id\":\(after),") && $0.hasSuffix("\n") }
        watch.signal(SIGTERM)
        let seen = try watch.wait().objects.compactMap { $0["seq"] as? Int }
        let first = try #require(seen.first)
        #expect(seen == Array(first..<(first + seen.count)))
    }

    @Test(arguments: [
        (["status", "--watch", "--json"], "\"held\":1"), (["ls", "--watch", "--json"], "\"name\":\"later\""),
        (["top", "--json"], "\"name\":\"later\""),
    ])
    func `a view that is printed after every change survives a restart`(words: [String], sign: String) throws {
        let machine = try Machine()
        try machine.ok("wait", "\(try machine.submit("--", "true"))")
        let view = try machine.begin(words)
        try view.until { $0.hasSuffix("\n") }
        try machine.killDaemon()
        try machine.start()
        _ = try machine.submit("--hold", "--name", "later", "--", "true")
        try view.until { $0.contains(sign) }
        view.signal(SIGTERM)
        #expect(try view.wait().status == 128 + SIGTERM)
    }

    @Test func `the event stream has no gap and can be read from any sequence number`() throws {
        let machine = try Machine()
        let ids = try (0..<5).map { _ in try machine.submit("--", "true") }
        try machine.ok("wait", "--all")
        let watch = try machine.begin(["watch", "--since", "0", "--json"])
        try machine.await("finished", of: ids[4])
        let last = try #require(try machine.ok("status", "--json").object["lastSeq"] as? Int)
        try watch.until { $0.contains("\"seq\":\(last)") }
        watch.signal(SIGTERM)
        let events = try watch.wait().objects
        #expect(events.compactMap { $0["seq"] as? Int } == Array(1...last))
        let ofFirst = events.filter { $0["id"] as? Int == ids[0] }.compactMap { $0["type"] as? String }
        #expect(ofFirst == ["submitted", "ready", "started", "finished"])
    }

    @Test func `people see the name, and why an operation did not succeed`() throws {
        let machine = try Machine()
        let broken = try machine.submit("--name", "broken", "--shell", "exit 3")
        let next = try machine.submit("--name", "next", "--after", "\(broken)", "--", "true")
        _ = try machine.ctl("wait", "\(next)")
        let watch = try machine.begin(["watch", "--since", "0"])
        try watch.until { text in
            text.split(separator: "\n").contains { $0.contains("\(next)@") && $0.contains("next  skipped") }
        }
        watch.signal(SIGTERM)
        let lines = try watch.wait().lines
        #expect(lines.contains { $0.contains("\(broken)@g1  broken  started") }, "\(lines)")
        #expect(lines.contains { $0.contains("broken  failed") && $0.contains("exit status 3") }, "\(lines)")
        #expect(lines.contains { $0.contains("next  skipped") && $0.contains("broken") }, "\(lines)")
    }
}
