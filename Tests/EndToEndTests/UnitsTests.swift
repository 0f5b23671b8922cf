import Testing

@Suite struct UnitsTests {
    private func assigned(_ machine: Machine, _ id: Int) throws -> [String]? {
        let uses = try machine.show(id)["categories"] as? [[String: Any]]
        return uses?.first?["assigned"] as? [String]
    }

    private func holders(_ machine: Machine) throws -> [String: [Int]] {
        let row = try #require(
            try machine.ok("category", "ls", "--json").objects.first { $0["name"] as? String == "gpu" })
        let units = try #require(row["units"] as? [[String: Any]])
        var holders: [String: [Int]] = [:]
        for unit in units { holders[unit["name"] as? String ?? ""] = unit["holders"] as? [Int] }
        return holders
    }

    @Test func `an operation is told its units, and no restart gives them to another`() throws {
        let machine = try Machine(workers: 4)
        let gate = Gate(machine)
        #expect(
            try machine.ok("category", "set", "gpu", "--units", "0,1,2,3", "--export", "CUDA_VISIBLE_DEVICES").out
                == "category gpu has 4 units\n")
        let script = "echo units $OPS_UNITS_GPU and $CUDA_VISIBLE_DEVICES; read x < \(gate.path)"
        let first = try machine.submit("--category", "gpu", "--env", "CUDA_VISIBLE_DEVICES=9", "--shell", script)
        let second = try machine.submit("--category", "gpu:2", "--shell", script)
        try machine.await("started", of: second)
        #expect(try assigned(machine, first) == ["0"])
        #expect(try assigned(machine, second) == ["1", "2"])

        try machine.killDaemon()
        try machine.start(workers: 4)
        #expect(try holders(machine) == ["0": [first], "1": [second], "2": [second], "3": []])
        // Unit 0 drains: its holder keeps it, and the next operation gets another unit.
        try machine.ok("category", "set", "gpu", "--units", "1,2,3")
        let third = try machine.submit("--category", "gpu", "--shell", script)
        try machine.await("started", of: third)
        #expect(try assigned(machine, third) == ["3"])
        #expect(try machine.ok("category", "ls").out.contains("draining"))
        #expect(try machine.ok("show", "\(third)").out.contains("gpu: 3"))
        for _ in 0..<3 { gate.open() }
        #expect(try machine.ctl("wait", "\(first)", "\(second)", "\(third)", "--timeout", "30s").status == 0)
        #expect(try machine.ok("log", "\(first)").out == "units 0 and 0\n")
        #expect(try machine.ok("log", "\(second)").out == "units 1,2 and 1,2\n")
        #expect(try assigned(machine, second) == ["1", "2"], "what it had is still told")
        #expect(try holders(machine) == ["1": [], "2": [], "3": []])
    }

    @Test func `settings that contradict each other are refused`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("category", "set", "gpu").status == 2)
        #expect(try machine.ctl("category", "set", "gpu", "--units", "0", "--capacity", "1").status == 2)
        #expect(try machine.ctl("category", "set", "gpu", "--units", "0,0").err.contains("unit 0 is named twice"))
        #expect(try machine.ctl("category", "set", "gpu", "--units", "0,").status == 5)
        #expect(
            try machine.ctl("category", "set", "gpu", "--share", "2").err.contains("only named units can be shared"))
        #expect(try machine.ctl("category", "set", "gpu", "--units", "0", "--export", "OPS_ID").status == 5)
        #expect(
            try machine.ok("category", "set", "gpu", "--units", "0,1", "--share", "3").out
                == "category gpu has 2 units, for 3 operations each\n")
        let row = try #require(try machine.ok("category", "ls", "--json").objects.first)
        #expect(row["capacity"] as? Int == 6)
        #expect(row["share"] as? Int == 3)
        #expect(try machine.ok("category", "set", "gpu", "--units", "none").out == "category gpu has 1 unit\n")
        #expect(try holders(machine).isEmpty)
    }
}
