import Glibc
import Testing

@Suite struct DependTests {
    @Test func `dependencies of waiting operations can be edited`() throws {
        let machine = try Machine()
        let a = try machine.submit("--hold", "--", "true")
        let b = try machine.submit("--hold", "--", "true")
        try machine.ok("depend", "\(b)", "--on", "\(a)")
        #expect(try machine.stateOf(b) == "pending")
        let output = try machine.ctl("depend", "\(a)", "--on", "\(b)")
        #expect(output.status == 5)
        #expect(output.err.contains("\(a)") && output.err.contains("\(b)"), "the cycle is named")
        #expect(try machine.ctl("depend", "\(a)", "--on", "\(a)").status == 5)
        try machine.ok("depend", "\(b)", "--remove", "\(a)")
        #expect(try machine.stateOf(b) == "ready")
        let twice = try machine.ctl("depend", "\(b)", "--remove", "\(a)")
        #expect(twice.status == 4)
        let advice = "no dependency \(b) on \(a), see opsctl show \(b) for those that it has"
        #expect(twice.err.contains(advice), "\(twice.err)")
        #expect(try machine.ctl("depend", "\(b)", "--on", "99").status == 4)
    }

    @Test func `replacing a dependency in one command does not make the operation ready`() throws {
        let machine = try Machine()
        let old = try machine.submit("--hold", "--", "true")
        let new = try machine.submit("--hold", "--", "true")
        let waiting = try machine.submit("--after", "\(old)", "--", "true")
        try machine.ok("depend", "\(waiting)", "--remove", "\(old)", "--on", "\(new)")
        let edges = try #require(try machine.show(waiting)["dependencies"] as? [[String: Any]])
        #expect(edges.map { $0["id"] as? Int } == [new])
        let told = try machine.begin(["watch", "--json", "--since", "0"])
        defer {
            told.signal(SIGTERM)
            _ = try? told.wait(seconds: 10)  // killed by us: its status says nothing
        }
        try machine.ok("cancel", "\(waiting)")
        try told.until { $0.contains("\"outcome\":\"cancelled\"") }
        #expect(!told.outSoFar.contains("\"id\":\(waiting),\"graph\":\"g3\",\"type\":\"ready\""))
    }

    @Test func `an unknown name changes no dependency, and a cycle after other changes names them`() throws {
        let machine = try Machine()
        let a = try machine.submit("--hold", "--", "true")
        let b = try machine.submit("--hold", "--", "true")
        let c = try machine.submit("--hold", "--after", "\(b)", "--", "true")
        func edges() throws -> [Int] {
            try #require(try machine.show(b)["dependencies"] as? [[String: Any]]).compactMap { $0["id"] as? Int }
        }
        #expect(try machine.ctl("depend", "\(b)", "--on", "\(a)", "--remove", "nosuch").status == 4)
        #expect(try edges().isEmpty)
        let output = try machine.ctl("depend", "\(b)", "--on", "\(a),\(c)")
        #expect(output.status == 5)
        #expect(output.err.hasPrefix("opsctl: depend: added \(a), then: dependencies form a cycle"), "\(output.err)")
        #expect(try edges() == [a])
    }

    @Test func `a dependency that is met can be removed once`() throws {
        let machine = try Machine()
        let met = try machine.submit("--", "true")
        let open = try machine.submit("--hold", "--", "true")
        let last = try machine.submit("--after", "\(met),\(open)", "--", "true")
        #expect(try machine.ctl("wait", "\(met)", "--timeout", "20s").status == 0)
        try machine.ok("depend", "\(last)", "--remove", "\(met)")
        let left = try #require(try machine.show(last)["dependencies"] as? [[String: Any]])
        #expect(left.compactMap { $0["id"] as? Int } == [open])
        #expect(try machine.stateOf(last) == "pending")
        let again = try machine.ctl("depend", "\(last)", "--remove", "\(met)")
        #expect(again.status == 4 || again.status == 5)
        #expect(again.err.contains("\(met)"), "what is not there is named")
    }

    @Test func `dependents wait for success, failure or any end`() throws {
        let machine = try Machine()
        let bad = try machine.submit("--name", "bad", "--", "false")
        let failed = try machine.submit("--after-failed", "bad", "--", "true")
        let finished = try machine.submit("--after-finished", "bad", "--", "true")
        let good = try machine.submit("--after", "bad", "--", "true")
        _ = try machine.ctl("wait", "--all", "--timeout", "20s")
        #expect(try machine.outcome(bad) == "failed")
        #expect(try machine.outcome(failed) == "succeeded")
        #expect(try machine.outcome(finished) == "succeeded")
        #expect(try machine.outcome(good) == "skipped")
    }
}
