import Testing

@testable import opsctl

@Suite struct ParserTests {
    private func parse(_ words: String...) throws(Failure) -> Arguments {
        var parser = Parser(words)
        return try parser.parse()
    }

    private func refusal(_ words: String...) -> String? { refusal(words) }

    private func refusal(_ words: [String]) -> String? {
        var parser = Parser(words)
        do throws(Failure) {
            _ = try parser.parse()
            return nil
        } catch {
            #expect(error.status == .usage)
            return error.lines.joined(separator: "\n")
        }
    }

    @Test func `options of submit end at the command`() throws {
        let arguments = try parse("submit", "--name", "x", "sleep", "--name", "5")
        #expect(arguments.text(.operationName) == "x")
        #expect(arguments.operands == ["sleep", "--name", "5"])
    }

    @Test func `two dashes end the options once`() throws {
        #expect(try parse("submit", "--", "--name", "--", "x").operands == ["--name", "--", "x"])
    }

    @Test func `options of other verbs may stand anywhere`() throws {
        let arguments = try parse("log", "12", "-fn", "5")
        #expect(arguments.operands == ["12"])
        #expect(arguments.has(LogVerb.follow))
        #expect(arguments.integer(LogVerb.lines) == 5)
    }

    @Test func `values may be attached to their options`() throws {
        #expect(try parse("set", "1", "--priority=-5").text(.priority) == "-5")
        #expect(try parse("log", "1", "-n7").integer(LogVerb.lines) == 7)
        #expect(try parse("submit", "--env=A=B=C", "true").text(.env) == "A=B=C")
        #expect(try parse("schedule", "next", "--at=\u{301}x").texts(ScheduleVerb.at) == ["\u{301}x"])
    }

    @Test func `options of every command may stand before the command`() throws {
        let arguments = try parse("--json", "--socket", "/s", "queue", "ls")
        #expect(arguments.path == "queue ls")
        #expect(arguments.has(.json))
        #expect(arguments.text(.socket) == "/s")
    }

