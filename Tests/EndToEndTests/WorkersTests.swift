import Testing

@Suite struct WorkersTests {
    @Test func `raising the number of workers starts more at once and zero starts nothing`() throws {
        let machine = try Machine(workers: 1)
        #expect(try machine.ok("workers").out == "1\n")
        let gate = Gate(machine)
        let first = try machine.submit("--shell", "read x < \(gate.path)")
        let second = try machine.submit("--", "true")
        try machine.await("started", of: first)
        try machine.ok("workers", "2")
        try machine.ok("wait", "\(second)")
        try machine.ok("workers", "0")
        gate.open()
        try machine.ok("wait", "\(first)")
        let third = try machine.submit("--", "true")
        #expect(try machine.stateOf(third) == "ready")
        #expect(try machine.ok("status", "--json").object["workers"] as? Int == 0)
        try machine.ok("workers", "1")
        try machine.ok("wait", "\(third)")
        #expect(try machine.ctl("workers", "-1").status == 2)
        #expect(try machine.ctl("workers", "many").status == 2)
    }
}
