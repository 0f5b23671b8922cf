import Testing

@Suite struct ShowTests {
    @Test func dependenciesAndCausesAreNamed() throws {
        let machine = try Machine()
        let build = try machine.submit("--name", "build", "--", "false")
        let test = try machine.submit("--name", "test", "--after", "build", "--", "true")
        // Submitted when the other has already been skipped, and is known to the store alone.
        #expect(try machine.ctl("wait", "\(test)").status == 1)
        let deploy = try machine.submit("--after", "\(test)", "--", "true")
        #expect(try machine.ctl("wait", "--all").status == 1)
        #expect(try machine.show("build")["cause"] as? String == "exit status 1")
        let skipped = try machine.show(deploy)
        #expect(skipped["outcome"] as? String == "skipped")
        #expect(skipped["cause"] as? String == "dependency \(build) (build) failed", "the ROOT cause")
        let edge = try #require((skipped["dependencies"] as? [[String: Any]])?.first)
        #expect(edge["id"] as? Int == test)
        #expect(edge["satisfied"] as? Bool == false)
    }

    @Test func theUnknownIsFour() throws {
        let machine = try Machine()
        #expect(try machine.ctl("show", "99").status == 4)
        #expect(try machine.ctl("show", "nobody").status == 4)
    }
}
