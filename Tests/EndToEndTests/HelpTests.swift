import Foundation
import Testing

@Suite struct HelpTests {
    @Test func `every verb of the overview has a help page with an example`() throws {
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

    @Test func `the manual is written to the given directory`() throws {
        let machine = try Machine(start: false)
        let place = machine.state + "/made/for/it"
        try machine.ok("man", place)
        let pages = try FileManager.default.contentsOfDirectory(atPath: place + "/man1")
        #expect(pages.contains("opsctl.1") && pages.contains("opsctl-submit.1") && pages.count > 25)
        let refused = try machine.ctl("man", "/dev/null")
        #expect(refused.status == 1 && refused.err.hasSuffix("Not a directory\n"), "\(refused.err)")
        try machine.start()
    }

    @Test func `the nearest verb is suggested for a mistyped one`() throws {
        let machine = try Machine(start: false)
        let output = try machine.ctl("help", "sumbit")
        #expect(output.status == 2 && output.err.contains("submit"), "\(output.err)")
        #expect(try machine.ctl().status == 2)
        try machine.start()
    }
}
