import Foundation
import Testing

@Suite struct ConditionTests {
    @Test func `a false condition fails, skips or delays its operation`() throws {
        let machine = try Machine()
        let path = machine.state + "/there"
        let graph = try machine.graph(
            """
            {"operations": [
              {"name": "fails", "command": ["true"], "conditions": [{"pathExists": "\(path)"}]},
              {"name": "skips", "command": ["true"], "conditions": [{"pathExists": "\(path)", "otherwise": "skip"}]},
              {"name": "not", "command": ["true"], "conditions": [{"not": {"pathExists": "\(path)"}}]},
              {"name": "exec", "command": ["true"], "conditions": [{"exec": ["false"]}]},
              {"name": "waits", "command": ["true"], "conditions": [{"pathExists": "\(path)", "otherwise": "wait", "every": "50ms"}]}]}
            """)
        #expect(try machine.ctl("wait", "fails", "skips", "not", "exec", "--timeout", "20s").status == 1)
        #expect(try machine.outcome("fails") == "failed")
        #expect(try machine.show("fails")["startedAt"] is NSNull)
        #expect(try machine.outcome("skips") == "skipped")
        #expect(try machine.outcome("not") == "succeeded")
        #expect(try machine.outcome("exec") == "failed")
        let why = try #require(try machine.ok("why", "waits", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.compactMap { $0["kind"] as? String } == ["condition"])
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(try machine.ctl("wait", "waits", "--timeout", "20s").status == 0)
        _ = graph
    }

