import Testing

@Suite struct CheckTests {
    @Test func `check finds no problems in a sound database`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        try machine.ok("wait", "\(id)")
        #expect(try machine.ok("check").out == "database OK\n")
        #expect((try machine.ok("check", "--json").object["problems"] as? [Any])?.isEmpty == true)
    }
}
