import Foundation
import Testing

@Suite struct StyleTests {
    /// A word that must not stand in the code of some targets, and why.
    struct Refusal {
        var word: String
        var targets: Set<String>?
        var why: String
        init(_ word: String, in targets: Set<String>? = nil, _ why: String) {
            self.word = word
            self.targets = targets
            self.why = why
        }
    }

    static let daemon: Set<String> = ["OpsCore", "OpsStore", "OpsWire", "OpsLinux", "OpsRunner", "OpsDaemon"]
    static let refusals = [
        Refusal(#"\btry!"#, "an error is handled or thrown on"),
        Refusal(#"\basync\b"#, in: daemon, "an await between reading and writing is where another event gets in"),
        Refusal(#"\bawait\b"#, in: daemon, "an await between reading and writing is where another event gets in"),
        Refusal(#"\bTask\b *[.{(]"#, in: daemon, "one thread, one loop"),
        Refusal(#"\bsleep\("#, "nothing sleeps to synchronise"),
        // OpsWire draws the seed of its hash tables, which decides nothing.
        Refusal(#"\brandom\("#, in: ["OpsCore", "OpsStore", "OpsDaemon"], "randomness comes from OpsLinux"),
        Refusal(
            #"\bclock_gettime\b"#, in: ["OpsCore", "OpsStore", "OpsWire", "OpsRunner", "OpsDaemon", "opsctl"],
            "the only clock is in OpsLinux"),
        Refusal(#"\bprint\("#, in: daemon, "only the daemon's log and opsctl's output speak"),
        Refusal(#"[\w)\]]!(?![=\w])"#, "a force unwrap is a crash without a sentence"),
        Refusal(#"\bTODO\b|\bFIXME\b"#, "what is to be done is done or in an issue"),
    ]

    @Test func noRefusedWordStandsInTheCode() throws {
        for file in try Tree.files(under: "Sources") {
            for (number, line) in file.code.enumerated() {
                for refusal in Self.refusals where refusal.targets?.contains(file.target) ?? true {
                    #expect(
                        line.range(of: refusal.word, options: .regularExpression) == nil,
                        "\(file.path):\(number + 1): \(refusal.why)")
                }
            }
        }
    }

    /// `try?` and `@unchecked` are allowed with their reason in a comment at the line or just above it.
    @Test func whatDropsErrorsOrChecksGivesItsReason() throws {
        for file in try Tree.files(under: "Sources") {
            for (number, line) in file.code.enumerated()
            where line.range(of: #"\btry\?|@unchecked"#, options: .regularExpression) != nil {
                let above = number > 0 ? file.lines[number - 1] : ""
                #expect(
                    file.lines[number].contains("//") || above.contains("//"),
                    "\(file.path):\(number + 1): without a reason")
            }
        }
    }

    @Test func filesStaySmall() throws {
        for file in try Tree.files(under: "Sources") + Tree.files(under: "Sources", ".c") {
            #expect(file.lines.count <= 501, "\(file.path) has \(file.lines.count) lines; 500 are allowed")
        }
    }

    @Test func functionsFitAScreen() throws {
        for file in try Tree.files(under: "Sources") {
            var begin: (line: Int, indent: Int)?
            for (number, line) in file.code.enumerated() {
                let indent = line.prefix { $0 == " " }.count
                if line.range(of: #"^\s*[a-z@\w ()]*\b(func|init\??)\b.*"#, options: .regularExpression) != nil,
                    line.contains("(")
                {
                    begin = (number, indent)
                } else if let start = begin, line.trimmingCharacters(in: .whitespaces).hasPrefix("}"),
                    indent == start.indent
                {
                    #expect(
                        number - start.line < 70, "\(file.path):\(start.line + 1): \(number - start.line + 1) lines")
                    begin = nil
                }
            }
        }
    }

    @Test func noPathOfOneMachineIsCommitted() throws {
        for file in try Tree.files(under: "Sources") + Tree.files(under: "Tests") where file.name != "StyleTests.swift"
        {
            #expect(!file.lines.contains { $0.contains("/work/") || $0.contains("/root/") }, "\(file.path)")
        }
    }
}