    /// Checks conditions on load, memory, disk, network and dependencies, each once true and once false.
    @Test func `each condition about the machine can be true and false`() throws {
        let machine = try Machine()
        let conditions: [(yes: String, no: String, cause: String)] = [
            (#"{"loadBelow": 1000000}"#, #"{"loadBelow": 0.000001}"#, "the load is "),
            (#"{"memoryAvailable": "1M"}"#, #"{"memoryAvailable": "1000000G"}"#, "M are available"),
            (
                #"{"freeSpace": {"path": "/", "atLeast": 1}}"#, #"{"freeSpace": {"path": "/", "atLeast": "1000000G"}}"#,
                "has less than"
            ),
            (#"{"not": {"reachable": "127.0.0.1:1"}}"#, #"{"reachable": "127.0.0.1:1"}"#, "is not reachable"),
            (
                #"{"not": {"dependenciesSucceeded": true}}"#, #"{"dependenciesSucceeded": true}"#,
                "(dependenciesSucceeded) is false: "
            ),
        ]
        for (place, asked) in conditions.enumerated() {
            let after = #""after": [{"op": "bad", "when": "finished"}]"#
            _ = try machine.graph(
                """
                {"name": "asks\(place)", "operations": [
                  {"name": "bad", "command": ["false"]},
                  {"name": "yes", "command": ["true"], "conditions": [\(asked.yes)], \(after)},
                  {"name": "no", "command": ["true"], "conditions": [\(asked.no)], \(after)}]}
                """)
            #expect(try machine.ctl("wait", "yes", "no", "--timeout", "60s").status == 1)
            #expect(try machine.outcome("yes") == "succeeded", "\(asked.yes)")
            let cause = try machine.show("no")["cause"] as? String ?? ""
            #expect(cause.contains("is false") && cause.contains(asked.cause), "\(cause)")
        }
    }

    @Test func `the cause of a false negation does not state the opposite`() throws {
        let machine = try Machine()
        let tests = [
            (#"{"pathExists": "/"}"#, ") is false"),
            (#"{"freeSpace": {"path": "/", "atLeast": 1}}"#, ") is false"),
            (#"{"window": "0:00-24:00"}"#, ") is false: the time is inside the window"),
        ]
        for (place, (test, end)) in tests.enumerated() {
            let name = "asks\(place)"
            _ = try machine.graph(
                #"{"operations": [{"name": "\#(name)", "command": ["true"], "conditions": [{"not": \#(test)}]}]}"#)
            #expect(try machine.ctl("wait", name, "--timeout", "60s").status == 1)
            let cause = try machine.show(name)["cause"] as? String ?? ""
            #expect(cause.hasSuffix(end), "\(cause)")
        }
    }

    @Test func `an exec condition has a timeout of its own`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            """
            {"operations": [{"name": "x", "command": ["true"],
              "conditions": [{"exec": ["sleep", "600"], "timeout": "100ms"}]}]}
            """)
        #expect(try machine.ctl("wait", "x", "--timeout", "60s").status == 1)
        let row = try machine.show("x")
        #expect(row["attempt"] as? Int == 0)
        #expect((row["cause"] as? String)?.contains("no answer in time") == true, "\(row["cause"] ?? "")")
    }

    @Test func `the operation that provides a path runs before the one that needs it`() throws {
        let machine = try Machine()
        let path = machine.state + "/made"
        let graph = try machine.graph(
            """
            {"operations": [{"name": "user", "command": ["true"],
              "conditions": [{"pathExists": "\(path)", "provide": {"name": "maker", "command": ["touch", "\(path)"]}}]}]}
            """)
        #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
        #expect(try machine.outcome("maker") == "succeeded")
        #expect(try machine.outcome("user") == "succeeded")
    }

    /// Waits for the file in which the process of a condition writes its pid.
    private func pidOfCondition(_ path: String) throws -> Int32 {
        func pid() -> Int32? { try? Int32(String(contentsOfFile: path, encoding: .utf8).dropLast()) }
        try waitUntil("the condition does not start") { pid() != nil }
        return try #require(pid())
    }

    @Test func `the stopped process of a condition does not outlive its runner`() throws {
        let machine = try Machine()
        let path = machine.state + "/pid"
        _ = try machine.graph(
            """
            {"operations": [{"name": "asks", "command": ["true"], "conditions": [
              {"exec": ["sh", "-c", "echo $$ > \(path).new; mv \(path).new \(path); kill -STOP $$"]}]}]}
            """)
        let first = try pidOfCondition(path)
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        #expect(kill(runner, SIGKILL) == 0)
        try waitUntil("process \(first) of the condition lives on") { kill(first, 0) != 0 }
    }

    @Test func `opsd restarts while a child of a condition outlives its process`() throws {
        let machine = try Machine()
        let path = machine.state + "/pid"
        _ = try machine.graph(
            """
            {"operations": [{"name": "asks", "command": ["true"], "conditions": [
              {"exec": ["sh", "-c", "test -e \(path) || { trap '' TERM; sleep 600 & echo $$ > \(path).new; mv \(path).new \(path); }"]}]}]}
            """)
        let first = try pidOfCondition(path)
        try waitUntil("process \(first) of the condition does not end") { kill(first, 0) != 0 }
        try machine.killDaemon()
        _ = try machine.start()
        #expect(try machine.ctl("wait", "asks", "--timeout", "20s").status == 0)
    }

    @Test func `an operation whose outputs are up to date succeeds without an attempt`() throws {
        let machine = try Machine()
        let directory = machine.state + "/work"
        try FileManager.default.createDirectory(atPath: directory + "/src/deep", withIntermediateDirectories: true)
        func write(_ name: String, at seconds: Double) throws {
            let path = directory + "/" + name
            try "x".write(toFile: path, atomically: true, encoding: .utf8)
            let date = Date(timeIntervalSince1970: 1_700_000_000 + seconds)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        func build(_ inputs: String, _ outputs: String) throws -> [String: Any] {
            let graph = try machine.graph(
                """
                {"operations": [
                  {"name": "build", "command": ["true"], "directory": "\(directory)", "conditions": [
                    {"newer": {"inputs": \(inputs), "outputs": \(outputs)}, "otherwise": "succeed"}]},
                  {"name": "after", "command": ["true"], "after": ["build"]}]}
                """)
            #expect(try machine.ctl("wait", "--graph", graph, "--timeout", "20s").status == 0)
            return try machine.show("build@\(graph)")
        }
        let sources = #"["src/**/*.c", "src/*.h"]"#
        try write("src/deep/a.c", at: 10)
        try write("src/b.c", at: 20)
        #expect(try build(sources, #"["a.o"]"#)["attempt"] as? Int == 1, "there is no output")
        try write("a.o", at: 15)
        #expect(try build(sources, #"["a.o"]"#)["attempt"] as? Int == 1, "the output is older than an input")
        try write("a.o", at: 20)
        let done = try build(sources, #"["a.o"]"#)
        #expect(done["attempt"] as? Int == 0 && done["outcome"] as? String == "succeeded")
        #expect(done["cause"] as? String == "up to date" && done["startedAt"] is NSNull)
        #expect(try machine.ctl("wait", "\(done["id"] as? Int ?? 0)", "--exit-code").status == 0)
        try write("a file; with $(signs)", at: 30)
        #expect(try build(#"["a file; with $(signs)"]"#, #"["a.o"]"#)["attempt"] as? Int == 1)
        #expect(try build(#"["missing"]"#, #"["a.o"]"#)["attempt"] as? Int == 1)
        #expect(try build(sources, #"["a.o", "*.exe"]"#)["attempt"] as? Int == 1)
    }

    @Test func `a condition that cannot be evaluated fails its operation, and the cause says why`() throws {
        let machine = try Machine()
        let conditions = [
            (#"{"exec": ["chekc-db"], "otherwise": "skip"}"#, "cannot start: exec chekc-db: "),
            (#"{"exec": ["sh", "-c", "kill -9 $$"], "otherwise": "skip"}"#, "killed by SIGKILL"),
            (#"{"exec": ["sh", "-c", "trap 'exit 0' TERM; sleep 60"], "timeout": "100ms"}"#, "no answer in time"),
            (
                #"{"not": {"freeSpace": {"path": "/nonexistent", "atLeast": 1}}}"#,
                "cannot be evaluated: /nonexistent: no such file or directory"
            ),
        ]
        for (place, (condition, cause)) in conditions.enumerated() {
            let name = "asks\(place)"
            _ = try machine.graph(
                #"{"operations": [{"name": "\#(name)", "command": ["true"], "conditions": [\#(condition)]}]}"#)
            #expect(try machine.ctl("wait", name, "--timeout", "60s").status == 1)
            let row = try machine.show(name)
            #expect(row["outcome"] as? String == "failed", "\(condition)")
            let text = row["cause"] as? String ?? ""
            #expect(text.contains(cause) && !text.contains("is false"), "\(text)")
        }
        _ = try machine.graph(
            """
            {"operations": [{"name": "nowhere", "command": ["true"], "directory": "/nonexistent",
              "conditions": [{"pathExists": "/tmp"}]}]}
            """)
        #expect(try machine.ctl("wait", "nowhere", "--timeout", "60s").status == 1)
        let cause = try machine.show("nowhere")["cause"] as? String ?? ""
        #expect(cause.contains("cannot start: directory /nonexistent: "), "\(cause)")
    }

    @Test func `free space is found without the PATH of the operation`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            """
            {"operations": [{"name": "asks", "command": ["/bin/true"], "environment": {"PATH": "/nonexistent"},
              "conditions": [{"freeSpace": {"path": "/", "atLeast": 1}}]}]}
            """)
        #expect(try machine.ctl("wait", "asks", "--timeout", "60s").status == 0)
    }

    @Test func `the cause of a success without an attempt is listed, and shown while its graph runs`() throws {
        let machine = try Machine()
        let graph = #"""
            {"operations": [
              {"name": "done", "command": ["false"], "conditions": [{"exec": ["false"], "otherwise": "succeed"}]}]}
            """#
        let run = try machine.ctl("run", "-f", "-", input: graph)
        #expect(run.lines.last == "✓ 1 done succeeded: up to date", "\(run.out)")
        #expect(try machine.ok("ls").out.contains("up to date"))
        #expect(try machine.ok("ls", "--tree").out.contains("up to date"))
    }

    @Test func `a condition without an answer proves nothing to be up to date`() throws {
        let machine = try Machine()
        _ = try machine.graph(
            """
            {"operations": [
              {"name": "slow", "command": ["true"],
               "conditions": [{"exec": ["sleep", "60"], "timeout": "50ms", "otherwise": "succeed"}]},
              {"name": "false", "command": ["true"], "conditions": [{"exec": ["false"], "otherwise": "succeed"}]}]}
            """)
        _ = try machine.ctl("wait", "slow", "false", "--timeout", "20s")
        #expect(try machine.outcome("slow") == "failed")
        #expect(try machine.outcome("false") == "succeeded")
        #expect(try machine.show("false")["cause"] as? String == "up to date")
        let run = try machine.ctl("run", "--condition", "succeed:pathExists=/nonexistent", "--", "false")
        #expect(run.status == 0 && run.out.isEmpty, "\(run.err)")
    }
}
