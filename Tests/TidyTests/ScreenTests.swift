import Foundation
import Testing

/// The tables of docs/CODEMAP.md name every source file, and only tests that exist.
@Suite struct ScreenTests {
    private struct Row {
        let target: String
        /// Names of files, or folders with a slash at the end.
        let names: [String]
        let tests: [String]
    }

    private func rows() throws -> [Row] {
        let page = try Tree.text("docs/CODEMAP.md")
        let part = try #require(page.components(separatedBy: "## One screen for each target\n").dropFirst().first)
        return part.components(separatedBy: "\n## ")[0].components(separatedBy: "\n### ").dropFirst().flatMap {
            section in
            let lines = section.components(separatedBy: "\n")
            return lines.filter { $0.hasPrefix("| `") }.map { line in
                let cells = line.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                return Row(
                    target: lines[0],
                    names: cells[1].components(separatedBy: " ").map { $0.replacingOccurrences(of: "`", with: "") },
                    tests: cells[3].components(separatedBy: ", "))
            }
        }
    }

    /// Returns `Policy/` for a file of `Sources/OpsCore/Policy/`, and the file's own name for files outside of folders.
    private func name(of file: SourceFile) -> String {
        let parts = file.path.split(separator: "/").dropFirst(2)
        return parts.count > 1 ? parts.prefix(1).joined() + "/" : String(parts.joined().dropLast(".swift".count))
    }

    @Test func `every source file is in the code map`() throws {
        let rows = try rows()
        let screens = Set(rows.map(\.target))
        let named = Set(rows.flatMap { row in row.names.map { "\(row.target)/\($0)" } })
        var there: Set<String> = []
        for file in try Tree.files(under: "Sources") where file.target != "opsd" && file.target != "opsd-runner" {
            #expect(screens.contains(file.target), "\(file.target) has no screen in docs/CODEMAP.md")
            there.insert("\(file.target)/\(name(of: file))")
        }
        for missing in there.subtracting(named) {
            Issue.record("docs/CODEMAP.md does not tell what \(missing) is")
        }
        for gone in named.subtracting(there) {
            Issue.record("docs/CODEMAP.md tells of \(gone), which is not there")
        }
        #expect(rows.reduce(0) { $0 + $1.names.count } == named.count, "one row for each")
    }

    @Test func `every row of the code map names tests that exist`() throws {
        let suites = Set(try Tree.files(under: "Tests").map { String($0.name.dropLast(".swift".count)) })
        for row in try rows() {
            #expect(!row.tests.isEmpty)
            for test in row.tests { #expect(suites.contains(test), "\(row.target), \(row.names): no \(test)") }
        }
    }

    @Test func `each target has at most 20 rows in the code map`() throws {
        for (target, rows) in Dictionary(grouping: try rows(), by: \.target) {
            #expect(rows.count <= 20, "\(target) has \(rows.count) rows")
        }
    }
}
