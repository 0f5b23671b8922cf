import Foundation
import Testing

/// Comments and documents are plain English: sentences begin with a noun or a verb and use everyday words.
@Suite struct PlainEnglishTests {
    private let beginning =
        #/^\s*\/\/\/? (What|Who|Whoever|Whom|Whatever|Whichever|Of|Those|That|How|Whether|Where|Somebody)\b/#
    private let archaisms =
        #/(?i)\b(anew|for ever|whom|whoever|by consent|in vain|beforehand|comes round|at hand|in hand|is told of)\b/#

    private func programs() throws -> [SourceFile] {
        try [".swift", ".c", ".h"].flatMap(Tree.everything).filter { $0.name != "PlainEnglishTests.swift" }
    }

    @Test func `comments begin with a noun or a verb`() throws {
        for file in try programs() {
            let lines = zip([""] + file.lines, file.lines)
            for (number, (above, line)) in lines.enumerated() where line.contains("//") {
                guard !above.trimmingCharacters(in: .whitespaces).hasPrefix("//") else { continue }
                if line.firstMatch(of: beginning) != nil {
                    Issue.record("\(file.path):\(number + 1): name the thing, or begin with a verb:\(line)")
                }
            }
        }
    }

    @Test func `comments and documents use words of everyday English`() throws {
        let pages = try ["docs", "examples"].flatMap { try Tree.files(under: $0, ".md") }
        let others = try ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map {
            SourceFile(path: $0, lines: try Tree.text($0).components(separatedBy: "\n"))
        }
        let interface = try Tree.files(under: "Sources", ".varlink") + Tree.files(under: "docs/man", "")
        for file in try programs() + pages + others + interface {
            for (number, line) in file.lines.enumerated() {
                if let word = line.firstMatch(of: archaisms)?.output.1 {
                    Issue.record("\(file.path):\(number + 1): \(word)")
                }
            }
        }
    }
}
