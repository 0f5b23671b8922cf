import Foundation
import Testing

@Suite struct LogTests {
    @Test func `log shows both streams in order and the last lines on request`() throws {
        let machine = try Machine()
        let id = try machine.submit("--shell", "echo 1; echo 2 >&2; echo 3")
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)").out == "1\n2\n3\n")
        #expect(try machine.ok("log", "\(id)", "-n", "2").out == "2\n3\n")
        #expect(try machine.ctl("log", "99").status == 4)
        #expect(try machine.ctl("log", "\(id)", "--attempt", "2").status == 4)
        #expect(try machine.ctl("log").status == 2)
    }

    @Test func `following a log ends with the operation`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit("--shell", "echo before; read x < \(gate.path); echo after")
        let log = try machine.begin(["log", "-f", "\(id)"])
        try machine.await("started", of: id)
        gate.open()
        let output = try log.wait(seconds: 20)
        #expect(output.out == "before\nafter\n")
        #expect(output.status == 0)
    }

    @Test(arguments: [[], ["--attempt", "1"]]) func `following a log waits for the start`(_ more: [String]) throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--shell", "echo begun")
        #expect(try machine.ok("log", "\(id)").out.isEmpty)
        let log = try machine.begin(["log", "-f", "\(id)"] + more)
        try machine.ok("resume", "\(id)")
        #expect(try log.wait(seconds: 20).out == "begun\n")
        let never = try machine.submit("--hold", "--", "true")
        let silence = try machine.begin(["log", "-f", "\(never)"])
        try machine.ok("cancel", "\(never)")
        #expect(try silence.wait(seconds: 20).status == 0)
    }

    @Test func `following a log goes on when the daemon is restarted`() throws {
        let machine = try Machine()
        let first = Gate(machine, "first")
        let second = Gate(machine, "second")
        let id = try machine.submit(
            "--retry", "1", "--retry-backoff", "1ms", "--shell",
            "echo \"$OPS_ATTEMPT one\"; read x < \(first.path); echo \"$OPS_ATTEMPT two\"; read x < \(second.path); exit 1"
        )
        let other = try machine.submit("--", "true")
        let logs = [
            try machine.begin(["log", "-f", "\(id)"]), try machine.begin(["log", "-f", "\(id)", "\(other)"]),
        ]
        for log in logs { try log.until { $0.contains("1 one\n") } }
        try machine.killDaemon()
        first.open()
        try machine.start()
        second.open()
        first.open()
        second.open()
        #expect(try logs[0].wait(seconds: 30).out == "1 one\n1 two\n2 one\n2 two\n")
        let both = try logs[1].wait(seconds: 30)
        #expect(both.status == 0)
        #expect(both.lines == ["1 one", "1 two", "2 one", "2 two"].map { "\(id) | \($0)" })
    }

    @Test func `following a graph goes on when the daemon is restarted`() throws {
        let machine = try Machine()
        let first = Gate(machine, "first")
        let second = Gate(machine, "second")
        let graph = try machine.graph(
            """
            {"operations": [{"name": "a", "shell": "echo 1; read x < \(first.path); echo 2"},
              {"name": "b", "shell": "echo 3; read x < \(second.path); echo 4", "after": ["a"]}]}
            """)
        let log = try machine.begin(["log", "-f", "--graph", graph])
        try log.until { $0.contains("a | 1\n") }
        try machine.killDaemon()
        first.open()
        try machine.start()
        second.open()
        let output = try log.wait(seconds: 30)
        // Each log in its order: after the restart, both are read at the same time.
        for (name, numbers) in [("a", ["1", "2"]), ("b", ["3", "4"])] {
            #expect(output.lines.filter { $0.hasPrefix(name) } == numbers.map { "\(name) | \($0)" })
        }
        #expect(output.lines.count == 4)
        #expect(output.status == 0, "\(output.err)")
    }

    @Test func `lines of several logs start with the names of their operations`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [{"name": "a", "shell": "echo 1; printf half"}, {"name": "other", "shell": "echo 2; echo 3"},
              {"name": "g", "operations": [{"name": "inner", "shell": "echo 4"}]}]}
            """)
        _ = try machine.ctl("wait", "--graph", graph)
        let lines = ["a     | 1", "a     | half", "other | 2", "other | 3"]
        #expect(try machine.ok("log", "a", "other").lines == lines)
        #expect(try machine.ok("log", "--graph", graph).lines == lines + ["inner | 4"])
        #expect(try machine.ok("log", "-f", "1-2", "-n", "1").lines.sorted() == [lines[1], lines[3]])
        #expect(
            try machine.ok("log", "a", "other", "-n", "1", "--color", "always").lines
                == ["\u{1b}[36ma     |\u{1b}[0m half", "\u{1b}[33mother |\u{1b}[0m 3"])
        _ = try machine.graph(#"{"operations": [{"name": "a", "shell": "echo 5"}]}"#)
        _ = try machine.ctl("wait", "--all")
        #expect(try machine.ok("log", "1", "5").lines == ["a@g1 | 1", "a@g1 | half", "a@g2 | 5"])
    }

    /// In a selection, operations without output are left out; naming such an operation is an error.
    @Test func `log leaves out operations whose output is not stored`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"""
            {"operations": [{"name": "lost", "shell": "echo 1", "output": "null"}, {"name": "kept", "shell": "echo 2"},
              {"name": "twice", "shell": "echo 3; [ $OPS_ATTEMPT = 2 ]", "retry": {"limit": 1, "backoff": "1ms"}}]}
            """#)
        #expect(try machine.ok("wait", "--graph", graph).out.isEmpty)
        #expect(try machine.ok("log", "--graph", graph).lines == ["kept  | 2", "twice | 3"])
        #expect(try machine.ok("log", "--all", "--attempt", "2").lines == ["twice | 3"])
        let refusal = try machine.ctl("log", "lost", "kept")
        #expect(refusal.status == 5)
        #expect(refusal.err.contains("operation 1 (lost): its output is not kept (output: null)"), "\(refusal.err)")
        #expect(try machine.ctl("log", "kept", "twice", "--attempt", "2").status == 4)
        let journal = try machine.submit("--output", "journal", "--hold", "--", "true")
        #expect(try machine.ctl("log", "\(journal)").err.contains("journalctl -t opsd-\(journal)\n"))
    }

    @Test func `log shows a chosen attempt and standard error`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--retry", "2", "--retry-backoff", "1ms", "--output", "split", "--shell",
            "echo out $OPS_ATTEMPT; echo err $OPS_ATTEMPT >&2; exit 1")
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)").out == "out 3\n")
        #expect(try machine.ok("log", "\(id)", "--attempt", "1").out == "out 1\n")
        #expect(try machine.ok("log", "\(id)", "--attempt", "2", "--stderr").out == "err 2\n")
        #expect(try machine.ok("log", "\(id)", "--since", "1h").out == "out 1\nout 2\nout 3\n")
        let attempts = try #require(try machine.show(id)["attempts"] as? [[String: Any]])
        let third = try #require(attempts.last?["startedAt"] as? String)
        #expect(try machine.ok("log", "\(id)", "--since", third).out.hasSuffix("out 3\n"))
        #expect(try machine.ok("log", "\(id)", "--since", "0s").out.isEmpty)
        #expect(try machine.ctl("log", "\(id)", "--since", "soon").status == 2)
        #expect(try machine.ctl("log", "\(id)", "--since", "1h", "-n", "1").status == 2)
    }

    @Test func `the output of each attempt begins on a new line`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--retry", "2", "--retry-backoff", "1ms", "--shell", "echo one; printf %s $OPS_ATTEMPT; exit 1")
        _ = try machine.ctl("wait", "\(id)")
        let whole = "one\n1\none\n2\none\n3"
        #expect(try machine.ok("log", "\(id)", "--since", "1h").out == whole)
        #expect(try machine.ok("log", "-f", "\(id)", "--since", "1h").out == whole)
        #expect(try machine.ok("log", "\(id)").out == "one\n3")
    }

    @Test func `lines of all attempts are selected by time and by a regular expression`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--retry", "2", "--retry-backoff", "1ms", "--shell", "echo one; echo $OPS_ATTEMPT; exit 1")
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)", "--until", "now").out == "one\n1\none\n2\none\n3\n")
        #expect(try machine.ok("log", "\(id)", "--until", "1h").out.isEmpty)
        #expect(try machine.ok("log", "\(id)", "--grep", "[0-9]").out == "1\n2\n3\n")
        #expect(try machine.ok("log", "\(id)", "--grep", "[0-9]", "-n", "1").out == "3\n")
        #expect(try machine.ok("log", "\(id)", "--grep", "[0-9]", "--attempt", "2").out == "2\n")
    }

    @Test func `output that --since skips does not count as dropped`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit("--shell", "echo first; read x < \(gate.path); echo second")
        let notes = "\(machine.state)/logs/0/\(id).1.log.times"
        try waitUntil("no times at \(notes)") { FileManager.default.fileExists(atPath: notes) }
        let between = try machine.betweenWrites()
        gate.open()
        _ = try machine.ctl("wait", "\(id)")
        let log = try machine.ok("log", "\(id)", "--since", between)
        #expect(log.out == "second\n" && log.err.isEmpty, "\(log.err)")
    }

    @Test func `log names the number of bytes that log-limit dropped`() throws {
        let machine = try Machine(start: false)
        try machine.start(["--log-limit", "64K"])
        let id = try machine.submit("--shell", "yes 0123456789abcde | head -c 4M; echo end")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let log = try machine.ok("log", "\(id)")
        let whole = (4 << 20) + 4
        #expect(log.out.utf8.count < whole)
        #expect(log.out.hasSuffix("0123456789abcde\nend\n"))
        let dropped = whole - log.out.utf8.count
        #expect(log.err == "opsctl: operation \(id): \(dropped) bytes of its output were dropped (log-limit)\n")
        #expect(try machine.ok("log", "\(id)", "-n", "1").err.isEmpty)
        #expect(try machine.ok("log", "\(id)", "--since", "1h").err == log.err)
    }

    @Test func `many logs are read over one connection and followed with few`() throws {
        let machine = try Machine(start: false)
        try machine.start(workers: 4, ["--connections-per-user", "24"])
        try machine.ok("submit", "--array", "1-300", "--name", "run-{}", "--", "echo", "line {}")
        let follow = try machine.begin(["log", "-f", "--queue", "default"])
        try machine.ok("wait", "--all")
        let all = try machine.ok("log", "--all").lines
        #expect(all.count == 300 && Set(all).count == 300)
        #expect(all.first?.hasSuffix("| line 1") == true)
        let followed = try follow.wait(seconds: 60)
        #expect(followed.status == 0 && Set(followed.lines).count == 300, "\(followed.err)")
    }

    @Test func `lines have the time at which they were written, and are selected by it`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let id = try machine.submit("--name", "slow", "--shell", "echo first; read x < \(gate.path); echo second")
        try machine.await("started", of: id)
        // Waits until the runner has recorded the length of the log.
        let notes = "\(machine.state)/logs/0/\(id).1.log.times"
        try waitUntil("no times at \(notes)") { FileManager.default.fileExists(atPath: notes) }
        let between = try machine.betweenWrites()
        gate.open()
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)", "--until", between).out == "first\n")
        #expect(try machine.ok("log", "\(id)", "--since", between).out == "second\n")
        #expect(try machine.ok("log", "\(id)", "--since", "1h", "--until", "30m").out.isEmpty)
        #expect(try machine.ok("log", "slow", "--queue", "default", "--since", between).out == "slow | second\n")
        let rows = try machine.ok("log", "\(id)", "--time", "--json").objects
        #expect(rows.map { $0["line"] as? String } == ["first", "second"])
        let times = rows.compactMap { $0["at"] as? String }
        #expect(times.count == 2 && times[0] <= between && times[1] >= between, "\(times), \(between)")
        let lines = try machine.ok("log", "\(id)", "--time").out.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (first|second)$/) }, "\(lines)")
    }

    @Test func `an operation that ended within a second has times, too`() throws {
        let machine = try Machine()
        let id = try machine.submit("--shell", "echo quick")
        _ = try machine.ctl("wait", "\(id)")
        let at = try #require(try machine.ok("log", "\(id)", "--time", "--json").objects.first?["at"] as? String)
        let shown = try machine.show(id)
        #expect(at >= shown["startedAt"] as? String ?? "9" && at <= shown["finishedAt"] as? String ?? "")
        #expect(try machine.ok("log", "\(id)", "--since", "1h").out == "quick\n")
        #expect(try machine.ok("log", "\(id)", "--until", "1h").out.isEmpty)
    }

    @Test func `lines are selected by a regular expression, over any selection`() throws {
        let machine = try Machine()
        let first = try machine.submit("--name", "a", "--shell", "echo one; echo two; printf three")
        let second = try machine.submit("--name", "b", "--shell", "echo four; echo five")
        _ = try machine.ctl("wait", "\(first)", "\(second)")
        #expect(try machine.ok("log", "\(first)", "--grep", "^t").out == "two\nthree\n")
        #expect(try machine.ok("log", "a", "b", "--grep", "o|five").out == "a | one\na | two\nb | four\nb | five\n")
        #expect(try machine.ok("log", "--queue", "default", "--grep", "f").out == "b | four\nb | five\n")
        #expect(try machine.ok("log", "--queue", "default", "--grep", "six").out.isEmpty)
        let wrong = try machine.ctl("log", "\(first)", "--grep", "(")
        #expect(wrong.status == 2 && wrong.err.contains("regular expression"), "\(wrong.err)")
        #expect(try machine.ctl("log", "\(first)", "-f", "--until", "now").status == 2)
        #expect(try machine.ctl("log", "\(first)", "-n", "1", "--since", "1h").status == 2)
    }
}

extension Machine {
    /// Returns the current instant, after the clock of files has passed it.
    func betweenWrites() throws -> String {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let between = format.string(from: Date())
        // Times of files come from a coarse clock of the kernel, which advances in steps of some milliseconds.
        let clock = state + "/clock"
        try waitUntil("the clock of files stands still") {
            try Data().write(to: URL(fileURLWithPath: clock))
            let written = try FileManager.default.attributesOfItem(atPath: clock)[.modificationDate] as? Date
            return written.map(format.string) ?? "" > between
        }
        return between
    }
}