    @Test func `a filter with one value is given once, but an option of a submission may be repeated`() throws {
        for (filter, verb) in zip(["graph", "queue", "user"], ["wait", "cancel", "ls"]) {
            #expect(
                refusal(verb, "--\(filter)", "a", "--\(filter)", "b")
                    == "opsctl: \(verb): --\(filter) is given more than once, use \(verb) once for each \(filter)")
        }
        #expect(try parse("ls", "--state", "held", "--state", "ready").texts(.state) == ["held", "ready"])
        #expect(try parse("submit", "--queue", "a", "--queue", "b", "true").text(.queue) == "b")
    }

    @Test(arguments: ["ls", "wait", "cancel", "suspend", "resume", "retry", "log", "watch", "stats", "prune"])
    func `states are not combined with active, which would select more operations`(verb: String) {
        #expect(
            refusal(verb, "--active", "--state", "succeeded")
                == "opsctl: \(verb): --active and --state cannot be used together, "
                + "leave out --active to select only operations in these states")
        #expect(refusal(verb, "--active", "--outcome", "failed") == nil)
    }

    @Test func `a filter by one label has one value`() {
        #expect(
            refusal("ls", "-l", "t=1", "-l", "t=2")
                == "opsctl: ls: -l t is given more than once, use ls once for each value")
        #expect(refusal("ls", "-l", "t=1", "-l", "u=1") == nil)
        #expect(refusal("submit", "-l", "t=1", "-l", "t=2", "true") == nil)
    }

    @Test func `a submission has one file, range, earlier operation and text for the shell`() {
        let wrong = "is given more than once, use"
        for path in ["submit", "run", "schedule add", "schedule apply"] {
            var words = path.split(separator: " ").map(String.init)
            if path == "schedule add" { words.append("nightly") }
            #expect(
                refusal(words + ["-f", "a", "-f", "b"])
                    == "opsctl: \(path): --file \(wrong) \(path) once for each file")
            guard path != "schedule apply" else { continue }
            #expect(
                refusal(words + ["--shell", "a", "--shell", "b"])
                    == "opsctl: \(path): --shell \(wrong) \(path) once for each command")
        }
        #expect(
            refusal("submit", "--array", "1-2", "--array", "4-5", "true")
                == "opsctl: submit: --array \(wrong) submit once for each range")
        #expect(
            refusal("submit", "--again", "1", "--again", "2")
                == "opsctl: submit: --again \(wrong) submit once for each operation")
        #expect(refusal("submit", "--each", "a", "--each", "b", "true") == nil)
    }

    @Test(arguments: ["submit", "run"]) func `a submission has one key`(verb: String) {
        #expect(
            refusal(verb, "--key", "a", "--unless-active", "b", "true")
                == "opsctl: \(verb): --key and --unless-active cannot be used together, leave one out")
    }

    @Test func `a list of words has no empty element`() {
        for list in ["ready,,executing", ",", "ready,", ",ready"] {
            #expect(
                refusal("ls", "-s", list)?.hasPrefix("opsctl: ls: -s takes a comma-separated list of pending,") == true,
                "\(list)")
        }
        #expect(refusal("ls", "--outcome", ",")?.contains("--outcome takes a comma-separated list of") == true)
        #expect(refusal("submit", "--retry", "1", "--retry-on", "failed,", "true") != nil)
    }

    @Test func `an empty argument selects no operation`() {
        #expect(
            refusal("suspend", "") == "opsctl: suspend: OPERATION is an id or a name, not \"\", see opsctl help suspend"
        )
        for verb in ["resume", "cancel", "wait", "ls", "log", "show", "retry", "finish"] {
            #expect(refusal(verb, "")?.contains("is an id or a name, not \"\"") == true, "\(verb)")
        }
        #expect(refusal("wait", "12", ",") != nil)
        #expect(refusal("submit", "--after", "", "true") == "opsctl: submit: --after takes an id or a name, not \"\"")
        #expect(refusal("ls", "--graph=") == "opsctl: ls: --graph takes a name, not \"\"")
        #expect(refusal("submit", "--directory", "", "true") == "opsctl: submit: --directory takes a path, not \"\"")
        #expect(refusal("note", "12", "") == nil)
        #expect(refusal("note", "", "x") != nil)
    }

    @Test func `the nearest name is suggested for a mistyped one`() {
        #expect(refusal("kill") == "opsctl: kill: unknown verb \"kill\", did you mean cancel?")
        #expect(refusal("atq") == "opsctl: atq: unknown verb \"atq\", did you mean ls -s scheduled?")
        #expect(refusal("submt") == "opsctl: submt: unknown verb \"submt\", did you mean submit?")
        #expect(
            refusal("submit", "--queu", "x", "true") == "opsctl: submit: unknown option --queu, did you mean --queue?")
        let state = refusal("ls", "--state", "redy")
        #expect(
            state?.hasPrefix("opsctl: ls: --state takes a comma-separated list of pending, ready, executing") == true)
        #expect(state?.hasSuffix(", not \"redy\", did you mean ready?") == true)
        #expect(refusal("queue", "st") == "opsctl: queue: unknown verb \"st\", did you mean set?")
    }

    @Test func `missing and superfluous arguments are named`() {
        #expect(refusal("show") == "opsctl: show: OPERATION is missing, see opsctl help show")
        #expect(refusal("status", "x") == "opsctl: status: unexpected \"x\", it takes no arguments")
        #expect(refusal("log", "1", "-n") == "opsctl: log: -n needs a value, write -n N")
        #expect(refusal("ls", "--json=yes") == "opsctl: ls: --json takes no value, leave \"=yes\" away")
        #expect(
            refusal("wait", "1", "--timeout", "soon")
                == "opsctl: wait: --timeout takes a duration such as 90s, 5m or 1h30m, not \"soon\"")
        #expect(
            refusal("wait", "1", "--timeout", "99999999999h")
                == "opsctl: wait: --timeout takes a duration of at most 36525d, not \"99999999999h\"")
    }

    @Test func `a number is finite`() {
        for value in ["nan", "inf", "1e400"] {
            #expect(
                refusal("submit", "--retry", "1", "--retry-factor", value, "true")
                    == "opsctl: submit: --retry-factor takes a number, not \"\(value)\"")
        }
        #expect(refusal("submit", "--retry", "1", "--retry-factor", "1.5", "true") == nil)
    }

    @Test func `the kind of a value with a placeholder is checked after the placeholder is replaced`() throws {
        #expect(try parse("submit", "--delay", "{}m", "--array", "1-3", "true").text(.delay) == "{}m")
        let refused = "opsctl: submit: --delay takes a duration such as 90s, 5m or 1h30m, not"
        #expect(refusal("submit", "--delay", "{}m", "true") == refused + " \"{}m\"")
        #expect(refusal("submit", "--delay", "m", "--array", "1-3", "true") == refused + " \"m\"")
    }

    @Test func `commands that exit with an operation's status are recognised`() {
        for (words, expected) in [
            (["run", "--foo"], true), (["wait", "--exit-code", "1"], true), (["wait", "1"], false),
        ] {
            var parser = Parser(words)
            // Only the flag matters here, not the result of parsing.
            _ = try? parser.parse()
            #expect(parser.isForOperation == expected)
        }
    }
}
