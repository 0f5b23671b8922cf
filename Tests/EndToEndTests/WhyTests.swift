import Testing

@Suite struct WhyTests {
    private func kinds(_ id: Int, _ machine: Machine) throws -> [String] {
        let output = try machine.begin(["why", "\(id)", "--json"]).wait()
        try #require(output.status == 0, "\(output.err)")
        let reply = try output.object
        #expect(Set(reply.keys) == ["id", "state", "waitingFor"])
        let reasons = try #require(reply["waitingFor"] as? [[String: Any]])
        for reason in reasons { #expect(Set(reason.keys) == ["kind", "text", "ids"]) }
        return reasons.compactMap { $0["kind"] as? String }
    }

    @Test func everyKindThatKeepsAnOperationIsNamed() throws {
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

    @Test func aConditionIsNamedByWhatItAsks() throws {
        let machine = try Machine()
        let id = try machine.submit("--condition", "wait:pathExists=/nowhere/x", "--", "true")
        try machine.await("conditionFalse", of: id)
        #expect(
            try machine.ok("why", "\(id)").out.contains(
                "condition 1 (pathExists /nowhere/x) is false; evaluated again at"))
    }

    @Test func whatIfAnswersFromACopy() throws {
        let machine = try Machine()
        // Without a runner nothing would start.
        try machine.ok("wait", "\(try machine.submit("--", "true"))")
        let held = try machine.submit("--hold", "--", "true")
        let later = try machine.submit("--after-finished", "\(held)", "--", "true")
        #expect(try kinds(later, machine) == ["dependency"])
        let answer = try machine.ok("why", "\(later)", "--json", "--what-if", "cancel \(held)").object
        #expect(answer["state"] as? String == "executing", "it would start")
        #expect(try machine.stateOf(held) == "ready", "nothing was done")
    }

    @Test func whatIsOverWaitsForNothing() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        try machine.ok("wait", "\(id)")
        #expect(try kinds(id, machine) == [])
        #expect(try machine.ok("why", "\(id)").out == "\(id) is finished and waits for nothing\n")
        #expect(try machine.ctl("why", "99").status == 4)
        #expect(try machine.ctl("why").status == 2)
    }

    @Test func whatCannotBeDoneIsNoWhatIf() throws {
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
