import Testing

@Suite struct SignalTests {
    @Test func `a signal reaches the processes of an operation`() throws {
        let machine = try Machine()
        let gate = Gate(machine, "ready")
        let id = try machine.submit(
            "--shell", "trap 'echo caught; exit 0' USR1; read x < \(gate.path); while :; do sleep 0.05; done")
        try machine.await("started", of: id)
        gate.open()
        try machine.ok("signal", "\(id)", "USR1")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 0)
        #expect(try machine.ok("log", "\(id)").out.contains("caught"))
        #expect(try machine.ctl("signal", "\(id)", "USR1").status == 5, "it has ended")
        #expect(try machine.ctl("signal", "\(id)", "USR7").status == 2)
        #expect(try machine.ctl("signal", "77", "TERM").status == 4)
    }
}
