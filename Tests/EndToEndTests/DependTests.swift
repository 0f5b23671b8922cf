import Testing

@Suite struct DependTests {
    @Test func edgesAreEditedWhileWaiting() throws {
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
        #expect(try machine.ctl("depend", "\(b)", "--on", "99").status == 4)
    }

    @Test func everyWayOfWaiting() throws {
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
