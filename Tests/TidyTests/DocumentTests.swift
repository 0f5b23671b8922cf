import Foundation
import Testing

@Suite struct DocumentTests {
    /// Every `path/like.this` between backquotes, and every relative link, must exist.
    @Test func whatTheDocumentsNameExists() throws {
        let documents = ["README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md"]
        for document in documents {
            let text = try Tree.text(document)
            let pattern = try NSRegularExpression(
                pattern: #"`((?:Sources|Tests|docs|systemd|examples|scripts)/[A-Za-z0-9_./+-]+)`"#)
            for match in pattern.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                let range = try #require(Range(match.range(at: 1), in: text))
                let path = String(text[range])
                #expect(
                    FileManager.default.fileExists(atPath: Tree.top.appendingPathComponent(path).path),
                    "\(document): \(path)")
            }
        }
    }

    @Test func everyStateOutcomeAndReportIsInTheArchitecture() throws {
        let text = try Tree.text("docs/ARCHITECTURE.md")
        for path in ["Sources/OpsCore/Operation/OperationState.swift", "Sources/OpsCore/Operation/Outcome.swift"] {
            let source = try Tree.text(path)
            let body = try #require(
                source.components(separatedBy: "enum ").dropFirst().first?.components(separatedBy: "\n}").first)
            for line in body.components(separatedBy: "\n")
            where line.trimmingCharacters(in: .whitespaces).hasPrefix("case ") {
                for name in line.replacingOccurrences(of: "case ", with: "").components(separatedBy: ",") {
                    let word = name.trimmingCharacters(in: .whitespaces)
                    #expect(text.contains(word), "\(word) is not in docs/ARCHITECTURE.md")
                }
            }
        }
    }

    @Test func makeHelpListsEveryTargetOfTheReadme() throws {
        let makefile = try Tree.text("Makefile")
        for word in ["run", "test", "build", "install", "format", "lint", "bench"] {
            #expect(makefile.contains("\n\(word): "), "make \(word)")
        }
    }
}
