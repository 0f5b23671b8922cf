import Foundation
import OpsModel
import Testing

@testable import opsctl

/// Parser, help, completion and manual use one table of verbs; these tests check that table.
@Suite struct TableOfVerbsTests {
    static let verbs = VerbTable.all.flatMap { [$0] + $0.verbs }

    /// Returns the words of a command line as a shell splits them, up to the first pipe or list operator.
    private func words(_ command: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isOpen = false
        var quote: Character?
        for character in command {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "\"" || character == "'" {
                quote = character
                isOpen = true
            } else if character == " " {
                if isOpen || !word.isEmpty { words.append(word) }
                (word, isOpen) = ("", false)
            } else {
                word.append(character)
            }
        }
        if isOpen || !word.isEmpty { words.append(word) }
        return words
    }

    @Test func `every example of the help is understood`() throws {
        for verb in Self.verbs {
            for example in verb.examples {
                var line = words(example.command)
                line = Array(line[(line.firstIndex { $0.hasSuffix("opsctl") } ?? 0)...].dropFirst())
                line = Array(line.prefix { !["|", "&&", ">"].contains($0) }).map {
                    $0.hasSuffix(")") ? String($0.dropLast()) : $0
                }
                var parser = Parser(line)
                let arguments = try parser.parse()
                let names = arguments.path.split(separator: " ").map(String.init)
                #expect(names.contains(verb.name), "\(example.command)")
            }
        }
    }

    @Test func `no two options of a verb share a name or a letter`() {
        for verb in Self.verbs {
            let options = (verb.groups + [Option.everywhere]).flatMap(\.options)
            let names = options.map(\.name) + options.compactMap(\.alias)
            #expect(Set(names).count == names.count, "\(verb.name)")
            let letters = options.compactMap(\.short)
            #expect(Set(letters).count == letters.count, "\(verb.name): \(letters)")
        }
    }

    @Test func `no word of the help is wider than the column of options`() {
        for option in (Self.verbs.flatMap(\.groups) + [Option.everywhere]).flatMap(\.options) {
            #expect(option.about.split(separator: " ").allSatisfy { $0.count <= 48 }, "--\(option.name)")
        }
    }

    @Test func `every verb is found by all its names`() {
        for verb in VerbTable.all {
            for name in [verb.name] + verb.aliases { #expect(VerbTable.verb(named: name)?.name == verb.name) }
        }
        #expect(VerbTable.verb(named: "sumbit") == nil)
    }

    @Test func `every verb has an end-to-end test of its name`() {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("EndToEndTests")
        for verb in VerbTable.shown {
            let file = folder.appendingPathComponent(verb.name.capitalized + "Tests.swift")
            #expect(FileManager.default.fileExists(atPath: file.path), "\(file.lastPathComponent)")
        }
    }

    @Test func `every verb is in the code map`() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/CODEMAP.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## From a verb to a change\n").last)
            .components(separatedBy: "\n\n| source ")[0]
        let named = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|")[0].matches(of: #/`(\w+)`/#).map { String($0.output.1) }
        }
        #expect(named == VerbTable.shown.map(\.name))
    }

    @Test func `every verb has an action or verbs of its own`() {
        for verb in Self.verbs {
            // A verb with verbs of its own lists things when it is used alone.
            #expect(verb.action != nil || !verb.verbs.isEmpty, "\(verb.name)")
            #expect(!verb.summary.isEmpty && !verb.summary.hasSuffix("."), "\(verb.name)")
        }
    }

    @Test func `completion offers every verb and every option`() throws {
        var parser = Parser(["version"])
        let session = try Session(try parser.parse())
        let verbs = try #require(Candidates(session, [""]).words()).map(\.text)
        #expect(verbs == VerbTable.shown.map(\.name))
        for verb in VerbTable.shown where verb.verbs.isEmpty {
            let offered = try #require(Candidates(session, [verb.name, "--"]).words()).map(\.text)
            let known = (verb.groups + [Option.everywhere]).flatMap(\.options).map { "--" + $0.name }
            #expect(offered == known, "\(verb.name)")
        }
    }

    @Test func `completion offers known values`() throws {
        var parser = Parser(["version"])
        let session = try Session(try parser.parse())
        let states = try #require(Candidates(session, ["ls", "--state", "f"]).words()).map(\.text)
        #expect(states == ["finished", "failed", "frozen"])
        let outcomes = try #require(Candidates(session, ["submit", "--retry-on", "failed,t"]).words()).map(\.text)
        #expect(outcomes == ["failed,timedOut"])
        #expect(Candidates(session, ["submit", "--", ""]).words() == nil, "files are the shell's business")
    }

    @Test func `every verb has a manual page with every option`() throws {
        let pages = ManualPage.all()
        for verb in VerbTable.shown {
            let page = try #require(pages.first { $0.name == "opsctl-\(verb.name).1" })
            for option in (verb.groups + verb.verbs.flatMap(\.groups)).flatMap(\.options) {
                #expect(page.text.contains(" Fl -\(option.name)"), "\(verb.name) --\(option.name)")
            }
            #expect(page.text.contains(".Sh SYNOPSIS") && page.text.contains(".Sh EXIT STATUS"))
        }
    }
}
