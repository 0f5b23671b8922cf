import Testing

@Suite struct VersionTests {
    @Test func `all programs have the same version`() throws {
        let machine = try Machine()
        let version = try #require(try machine.ok("version", "--json").object["version"] as? String)
        #expect(try machine.ok("version").out == "opsctl \(version)\n")
        #expect(try machine.ok("--version").out == "opsctl \(version)\n")
        #expect(try machine.ok("status", "--json").object["version"] as? String == version)
    }
}
