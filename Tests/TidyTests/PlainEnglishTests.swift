import Foundation
import Testing

/// Comments and documents are plain English: sentences begin with a noun or a verb and use everyday words.
@Suite struct PlainEnglishTests {
    private let beginning =
        #"^[ ]*///? (What|Who|Whoever|Whom|Whatever|Whichever|Of|Those|That|How|Whether|Where|Somebody)\b"#
    private let archaisms =
        #"\b(anew|for ever|whom|whoever|by consent|in vain|beforehand|comes round|at hand|in hand|is told of)\b"#

    private func programs() throws -> [SourceFile] {
        try [".swift", ".c", ".h"].flatMap(Tree.everything).filter { $0.name != "PlainEnglishTests.swift" }
    }

    @Test func `comments begin with a noun or a verb`() throws {
        let pattern = try NSRegularExpression(pattern: beginning, options: .anchorsMatchLines)
        for file in try programs() {
            for number in file.matches(of: pattern) {
                let above = number > 0 ? file.lines[number - 1] : ""
                guard !above.trimmingCharacters(in: .whitespaces).hasPrefix("//") else { continue }
                Issue.record("\(file.path):\(number + 1): name the thing, or begin with a verb:\(file.lines[number])")
            }
        }
    }

    @Test func `comments and documents use words of everyday English`() throws {
        let pattern = try NSRegularExpression(pattern: archaisms, options: .caseInsensitive)
        let pages = try ["docs", "examples"].flatMap { try Tree.files(under: $0, ".md") }
        let others = try ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map {
            SourceFile(path: $0, text: try Tree.text($0))
        }
        let interface = try Tree.files(under: "Sources", ".varlink") + Tree.files(under: "docs/man", "")
        for file in try programs() + pages + others + interface {
            for number in file.matches(of: pattern) {
                Issue.record("\(file.path):\(number + 1): an old word: \(file.lines[number])")
            }
        }
    }
}
