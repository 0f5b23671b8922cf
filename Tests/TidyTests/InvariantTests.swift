import Foundation
import Testing

/// The numbered lists of docs/CODEMAP.md are those in the code.
@Suite struct InvariantTests {
    @Test func `the invariants of the core match their table`() throws {
        var functions: [String: Set<String>] = [:]
        for file in ["Scheduler+Invariants", "Parts/Registry+Invariants"] {
            let source = try Tree.text("Sources/OpsCore/\(file).swift")
            let lines = source.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            for (line, next) in zip(lines, lines.dropFirst()) where line.hasPrefix("/// ") {
                let number = line.dropFirst(4).prefix { $0.isNumber }
                guard !number.isEmpty else { continue }
                let function = String(next.components(separatedBy: "func ").last?.prefix { $0 != "(" } ?? "")
                functions[String(number), default: []].insert(function)
            }
        }
        let rows = try Tree.rows("docs/CODEMAP.md", below: "Invariants of the core")
        #expect(rows.map { $0[0] } == functions.keys.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) })
        for row in rows {
            let named = Set(row[3].matches(of: #/`(\w+)`/#).map { String($0.output.1) })
            #expect(named == functions[row[0]], "\(row)")
        }
    }

    @Test func `the promises that the simulation watches match their table`() throws {
        let source = try Tree.text("Tests/OpsTesting/Violation.swift")
        var promises: [String] = []
        for line in source.components(separatedBy: "\n").map({ $0.trimmingCharacters(in: .whitespaces) })
        where line.hasPrefix("case ") {
            promises += line.dropFirst(5).components(separatedBy: ", ")
        }
        let rows = try Tree.rows("docs/CODEMAP.md", below: "Promises that the simulation watches")
        #expect(rows.map { $0[0] } == promises.indices.map { "P\($0 + 1)" })
        for (row, promise) in zip(rows, promises) { #expect(row[1].hasPrefix("`\(promise)`"), "\(row)") }
    }

    /// Checks the names in the columns of functions that uphold a rule, and of suites and canaries that break it.
    @Test(
        arguments: [
            ("The life of one operation", 1, nil), ("Invariants of the core", 2, 4),
            ("Promises that the simulation watches", 2, 3),
        ] as [(String, Int, Int?)])
    func `functions, suites and canaries in the tables exist`(heading: String, upholding: Int, breaking: Int?) throws {
        let code = try Tree.declarations(under: "Sources/OpsCore").union(Tree.declarations(under: "Tests/OpsTesting"))
        let tests = try Tree.declarations(under: "Tests")
        let rows = try Tree.rows("docs/CODEMAP.md", below: heading)
        #expect(rows.count >= 10)
        for row in rows {
            for name in row[upholding].matches(of: #/`(?:\w+\.)?(\w+)`/#).map(\.output.1) {
                #expect(code.contains(String(name)), "\(heading): \(name)")
            }
            guard let breaking else { continue }
            for name in row[breaking].matches(of: #/`(\w+)`|(\w+(?:Tests|Lives))/#) {
                let suite = String(name.output.1 ?? name.output.2 ?? "")
                #expect(tests.contains(suite), "\(heading): \(suite)")
            }
        }
    }
}
