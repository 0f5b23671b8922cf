import Foundation
import PseudoTerminal
import Testing

@Suite struct SecretTests {
    private let value = "hunter2-\(UInt64.random(in: 1 << 60...UInt64.max))"

    private func file(_ machine: Machine, _ text: String, name: String = "token") throws -> String {
        let path = machine.state + "/../\(name)-\(UInt32.random(in: 0...UInt32.max))"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `a process has a value that is stored and shown nowhere`() throws {
        let machine = try Machine()
        let path = try file(machine, value + "\n")
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        let id = try machine.submit(
            "--name", "deploy", "--secret", "TOKEN=\(path)", "--env", "TOKEN=other", "--observer", "finish=env",
            "--shell", "printf %s \"$TOKEN\" | wc -c; exec true")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 0)
        #expect(try machine.ok("log", "\(id)").out == "\(value.utf8.count)\n")
        let shown = try machine.ok("show", "\(id)", "--json")
        #expect(shown.out.contains(#""secrets":{"TOKEN":{"file":"#) && !shown.out.contains(value))
        _ = try machine.ctl("status")
        try machine.killDaemon()
        let tree = try #require(FileManager.default.enumerator(atPath: machine.state))
        for case let name as String in tree {
            let bytes = FileManager.default.contents(atPath: machine.state + "/" + name) ?? Data()
            #expect(bytes.range(of: Data(value.utf8)) == nil, "\(name) has the value")
        }
        try machine.start()
    }

    @Test func `the log has stars in its place, also where it was written in pieces`() throws {
        let machine = try Machine()
        let path = try file(machine, value)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        let half = value.count / 2
        let id = try machine.submit(
            "--name", "leaks", "--secret", "TOKEN=\(path)", "--shell",
            "echo before $TOKEN after; printf %s \(value.prefix(half)); sleep 0.2; printf '%s\\n' \(value.dropFirst(half)); printf %s \(value.prefix(half))"
        )
        let followed = try machine.begin(["log", "-f", "\(id)"]).wait(seconds: 20)
        let expected = "before *** after\n***\n\(value.prefix(half))"
        #expect(followed.out == expected)
        #expect(try machine.ok("log", "\(id)").out == expected)
        #expect(try machine.ok("log", "\(id)", "--grep", "after").out == "before *** after\n")
        #expect(try machine.ok("log", "--queue", "default").out.contains("leaks | ***\n"))
        let run = try machine.ctl("run", "--secret", "TOKEN=\(path)", "--shell", "echo $TOKEN")
        #expect(run.out == "***\n")
        #expect(!(try machine.ok("log", "\(id)", "--json").out.contains(Data(value.utf8).base64EncodedString())))
    }

