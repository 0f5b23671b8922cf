import Testing

@Suite struct HelpTests {
    @Test func everyVerbOfTheOverviewHasAPageWithAnExample() throws {
        let machine = try Machine(start: false)
        let verbs = try machine.ok("help").lines.filter { $0.hasPrefix("  ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
            .filter { $0.allSatisfy(\.isLowercase) && $0 != "opsctl" }
        #expect(verbs.count > 25)
        for verb in verbs {
            let page = try machine.ok("help", verb).out
            #expect(page.hasPrefix("opsctl \(verb): "))
            #expect(page == (try machine.ok(verb, "--help").out))
            if verb != "version" { #expect(page.contains("Examples"), "\(verb)") }
        }
        try machine.start()
    }

    @Test func aMistypedVerbIsSuggested() throws {
        let machine = try Machine(start: false)
        let output = try machine.ctl("help", "sumbit")
        #expect(output.status == 2 && output.err.contains("submit"), "\(output.err)")
        #expect(try machine.ctl().status == 2)
        try machine.start()
    }
}
