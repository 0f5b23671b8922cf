import OpsModel
import OpsStore
import Testing

@testable import OpsDaemon

/// The output of the processes that check triggers.
@Suite struct TriggerTests {
    private let files = Trigger.path(glob: "/in/*", settle: .zero, isBatch: false, poll: .seconds(1))
    private let lines = Trigger.exec(command: "true", every: .seconds(1))

    private func read(_ trigger: Trigger, _ text: String, isComplete: Bool = true) -> [String] {
        trigger.read(Array(text.utf8), isComplete: isComplete).keys.map(\.key)
    }

    private let one = "65024 7 1.5 10 /in/one\07 /in/one\0"
    private let two = "65024 8 1.5 10 /in/a b\08 /in/a b\0"

    @Test func `files are listed with their identities`() {
        let found = files.read(Array((one + two).utf8), isComplete: true)
        #expect(found.keys.map(\.key) == ["/in/one", "/in/a b"])
        #expect(found.keys.map(\.identity) == ["65024 7 1.5 10", "65024 8 1.5 10"])
        #expect(found.ignored == 0)
    }

    /// A full disk cuts the list off anywhere.
    @Test func `no part of a path is taken for a file`() {
        let all = one + two
        for length in 0..<all.utf8.count {
            let found = read(files, String(decoding: Array(all.utf8.prefix(length)), as: UTF8.self))
            #expect(found == [] || found == ["/in/one"], "of \(length) bytes")
        }
        #expect(read(files, all) == ["/in/one", "/in/a b"])
    }

    /// The disk may have room again before the list ends.
    @Test func `a list that lacks bytes in its middle contains only files that exist`() {
        let all = Array((one + two + one).utf8)
        for start in all.indices {
            for end in start...all.count {
                let found = files.read(Array(all[..<start] + all[end...]), isComplete: true)
                for key in found.keys {
                    let inode = key.identity.split(separator: " ").dropFirst().first
                    #expect(key.key == (inode == "7" ? "/in/one" : "/in/a b"), "without \(start) to \(end)")
                }
            }
        }
    }

    @Test func `a line counts once, and the rest of one that was not written does not count`() {
        #expect(read(lines, "a\nb\na\n\nc") == ["a", "b", "c"])
        #expect(read(lines, "a\nb\nc", isComplete: false) == ["a", "b"])
    }

    @Test func `lines that differ only in their bytes are two lines`() {
        #expect(read(lines, "caf\u{e9}\ncafe\u{301}\n").map { $0.utf8.count } == [5, 6])
    }

    @Test func `only the wildcards of a pattern have a meaning for the shell`() {
        let trigger = Trigger.path(glob: "/in/'\u{301}; x*", settle: .zero, isBatch: false, poll: .seconds(1))
        let expected = "for f in /in/''\\''''\u{301}'';'' 'x*; do "
        #expect(trigger.arguments[2].utf8.starts(with: expected.utf8), "\(trigger.arguments[2])")
    }

    /// The shell of Debian negates brackets with `!` alone, and quotes make a character of a class a plain one.
    @Test(arguments: [
        ("[^a]*", "[!a]*"), ("[!a^]", "[!a^]"), ("[^]a]", "[!]a]"), ("[]^]", "[]^]"), ("[^a", "[^a"), ("[[a]", "[[a]"),
        ("[[:digit:]a b]", "[[:digit:]a' 'b]"), ("[^[:alpha:]]", "[![:alpha:]]"), ("[:a]", "[':'a]"),
        ("[[:no:]]", "[[':'no':']]"), ("x^[^a/b]", "x^[^a/b]"),
    ])
    func `brackets of a pattern mean the same to the shell`(pattern: String, expected: String) {
        let trigger = Trigger.path(glob: "/in/" + pattern, settle: .zero, isBatch: false, poll: .seconds(1))
        #expect(trigger.arguments[2].hasPrefix("for f in /in/\(expected); do "), "\(trigger.arguments[2])")
    }

    @Test func `lines and files that cannot start a run are counted`() {
        let long = String(repeating: "x", count: Trigger.longestLine)
        let found = lines.read(Array("\(long)\n\(long)y\n".utf8) + [0xff, 0x0a], isComplete: true)
        #expect(found.keys.map(\.key) == [long] && found.ignored == 2)
        let latin = Array("65024 7 1.5 10 /in/".utf8) + [0xff, 0] + Array("7 /in/".utf8) + [0xff, 0]
        #expect(files.read(latin, isComplete: true).ignored == 1)
    }
}
