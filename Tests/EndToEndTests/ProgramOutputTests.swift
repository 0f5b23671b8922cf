import Testing

/// Output for programs: with `--json` every verb prints objects, one per line.
@Suite struct ProgramOutputTests {
    @Test func `verbs that change something print a confirmation`() throws {
        let machine = try Machine()
        let waiting = try machine.submit("--hold", "--", "true")
        let other = try machine.submit("--hold", "--", "true")
        let asked = try machine.submit("--completion", "notify", "--", "true")
        try machine.await("started", of: asked)
        try machine.ok("queue", "add", "q")
        for words in [
            ["depend", "\(waiting)", "--on", "\(other)"], ["depend", "\(waiting)", "--remove", "\(other)"],
            ["note", "\(waiting)", "later"], ["set", "\(waiting)", "--priority", "4"], ["resume", "\(other)"],
            ["finish", "\(asked)"], ["queue", "rm", "q"], ["cancel", "\(waiting)"],
        ] {
            let output = try machine.begin(words + ["--json"]).wait()
            #expect(output.status == 0, "\(words): \(output.err)")
            #expect(try output.objects.first?["touched"] as? Int == 1, "\(words): \(output.out)")
        }
        #expect(try machine.ok("workers", "5", "--json").object["workers"] as? Int == 5)
    }
}
