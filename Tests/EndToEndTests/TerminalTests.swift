import Foundation
import PseudoTerminal
import Testing

/// opsctl with pipes, keys and terminals of all kinds.
@Suite struct TerminalTests {
    @Test func `opsctl ends quietly when the reader of its output goes away`() throws {
        let machine = try Machine()
        try machine.ok("submit", "--hold", "--array", "1-2000", "--", "true")
        let shell = try Command(
            "/bin/bash", ["-c", "\(Machine.programs)/opsctl ls | head -n 1; echo ${PIPESTATUS[0]}"],
            environment: Machine.environment.merging(["OPS_SOCKET": machine.socket]) { $1 }, in: "/"
        ).wait()
        #expect(shell.err.isEmpty)
        #expect(shell.lines.first?.contains("NAME") == true)
        #expect(shell.lines.last == "141", "as every program that is told SIGPIPE")
    }

    /// opsd closes the connection of a reader that pauses for long; restarting opsd has the same effect sooner.
    @Test(arguments: [["ls", "--json"], ["log", "1"]])
    func `what a slow reader has not got yet comes after the connection has ended`(words: [String]) throws {
        let machine = try Machine()
        try machine.ok("submit", "--shell", "seq 1 400000")
        try machine.ok("wait", "1")
        try machine.ok("submit", "--hold", "--array", "1-3000", "--", "true")
        let path = machine.state + "/pipe"
        mkfifo(path, 0o600)
        let client = try Command(
            "/bin/sh", ["-c", "exec \"$@\" > \"$0\"", path, Machine.programs + "/opsctl"] + words,
            environment: Machine.environment.merging(["OPS_SOCKET": machine.socket]) { $1 }, in: "/")
        let reader = try #require(FileHandle(forReadingAtPath: path))
        var text = try #require(try reader.read(upToCount: 1000))
        try machine.killDaemon()
        try machine.start()
        text += try reader.readToEnd() ?? Data()
        let output = try client.wait()
        #expect(output.status == 0, "\(output.err)")
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        if words[0] == "log" {
            #expect(lines.count == 400_000 && lines.last == "400000")
            #expect(text.count == 2_688_895, "no byte is missing or there twice")
        } else {
            let ids = lines.compactMap { $0.firstMatch(of: #/^\{"id":(\d+),/#).flatMap { Int($0.output.1) } }
            #expect(ids == Array(1...3001))
        }
    }

    /// U+202E reverses the rest of a line, U+009B begins a command for the terminal, and U+200B is invisible.
    @Test func `text of others shows no characters that change how a line reads`() throws {
        let machine = try Machine()
        let evil = "a\u{202e}\u{9b}2J\u{200b}z"
        try machine.ok(
            "submit", "-f", "-", "--graph-name", evil, input: #"[{"name":"a","command":["true","\#(evil)"]}]"#)
        try machine.ok("submit", "--hold", "--label", "k=\(evil)", "--", "true", evil)
        try machine.ok("wait", "1")
        try machine.ok("note", "2", evil)
        let why = try machine.ok("why", "2", "--what-if", "resume 2")
        try machine.ok("cancel", "2", "--reason", evil)
        let columns = "id,name,graph,state,queue,cause,user,command,labels"
        var outputs = [why.out]
        for words in [
            ["ls", "--all", "--columns", columns], ["ls", "--all", "--tree"], ["show", "1"], ["show", "2"],
            ["why", "2"],
            ["graph", "g1"], ["graph", "g2"], ["graph", "g1", "--dot"], ["graph", "g1", "--svg"], ["stats"],
            ["stats", "--timeline"], ["wait", "2"], ["wait", "no\u{202e}such"], ["show", evil], ["log", evil],
            ["__complete", "graph", ""],
        ] {
            let output = try machine.begin(words).wait()
            outputs.append(output.out + output.err)
        }
        for output in outputs {
            #expect(!output.unicodeScalars.contains { ["\u{202e}", "\u{9b}", "\u{200b}"].contains($0) }, "\(output)")
        }
        // Programs get the text unchanged; on a person's terminal it is escaped.
        #expect(try machine.show(2)["note"] as? String == evil)
        for words in [["show", "2", "--json"], ["export", "g1", "--otlp"]] {
            #expect(try machine.begin(words).wait().out.contains(evil))
            let program = try machine.terminal(words)
            #expect(try program.wait() == 0)
            let text = String(decoding: program.bytes, as: UTF8.self)
            #expect(text.contains(#"a\u202e\u009b2J\u200bz"#) && !text.contains("\u{202e}"), "\(text)")
        }
    }

    @Test func `the output of an operation cannot control a terminal`() throws {
        let machine = try Machine()
        let script = #"printf '\033]0;title\007\033[2J\rfake \033[32mgreen\n'; exit 1"#
        let id = try machine.submit("--name", "evil", "--shell", script)
        _ = try machine.ctl("wait", "\(id)")
        for (words, line) in [
            (["log", "\(id)"], "?]0;title??[2J\rfake"), (["log", "--grep", "fake", "\(id)"], "?]0;title??[2J?fake"),
            (["log", "--all"], "evil | ?]0;title??[2J?fake"),
            (["wait", "--progress", "\(id)"], "| ?]0;title??[2J?fake"),
        ] {
            let program = try machine.terminal(words)
            _ = try program.wait()
            let text = String(decoding: program.bytes, as: UTF8.self)
            #expect(text.contains(line + " \u{1b}[32mgreen"), "\(words): \(text)")
        }
        #expect(
            try machine.ok("log", "\(id)").out == "\u{1b}]0;title\u{7}\u{1b}[2J\rfake \u{1b}[32mgreen\n",
            "a program gets each byte")
    }

    @Test(arguments: [["wait", "1"], ["wait", "--progress", "1"], ["watch"], ["log", "-f", "1"]])
    func `an interrupt ends waiting commands quietly`(_ words: [String]) throws {
        let machine = try Machine()
        let id = try machine.submit("--name", "long", "--", "sh", "-c", "echo begun; sleep 600")
        try machine.await("started", of: id)
        let program = try machine.terminal(words, environment: ["TERM": "dumb"])
        if words[0] == "log" {
            try program.until("its output") { $0.contains("begun") }
        } else if words[0] == "watch" {
            // The watcher shows only later events, so events are caused until it shows one.
            try waitUntil("it does not listen") {
                try machine.ok("note", "1", "something")
                try? program.until("an event", seconds: 0.2) { $0.contains("edited") }  // it may not listen yet
                return program.screen.contains("edited")
            }
        } else {
            try program.untilItSleeps()
        }
        program.type("\u{3}")
        #expect(try program.wait() == 130)
        #expect(!program.screen.text.contains("opsctl:"), "\(program.screen.text)")
        #expect(try machine.stateOf(id) == "executing")
    }

    @Test func `progress is a live block on a terminal`() throws {
        let machine = try Machine(workers: 1)
        let gate = Gate(machine)
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "first", "shell": "read x < \(gate.path)"},
              {"name": "second", "shell": "read x < \(gate.path); exit 3", "after": ["first"]},
              {"name": "third", "command": ["true"], "after": ["second"]}]}
            """)
        let program = try machine.terminal(["wait", "--graph", graph, "--progress"])
        try program.until("the first") { $0.contains("0/3 done, 1 executing") && $0.contains("● 1 first") }
        gate.open()
        try program.until("the second") { $0.contains("1/3 done, 1 executing") && $0.contains("● 2 second") }
        #expect(!program.screen.contains("● 1 first"), "the block is drawn over itself")
        program.resize(columns: 30, rows: 10)
        gate.open()
        #expect(try program.wait() == 1)
        #expect(program.screen.lines.allSatisfy { $0.count <= 30 })
        #expect(program.screen.contains("✗ 2 second failed: exit status"))
        #expect(program.isCooked)
    }

    @Test func `progress goes on when the daemon is restarted`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let bad = try machine.submit("--name", "bad", "--", "false")
        let id = try machine.submit("--name", "long", "--shell", "read x < \(gate.path)")
        let program = try machine.terminal(["wait", "--progress", "\(bad)", "\(id)"])
        try program.until("both") { $0.contains("1/2 done") && $0.contains("● 2 long") }
        try machine.killDaemon()
        try machine.start()
        gate.open()
        #expect(try program.wait() == 1)
        #expect(program.screen.contains("2/2 done"))
        #expect(program.screen.lines.count { $0.contains("1 bad failed") } == 1)
    }

    @Test func `a dumb terminal gets plain lines`() throws {
        let machine = try Machine()
        let bad = try machine.submit("--name", "bad", "--", "false")
        for words in [["wait", "--progress", "\(bad)"], ["ls"], ["show", "\(bad)"], ["status"]] {
            let program = try machine.terminal(words, environment: ["TERM": "dumb", "NO_COLOR": ""])
            _ = try program.wait()
            #expect(!program.bytes.contains(0x1b), "\(words)")
            #expect(!program.bytes.isEmpty, "\(words)")
        }
    }

    @Test func `colours are used only on terminals that want them`() throws {
        let machine = try Machine()
        _ = try machine.submit("--", "true")
        let hasColours = { (environment: [String: String], more: [String]) throws -> Bool in
            let program = try machine.terminal(["ls"] + more, environment: environment)
            #expect(try program.wait() == 0)
            return program.bytes.contains(0x1b)
        }
        #expect(try hasColours(["NO_COLOR": ""], []))
        #expect(try !hasColours(["NO_COLOR": "1"], []))
        #expect(try !hasColours(["NO_COLOR": ""], ["--color", "never"]))
        #expect(try machine.ok("ls", "--color", "always").out.contains("\u{1b}["))
        #expect(try !machine.ok("ls").out.contains("\u{1b}"))
    }

    @Test func `symbols, trees and bars are ASCII in a locale without UTF-8`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"{"operations": [{"name": "g", "operations": [{"name": "a", "command": ["true"]}, "#
                + #"{"shell": "exit 3 # é", "after": ["a"]}]}]}"#)
        _ = try machine.ctl("wait", "--graph", graph)
        for words in [["ls", "-a"], ["ls", "-a", "--tree"], ["graph", graph], ["status"], ["show", "1"]] {
            let environment = ["LC_ALL": "C", "OPS_SOCKET": machine.socket]
            let output = try Command(
                Machine.programs + "/opsctl", words,
                environment: Machine.environment.merging(environment) { $1 }, in: "/tmp"
            ).wait()
            // Words of users are not changed.
            let text = output.out.replacingOccurrences(of: "é", with: "e")
            #expect(text.utf8.allSatisfy { $0 < 0x80 } && output.status == 0, "\(words): \(text)")
        }
        #expect(try machine.ok("ls", "-a").out.contains("✗ failed"))
    }

    @Test(arguments: [40, 80, 200]) func `lines fit the terminal even with long names`(_ columns: Int) throws {
        let machine = try Machine()
        _ = try machine.submit("--hold", "--name", String(repeating: "x", count: 200), "--", "true")
        _ = try machine.submit(
            "--hold", "--label", "who=\(String(repeating: "日本語", count: 40))", "--", "echo", "日本語の長い引数")
        for words in [
            ["ls"], ["ls", "--tree"], ["show", "1"], ["show", "2"], ["status"], ["graph", "g1"], ["why", "1"],
        ] {
            let program = try machine.terminal(words, columns: columns, rows: 60)
            #expect(try program.wait() == 0)
            // A line that is too long would continue in the next row, and no row of opsctl begins with x or half a
            // word.
            #expect(
                !program.screen.lines.contains { $0.hasPrefix("xx") || $0.hasPrefix("本") }, "\(words) in \(columns)")
        }
    }
}

extension TerminalProgram {
    /// Waits until the process sleeps in a system call because it has nothing to do.
    func untilItSleeps() throws {
        var quiet = 0
        try waitUntil("it is busy") {
            let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            let isAsleep = stat.components(separatedBy: ") ").last?.hasPrefix("S") == true
            quiet = isAsleep ? quiet + 1 : 0
            return quiet == 10
        }
    }
}
