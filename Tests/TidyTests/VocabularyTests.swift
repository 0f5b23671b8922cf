import Foundation
import Testing

/// Lists in the documents equal those in the code: transitions between states, methods, events, changes, effects,
/// errors, the glossary. (OpsctlTests compare the verbs with opsctl's own table.)
@Suite struct VocabularyTests {
    private static let codeMap = "docs/CODEMAP.md"
    private static let interface = "Sources/OpsWire/org.opsd.Control.varlink"

    /// Returns the words between backquotes.
    private func words(_ cell: String) -> [String] {
        cell.matches(of: #/`(\w+)[^`]*`/#).map { String($0.output.1) }
    }

    private func words(below heading: String, column: Int, ofWidth width: Int) throws -> Set<String> {
        let rows = try Tree.rows(Self.codeMap, below: heading).filter { $0.count == width }
        return Set(rows.flatMap { words($0[column]) })
    }

    @Test func `the documented transitions are those that the fake store allows`() throws {
        let judge = try Tree.text("Tests/OpsTesting/FakeStore+Apply.swift")
        var lawful: Set<String> = []
        for step in judge.matches(of: #/try step\(id, from: \[\.(\w+)\], to: (\.?\w+)\)/#) {
            // One target is a variable, because a new run may be pending or ready.
            let targets = step.output.2.hasPrefix(".") ? [String(step.output.2.dropFirst())] : ["pending", "ready"]
            for target in targets { lawful.insert("\(step.output.1) to \(target)") }
        }
        let rows = try Tree.rows(Self.codeMap, below: "States")
        var arrows: Set<String> = []
        for row in rows where row[2] != "`submitted`" && row[2] != "`finished`" {
            for from in words(row[0]) { for to in words(row[1]) { arrows.insert("\(from) to \(to)") } }
        }
        #expect(arrows == lawful)
        let states = try Tree.cases(of: "OperationState", in: "Sources/OpsCore/Operation/OperationState.swift")
        #expect(Set(rows.flatMap { words($0[0]) + words($0[1]) }) == Set(states))
    }

    @Test func `every method of the interface belongs to a verb`() throws {
        let methods = try Tree.text(Self.interface).matches(of: #/(?m)^method (\w+)/#).map { String($0.output.1) }
        #expect(
            try words(below: "From a verb to a change", column: 1, ofWidth: 4).subtracting(["submit"]) == Set(methods))
    }

    @Test func `every event has a documented source`() throws {
        let events = try Tree.cases(of: "Event", in: "Sources/OpsCore/Event.swift")
        let told = try words(below: "From a verb to a change", column: 2, ofWidth: 4)
            .union(try words(below: "From a verb to a change", column: 1, ofWidth: 3))
        #expect(told == Set(events))
    }

    @Test func `every change has a documented cause`() throws {
        let changes = Set(try Tree.cases(of: "Change", in: "Sources/OpsCore/Change.swift"))
        let steps = try words(below: "States", column: 2, ofWidth: 3)
        let named = steps.union(try words(below: "From a verb to a change", column: 3, ofWidth: 4))
            .union(try words(below: "From a verb to a change", column: 2, ofWidth: 3))
        #expect(named == changes)
        let lives = try words(below: "The life of one operation", column: 2, ofWidth: 4)
        #expect(lives.subtracting(["pending", "ready"]).isSubset(of: changes))
    }

    @Test func `every effect is in the life of an operation`() throws {
        let effects = try Tree.cases(of: "Effect", in: "Sources/OpsCore/Effect.swift")
        let page = try Tree.text(Self.codeMap)
        let life = try #require(page.components(separatedBy: "\n## The life of one operation\n").last)
            .components(separatedBy: "\n## ")[0]
        for effect in effects { #expect(life.contains("`\(effect)`"), "\(effect)") }
    }

    @Test func `the interface states how many operations are named`() throws {
        let limits = try Tree.text("Sources/OpsCore/Limits.swift")
        let named = try #require(limits.firstMatch(of: #/let named = (\d+)/#)).output.1
        let bounds = try Tree.text(Self.interface).matches(of: #/[Oo]f more than (\d+)/#).map { $0.output.1 }
        #expect(bounds == [named, named, named, named])
    }

    @Test func `every error has its documented exit status`() throws {
        let errors = try Tree.text(Self.interface).matches(of: #/(?m)^error (\w+)/#).map { String($0.output.1) }
        let rows = try Tree.rows("docs/PROTOCOL.md", below: "Errors")
        #expect(rows.flatMap { words($0[0]) } == errors)
        let statuses = try Tree.text("Sources/opsctl/Client/Failure.swift")
            .matches(of: #/static let (\w+) = ExitStatus\(code: (\d+)\)/#)
        let codes = Dictionary(uniqueKeysWithValues: statuses.map { ($0.output.1, $0.output.2) })
        let refusals = try Tree.text("Sources/opsctl/Client/Refusal.swift")
        for (error, row) in zip(errors, rows) {
            let name = error.prefix(1).lowercased() + error.dropFirst()
            let rest = try #require(
                refusals.components(separatedBy: "case .\(name)(").dropFirst().first, "\(error)")
            let status = try #require(rest.firstMatch(of: #/self\.init\(\s*\.(\w+)/#)).output.1
            #expect(codes[status].map(String.init) == row[2], "\(error)")
        }
    }

    /// Only OpsWire contains the names of the interface.
    @Test func `opsctl calls no method by a name in quotes`() throws {
        let methods = try Tree.text(Self.interface).matches(of: #/(?m)^method (\w+)/#).map { "\"\($0.output.1)\"" }
        #expect(methods.count > 30)
        for file in try Tree.files(under: "Sources/opsctl") {
            // Headings of the help may contain the same words.
            for line in file.lines where !line.contains("OptionGroup(") && !line.contains("case submitting") {
                for literal in methods + ["org.opsd."] where line.contains(literal) {
                    Issue.record("\(file.path) spells \(literal): \(line)")
                }
            }
        }
    }

    @Test func `every term of the glossary is in the code`() throws {
        let declared = try Tree.declarations(under: "Sources")
        let rows = try Tree.rows(Self.codeMap, below: "Glossary")
        #expect(rows.count > 15)
        for row in rows {
            for word in words(row[2]) {
                #expect(declared.contains(word), "\(row[0]): \(word)")
            }
        }
    }
}
