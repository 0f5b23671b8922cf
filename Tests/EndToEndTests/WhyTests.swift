import Foundation
import Testing

@Suite struct WhyTests {
    private func kinds(_ id: Int, _ machine: Machine) throws -> [String] {
        let output = try machine.begin(["why", "\(id)", "--json"]).wait()
        try #require(output.status == 0, "\(output.err)")
        let reply = try output.object
        #expect(Set(reply.keys) == ["id", "state", "outcome", "waitingFor"])
        let reasons = try #require(reply["waitingFor"] as? [[String: Any]])
        for reason in reasons { #expect(Set(reason.keys) == ["kind", "text", "ids", "at"]) }
        return reasons.compactMap { $0["kind"] as? String }
    }

    @Test func `why names every kind of obstacle`() throws {
        let machine = try Machine(workers: 1)
        let gate = Gate(machine)
        let first = try machine.submit("--category", "db", "--shell", "read x < \(gate.path)")
        try machine.await("started", of: first)
        #expect(try kinds(machine.submit("--", "true"), machine) == ["pool"])
        #expect(try kinds(machine.submit("--after", "\(first)", "--", "true"), machine) == ["dependency"])
        #expect(try kinds(machine.submit("--hold", "--", "true"), machine).contains("held"))
        #expect(try kinds(machine.submit("--delay", "1h", "--", "true"), machine).contains("notBefore"))
        #expect(try kinds(machine.submit("--category", "db", "--", "true"), machine).contains("category"))
        try machine.ok("queue", "add", "closed", "--limit", "0")
        #expect(try kinds(machine.submit("--queue", "closed", "--", "true"), machine).contains("queue"))
        try machine.ok("suspend", "--queue", "closed")
        #expect(try kinds(machine.submit("--queue", "closed", "--", "true"), machine).contains("suspended"))
        #expect(try kinds(machine.submit("--queue", "main", "--barrier", "--", "true"), machine) == ["pool"])
        #expect(try kinds(machine.submit("--queue", "main", "--", "true"), machine) == ["barrier"])
        gate.open()
    }

    @Test func `why describes the condition that is false`() throws {
        let machine = try Machine()
        let id = try machine.submit("--condition", "wait:pathExists=/nowhere/x", "--", "true")
        try machine.await("conditionFalse", of: id)
        #expect(
            try machine.ok("why", "\(id)").out.contains(
                "condition 1 (pathExists /nowhere/x) is false; evaluated again at"))
    }

    @Test func `what-if answers from a copy and changes nothing`() throws {
        let machine = try Machine()
        // Waits for the runner, without which nothing would start.
        try machine.ok("wait", "\(try machine.submit("--", "true"))")
        let held = try machine.submit("--hold", "--", "true")
        let later = try machine.submit("--after-finished", "\(held)", "--", "true")
        #expect(try kinds(later, machine) == ["dependency"])
        let answer = try machine.ok("why", "\(later)", "--json", "--what-if", "cancel \(held)").object
        #expect(answer["state"] as? String == "executing", "it would start")
        #expect(try machine.stateOf(held) == "ready", "nothing was done")
    }

    @Test func `what-if names the outcome that an operation would have`() throws {
        let machine = try Machine()
        let held = try machine.submit("--hold", "--", "true")
        let later = try machine.submit("--after", "\(held)", "--", "true")
        let answer = try machine.ok("why", "\(later)", "--json", "--what-if", "cancel \(held)").object
        #expect(answer["state"] as? String == "finished" && answer["outcome"] as? String == "skipped")
        #expect(try machine.ok("why", "\(later)", "--what-if", "cancel \(held)").out == "\(later) would be skipped\n")
        #expect(
            try machine.ok("why", "\(later)", "--what-if", "cancel \(later)").out == "\(later) would be cancelled\n")
        #expect(try machine.ok("why", "\(later)", "--json").object["outcome"] is NSNull)
    }

    @Test func `why gives no obstacle for a finished operation`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        try machine.ok("wait", "\(id)")
        #expect(try kinds(id, machine) == [])
        #expect(try machine.ok("why", "\(id)").out.hasPrefix("\(id) succeeded at "))
        #expect(try machine.ctl("why", "99").status == 4)
        #expect(try machine.ctl("why").status == 2)
    }

    @Test func `the end of a finished operation is explained by its cause`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            #"{"operations": [{"name": "build", "shell": "exit 3"}, "#
                + #"{"name": "test", "command": ["true"], "after": ["build"]}, "#
                + #"{"name": "alarm", "command": ["true"], "after": [{"op": "test", "when": "failed"}]}]}"#)
        _ = try machine.ctl("wait", "--all")
        let lines = try machine.ok("why", "1-3").lines
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("1 (build) failed at ") && lines[0].hasSuffix(": exit status 3"))
        #expect(lines[1].hasPrefix("2 (test) was skipped at ") && lines[1].hasSuffix("1 (build) failed"))
        #expect(lines[2].hasPrefix("3 (alarm) succeeded at "))
    }

    @Test func `ranges and several operations are explained one by one`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        for name in ["a", "b", "c", "d"] { _ = try machine.submit("--name", name, "--hold", "--", "true") }
        let heads = try machine.ok("why", "1-2", "d").lines.filter { !$0.hasPrefix(" ") }
        #expect(
            heads == ["1 (a) is ready:", "2 (b) is ready:", "4 (d) is ready:"])
        #expect(try machine.ok("why", "--json", "1,3").lines.count == 2)
        let nothing = try machine.ctl("why", "7-9")
        #expect(nothing.status == 4 && nothing.err.contains("no operation in 7-9"), "\(nothing.err)")
    }

    @Test func `why refuses a what-if that cannot be done`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        for words in [
            "workers -1", "limit nowhere 3", "capacity gpu -1", "priority \(id) 101", "finish \(id)", "dance",
        ] {
            let refusal = try machine.ctl("why", "\(id)", "--what-if", words)
            #expect([4, 5].contains(refusal.status), "\(words)")
        }
        #expect(try machine.ctl("why", "\(id)", "--what-if", "workers 0; priority \(id) -100").status == 0)
    }
}
