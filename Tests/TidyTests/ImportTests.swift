import Foundation
import Testing

@Suite struct ImportTests {
    /// Returns the table of CONTRIBUTING.md: the modules that each target may import.
    static func table() throws -> [String: Set<String>] {
        var table: [String: Set<String>] = [:]
        for line in try Tree.text("CONTRIBUTING.md").components(separatedBy: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if cells.first == "test of" { break }
            guard cells.count == 3, cells[0] != "target" else { continue }
            table[cells[0]] = Set(cells[1].components(separatedBy: ", ").filter { $0 != "nothing" })
        }
        return table
    }

    /// The table must also not allow an import that no file has.
    @Test func `every target imports exactly the modules that the table allows`() throws {
        let table = try Self.table()
        var imported: [String: Set<String>] = table.mapValues { _ in [] }
        for file in try Tree.files(under: "Sources") {
            let allowed = try #require(table[file.target], "\(file.target) is not in the table of CONTRIBUTING.md")
            for line in file.code {
                let words = line.split(separator: " ").map(String.init)
                guard let place = words.firstIndex(of: "import"), place + 1 < words.count, place <= 2 else { continue }
                #expect(allowed.contains(words[place + 1]), "\(file.path): import \(words[place + 1])")
                imported[file.target]?.insert(words[place + 1])
            }
        }
        for (target, allowed) in table {
            let unused = allowed.subtracting(imported[target] ?? [])
            #expect(unused.isEmpty, "\(target) may import what it does not: \(unused)")
        }
    }

    @Test func `the table names only targets that exist`() throws {
        for target in try Self.table().keys {
            #expect(try !Tree.files(under: "Sources/" + target).isEmpty, "\(target) has no sources")
        }
    }
}
