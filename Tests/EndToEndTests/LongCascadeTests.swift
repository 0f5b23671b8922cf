import Testing

/// The end of one operation decides thousands of other operations.
@Suite struct LongCascadeTests {
    private func counts(_ machine: Machine) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for row in try machine.ok("ls", "-a", "--json").objects {
            counts[row["outcome"] as? String ?? "none", default: 0] += 1
        }
        return counts
    }

    /// The runner holds the next operation of the chain, staged for the success of the one that fails.
    @Test func `a failure in a long chain of short operations skips the rest of it`() throws {
        let machine = try Machine(workers: 2)
        let failing = 200
        let count = 3000
        let operations = (0..<count).map { place in
            let after = place > 0 ? #","after":["n\#(place - 1)"]"# : ""
            return #"{"name":"n\#(place)","command":["\#(place == failing ? "false" : "true")"]\#(after)}"#
        }
        let graph = try machine.graph("[" + operations.joined(separator: ",") + "]")
        _ = try machine.ctl("wait", "--graph", graph, "--timeout", "60s")
        #expect(try counts(machine) == ["succeeded": failing, "failed": 1, "skipped": count - failing - 1])
        #expect(try machine.show(failing + 2)["cause"] as? String == machine.show(count)["cause"] as? String)
        #expect(try machine.ok("check").status == 0)
    }

    @Test func `others are served while the success of one operation skips thousands`() throws {
        let machine = try Machine(workers: 2)
        let first = try machine.submit("--completion", "notify", "--", "true")
        let count = 20_000
        let edge = #"{"command":["true"],"after":[{"op":\#(first),"when":"failed"}]}"#
        _ = try machine.graph("[" + Array(repeating: edge, count: count).joined(separator: ",") + "]")
        let other = try machine.submit("--", "true")
        try machine.ok("finish", "\(first)")
        #expect(try machine.ok("status", "--json").object["state"] != nil)
        #expect(try machine.ctl("wait", "\(other)", "\(first)", "--timeout", "60s").status == 0)
        #expect(try counts(machine) == ["succeeded": 2, "skipped": count])
        let last = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "\(last)", "--timeout", "20s").status == 0)
    }
}