    @Test func `a secret of several lines is masked in each selection that begins or ends inside it`() throws {
        let machine = try Machine()
        let lines = ["\(value)-first", "\(value)-second", "\(value)-third"]
        let path = try file(machine, lines.joined(separator: "\n") + "\n")
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        let graph = try machine.graph(
            #"""
            {"operations": [{"name": "leaks", "secrets": {"TOKEN": {"file": "\#(path)"}},
              "shell": "echo before; echo \"$TOKEN\"; echo after; exit 1"}]}
            """#)
        _ = try machine.ctl("wait", "--graph", graph)
        let whole = "before\n***\nafter\n"
        #expect(try machine.ok("log", "leaks").out == whole)
        for (count, expected) in [("1", "after\n"), ("2", "***\nafter\n"), ("3", "***\nafter\n"), ("5", whole)] {
            #expect(try machine.ok("log", "leaks", "-n", count).out == expected)
            #expect(try machine.ok("log", "leaks", "-f", "-n", count).out == expected)
        }
        #expect(try machine.ok("log", "-g", graph, "-n", "2").out == "leaks | ***\nleaks | after\n")
        let row = try #require(try machine.ok("log", "leaks", "-n", "2", "--json").objects.first)
        #expect(row["data"] as? String == Data("***\nafter\n".utf8).base64EncodedString())
        // An offset is that in the log, whose first bytes are "before" and two lines of the secret.
        #expect(row["offset"] as? Int == 7 + lines[0].utf8.count + lines[1].utf8.count + 2)
        // The last ten lines, which a terminal shows of a failure, begin inside the secret.
        let long = try machine.submit("--secret", "TOKEN=\(path)", "--shell", "echo \"$TOKEN\"; seq 8; exit 1")
        let terminal = try machine.terminal(["wait", "--progress", "\(long)"])
        #expect(try terminal.wait(seconds: 20) == 1)
        let shown = String(decoding: terminal.bytes, as: UTF8.self)
        #expect(shown.contains("| ***") && !shown.contains(value), "\(shown)")
    }

    @Test func `log hides the beginning of a secret while it may be continued`() throws {
        let machine = try Machine()
        let path = try file(machine, value)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        let gate = Gate(machine)
        let half = value.prefix(value.count / 2)
        let id = try machine.submit(
            "--secret", "TOKEN=\(path)", "--shell",
            "printf 'before %s' \(half); read x < \(gate.path); echo \(value.dropFirst(half.count)); printf %s \(half)")
        try waitUntil("no output") { try machine.ctl("log", "\(id)").out.hasPrefix("before ") }
        #expect(try machine.ok("log", "\(id)").out == "before ")
        #expect(try machine.ok("log", "\(id)", "--until", "now").out == "before ")
        gate.open()
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)").out == "before ***\n\(half)")
    }

    @Test func `a secret that a selection by time cuts is masked`() throws {
        let machine = try Machine()
        let path = try file(machine, value + "\n" + value)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        let gate = Gate(machine)
        let id = try machine.submit(
            "--secret", "TOKEN=\(path)", "--shell",
            "echo before; echo \(value); read x < \(gate.path); echo \(value); echo after")
        let notes = "\(machine.state)/logs/0/\(id).1.log.times"
        try waitUntil("no times at \(notes)") { FileManager.default.fileExists(atPath: notes) }
        let between = try machine.betweenWrites()
        gate.open()
        _ = try machine.ctl("wait", "\(id)")
        #expect(try machine.ok("log", "\(id)", "--until", between).out == "before\n***")
        #expect(try machine.ok("log", "\(id)", "--since", between).out == "***\nafter\n")
        #expect(try machine.ok("log", "\(id)", "--since", between, "--grep", "\\*").out == "***\n")
    }

    @Test func `the end of a secret whose beginning was dropped is masked`() throws {
        let machine = try Machine(start: false)
        try machine.start(["--log-limit", "64K"])
        let secret = (0..<1000).map { "\(value)-\($0)" }.joined(separator: "\n")
        let path = try file(machine, secret)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in /tmp is no failure
        // The log is cut at the beginning of a page, so the cut is inside one of these secrets, or right before one.
        let id = try machine.submit(
            "--secret", "TOKEN=\(path)", "--shell", "for i in $(seq 30); do cat \(path); done; echo end")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "30s").status == 0)
        let log = try machine.ok("log", "\(id)")
        #expect(log.err.contains("(log-limit)"), "\(log.err)")
        #expect(log.out.hasSuffix("***end\n") && !log.out.contains(value), "\(log.out)")
        #expect(!(try machine.ok("log", "\(id)", "--since", "1h").out.contains(value)))
        #expect(!(try machine.ok("log", "\(id)", "-n", "100000").out.contains(value)))
    }

    @Test func `what is wrong with a secret is said, and never its value`() throws {
        let machine = try Machine()
        let missing = try machine.submit("--secret", "A=/nonexistent", "--", "true")
        let fifo = machine.state + "/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        let large = try file(machine, String(repeating: "x", count: 70_000), name: "large")
        defer { try? FileManager.default.removeItem(atPath: large) }  // a leftover in /tmp is no failure
        let big = try machine.submit("--secret", "B=\(large)", "--", "true")
        let piped = try machine.submit("--secret", "C=\(fifo)", "--", "true")
        _ = try machine.ctl("wait", "--all", "--timeout", "20s")
        let cause = try machine.show(missing)["cause"] as? String ?? ""
        #expect(cause.contains("secret A") && cause.contains("no such file"), "\(cause)")
        #expect(try (machine.show(big)["cause"] as? String ?? "").contains("secret B: file too large"))
        #expect(try (machine.show(piped)["cause"] as? String ?? "").contains("secret C: invalid argument"))
        for (secrets, words) in [
            (#"{"A": {}}"#, #"needs either "file" or "credential""#), (#"{"OPS_ID": {"file": "/x"}}"#, "opsd sets"),
            (#"{"A": {"credential": "../x"}}"#, "is not the name of a credential"),
            (#"{"A B=": {"file": "/x"}}"#, "not the name of a variable"),
            (#"{"A": {"file": "/x", "credential": "y"}}"#, "needs either"),
        ] {
            let graph = machine.state + "/graph.json"
            try #"[{"command": ["true"], "secrets": \#(secrets)}]"#.write(
                toFile: graph, atomically: true, encoding: .utf8)
            let refused = try machine.ctl("submit", "-f", graph)
            #expect(refused.status == 5 && refused.err.contains(words), "\(secrets): \(refused.err)")
        }
    }
}
