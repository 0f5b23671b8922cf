import Foundation
import Testing

/// The numbered lists of docs/ARCHITECTURE.md are those of the code.
@Suite struct InvariantTests {
    /// Numbers and first words of a table below a heading.
    private func table(_ heading: String) throws -> [(key: String, row: String)] {
        let text = try Tree.text("docs/ARCHITECTURE.md")
        let section = try #require(text.components(separatedBy: "## \(heading)\n").dropFirst().first)
        return section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n").compactMap { line in
            let cells = line.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 3, !cells[1].isEmpty, cells[1] != "number", !cells[1].hasPrefix("-") else { return nil }
            return (cells[1], line)
        }
    }

    @Test func whatTheCoreChecksOfItselfIsNumbered() throws {
        let source = try Tree.text("Sources/OpsCore/Scheduler+Invariants.swift")
        var checks: [String] = []
        var functions: [String] = []
        let lines = source.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for (line, next) in zip(lines, lines.dropFirst()) where line.hasPrefix("/// ") {
            let number = line.dropFirst(4).prefix { $0.isNumber }
            guard !number.isEmpty else { continue }
            checks.append(String(number))
            functions.append(String(next.components(separatedBy: "func ").last?.prefix { $0 != "(" } ?? ""))
        }
        let rows = try table("Invariants of the core")
        #expect(rows.map(\.key) == checks)
        for (row, function) in zip(rows, functions) { #expect(row.row.contains("`\(function)`"), "\(row.row)") }
    }

    @Test func whatTheSimulationWatchesIsNumbered() throws {
        let source = try Tree.text("Tests/OpsTesting/Violation.swift")
        var promises: [String] = []
        for line in source.components(separatedBy: "\n").map({ $0.trimmingCharacters(in: .whitespaces) })
        where line.hasPrefix("case ") {
            promises += line.dropFirst(5).components(separatedBy: ", ")
        }
        let rows = try table("Promises that the simulation watches")
        #expect(rows.map(\.key) == promises.indices.map { "P\($0 + 1)" })
        for (row, promise) in zip(rows, promises) { #expect(row.row.contains("`\(promise)`"), "\(row.row)") }
    }
}
