import Testing

@Suite struct TellTests {
    @Test func `an operation tells progress, status, result and end`() throws {
        let machine = try Machine()
        let opsctl = Machine.programs + "/opsctl"
        let id = try machine.submit(
            "--name", "trainer", "--completion", "notify", "--shell",
            "\(opsctl) tell --progress 3/9 --status 'epoch 3' --result weights && \(opsctl) tell --done && sleep 600")
        let next = try machine.submit("--after", "\(id)", "--shell", "echo got $OPS_RESULT_TRAINER")
        #expect(try machine.ctl("wait", "\(next)", "--timeout", "20s").status == 0)
        let row = try machine.show(id)
        #expect(row["statusText"] as? String == "epoch 3" && row["result"] as? String == "weights")
        #expect((row["progress"] as? [String: Any])?["total"] as? Int == 9)
        #expect(try machine.ok("log", "\(next)").out == "got weights\n")
        let failed = try machine.submit("--completion", "notify", "--shell", "\(opsctl) tell --failed; sleep 600")
        #expect(try machine.ctl("wait", "\(failed)", "--timeout", "20s").status == 1)
        #expect(try machine.ctl("tell", "--done").status == 5, "not inside an operation")
        #expect(try machine.ctl("tell").status == 2)
        #expect(try machine.ctl("tell", "--progress", "x").status == 2)
    }
}
