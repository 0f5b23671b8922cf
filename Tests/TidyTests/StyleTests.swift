import Foundation
import Testing

@Suite struct StyleTests {
    /// A construct that may be used only in some targets, and the reason.
    struct Refusal {
        var word: String
        var exempt: Set<String>
        var why: String
        init(_ word: String, but exempt: Set<String> = [], _ why: String) {
            self.word = word
            self.exempt = exempt
            self.why = why
        }
    }

    static let kernel: Set<String> = ["OpsSystem", "OpsSystemd"]
    static let refusals = [
        Refusal(#"\btry!"#, "an error is handled or thrown on"),
        // The client library blocks threads of its own, and waits for a daemon that is away.
        Refusal(
            #"\b(async|await)\b"#, but: ["OpsClient"],
            "an await between reading and writing is where another event gets in"),
        Refusal(
            #"\b(Task|TaskGroup|DispatchQueue|Thread|pthread_create)\b *[.{(]"#, but: kernel.union(["OpsClient"]),
            "one thread, one loop"),
        Refusal(#"\b(sleep|usleep|nanosleep|clock_nanosleep)\("#, but: ["OpsClient"], "nothing sleeps to synchronise"),
        // OpsWire draws the seed of its hash tables, and SQLite the key of a database's hashes: these decide nothing.
        Refusal(
            #"\b(random|randomElement|shuffled?|getrandom|SystemRandomNumberGenerator)\("#,
            but: kernel.union(["OpsWire", "OpsStore"]),
            "randomness comes from OpsSystem"),
        Refusal(
            #"\b(clock_gettime|gettimeofday|Date|ContinuousClock|SuspendingClock)\("#, but: kernel,
            "the only clock is in OpsSystem"),
        Refusal(#"\b(debugPrint|print|dump|puts|fputs|printf)\("#, "only the daemon's log and opsctl's output speak"),
        Refusal(#"[\w)\]]!(?![=\w])"#, "a force unwrap is a crash without a sentence"),
    ]

    @Test func `no refused construct stands in the code`() throws {
        let files = try Tree.files(under: "Sources")
        for refusal in Self.refusals {
            let pattern = try NSRegularExpression(pattern: refusal.word)
            for file in files where !refusal.exempt.contains(file.target) {
                for number in file.matches(of: pattern, code: true) {
                    Issue.record("\(file.path):\(number + 1): \(refusal.why)")
                }
            }
        }
    }

    /// `try?` and `@unchecked` are allowed with a reason, in a comment on the same line or the line above.
    @Test func `every dropped error and every unchecked conformance gives its reason`() throws {
        let pattern = try NSRegularExpression(pattern: #"\btry\?|@unchecked"#)
        for file in try Tree.files(under: "Sources") {
            for number in file.matches(of: pattern, code: true) {
                let above = number > 0 ? file.lines[number - 1] : ""
                #expect(
                    file.lines[number].contains("//") || above.contains("//"),
                    "\(file.path):\(number + 1): without a reason")
            }
        }
    }

    @Test func `no source file contains a mark for later work`() throws {
        let pattern = try NSRegularExpression(pattern: "TO" + "DO|FIX" + "ME")
        for file in try [".swift", ".c", ".h", ".varlink"].flatMap(Tree.everything) {
            for number in file.matches(of: pattern) { Issue.record("\(file.path):\(number + 1)") }
        }
    }

    @Test func `no source file is too long`() throws {
        for file in try Tree.everything(".swift") + Tree.everything(".c") {
            #expect(file.lines.count <= 501, "\(file.path) has \(file.lines.count) lines; 500 are allowed")
        }
    }

    @Test func `functions fit on a screen`() throws {
        let beginning = #/^\s*[a-z@\w ()]*\b((func|init|subscript|deinit)\b.*[({]|var\b.*\{)$/#
        for file in try Tree.everything(".swift") {
            // Scopes that are open at a line, outermost first.
            var open: [(line: Int, indent: Int)] = []
            for (number, line) in file.code.enumerated() {
                let indent = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
                if line.hasSuffix("{") || line.hasSuffix("("), line.firstMatch(of: beginning) != nil {
                    open.append((number, indent))
                } else if let last = open.last, indent == last.indent, line.dropFirst(indent).hasPrefix("}") {
                    open.removeLast()
                    let lines = number - last.line + 1
                    guard lines > 70 else { continue }
                    Issue.record("\(file.path):\(last.line + 1): \(lines) lines; 70 are allowed")
                }
            }
        }
    }

    @Test func `no path of one machine is in the sources`() throws {
        let pattern = try NSRegularExpression(pattern: "/(work|root)/")
        for file in try Tree.everything(".swift") where file.name != "StyleTests.swift" {
            for number in file.matches(of: pattern) { Issue.record("\(file.path):\(number + 1)") }
        }
    }
}
