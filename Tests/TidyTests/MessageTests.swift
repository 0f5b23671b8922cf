import Foundation
import Testing

/// Each message for an administrator is in docs/OPERATIONS.md with its remedy.
@Suite struct MessageTests {
    /// Code that precedes a message. The text after it is the message, up to the first part that is inserted at run
    /// time.
    private static let beginnings = [
        #"log\.(?:error|warning)\(\s*"#, #"log\.write\(\s*\.(?:error|warning),\s*"#, #"Program\.writeError\(\s*"#,
        #"StartError\(\s*description:\s*"#,
        #"(?:Misuse|ConfigurationError)\([^"\n]*\s*[^"\n]*(?:description|message): "#,
        #"UsageError\("#,
    ]
    /// Code that precedes a message of opsctl about the daemon, or of the daemon about a refusal.
    private static let refusals = [
        #"(?:Failure|self\.init)\(\s*\.\w+, [^,]*,\s*"#, #"message \?\? "#, #"wrongState\(id, "#,
        #"id: nil, message: "#,
    ]

    /// Returns the constant beginning of each such message, up to the advice after it.
    private func messages(in file: SourceFile, after beginnings: [String]) throws -> [String] {
        let text = file.lines.joined(separator: "\n")
        var found: [String] = []
        for beginning in beginnings {
            let pattern = try NSRegularExpression(pattern: beginning + #""((?:[^"\\\n]|\\.)*)""#)
            for match in pattern.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                let literal = try text[#require(Range(match.range(at: 1), in: text))]
                let fixed = literal.replacing(#/\\\((?:[^()]|\([^()]*\))*(?:\)|$)/#, with: "\n").replacing(
                    "\\\"", with: "\"")
                let pieces = fixed.replacing("opsd-runner: ", with: "").split { "\n;(,[".contains($0) }
                let words = pieces.lazy.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " :\"{}[]")) }
                if let first = words.first(where: { $0.contains(" ") }) { found.append(first) }
            }
        }
        return found
    }

    private func expectCures(_ folder: String, _ beginnings: [String], atLeast count: Int) throws {
        let page = try Tree.text("docs/OPERATIONS.md")
        var all: [String] = []
        for file in try Tree.files(under: folder) {
            for message in try messages(in: file, after: beginnings) {
                all.append(message)
                let isThere = page.contains(message)
                #expect(isThere, "docs/OPERATIONS.md has no cure for what \(file.path) says: \(message)")
            }
        }
        #expect(all.count >= count, "found only \(all)")
    }

    @Test func `messages of the daemon and the runner are in the operations manual`() throws {
        try expectCures("Sources/OpsDaemon", Self.beginnings, atLeast: 20)
        try expectCures("Sources/OpsRunner", Self.beginnings, atLeast: 5)
        try expectCures("Sources/opsd-runner", Self.beginnings, atLeast: 1)
    }

    @Test func `advice of the store is in the operations manual`() throws {
        let source = try Tree.text("Sources/OpsStore/StoreError.swift")
        let advice = try #require(source.components(separatedBy: "func advice").last)
        let page = try Tree.text("docs/OPERATIONS.md")
        let texts = advice.matches(of: #/\.\w+:\s*"([^"\\(]*)/#).map { $0.output.1 }
        #expect(texts.count == 8)
        for text in texts {
            let isThere = text.split(whereSeparator: { ";,".contains($0) }).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            .contains { $0.count > 25 && page.contains($0) }
            #expect(isThere, "docs/OPERATIONS.md: \(text)")
        }
    }

    @Test func `messages of opsctl about the daemon are in the operations manual`() throws {
        try expectCures("Sources/opsctl/Client", Self.refusals, atLeast: 10)
        try expectCures("Sources/OpsDaemon/Translation", Self.refusals, atLeast: 5)
    }

    /// `journalctl -x` knows every id that opsd writes, and opsd writes every id that it knows.
    @Test func `the journal catalog has exactly the ids that opsd writes`() throws {
        let sources = try Tree.files(under: "Sources/OpsDaemon").map { $0.lines.joined(separator: "\n") }.joined()
        let declared = sources.matches(of: #/static let (\w+) = "([0-9a-f]{32})"/#)
        let catalog = try Tree.text("systemd/opsd.catalog").matches(of: #/(?m)^-- ([0-9a-f]{32})$/#).map { $0.output.1 }
        #expect(Set(declared.map(\.output.2)) == Set(catalog))
        #expect(declared.count == catalog.count)
        for message in declared {
            #expect(sources.contains("Message.\(message.output.1)"), "nobody writes \(message.output.1)")
        }
    }
}
