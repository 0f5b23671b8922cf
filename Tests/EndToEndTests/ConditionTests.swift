import Foundation
import Testing

@Suite struct ConditionTests {
    @Test func aFalseConditionFailsSkipsOrWaits() throws {
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

    /// The machine's load, memory, disk and network, and the dependencies: each once true and once false.
    @Test func whatTheMachineIsAskedIsTrueOrFalse() throws {
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

    @Test func anExecConditionHasABoundOfItsOwn() throws {
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

    @Test func whatIsProvidedRunsFirst() throws {
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

    @Test func `the stopped process of a condition does not outlive its runner`() throws {
        let machine = try Machine()
        let path = machine.state + "/pid"
        _ = try machine.graph(
            """
            {"operations": [{"name": "asks", "command": ["true"], "conditions": [
              {"exec": ["sh", "-c", "echo $$ > \(path).new; mv \(path).new \(path); kill -STOP $$"]}]}]}
            """)
        func pid() throws -> Int32? { try? Int32(String(contentsOfFile: path, encoding: .utf8).dropLast()) }
        try waitUntil("the condition does not start") { try pid() != nil }
        let first = try #require(try pid())
        let runner = try #require(try machine.ok("status", "--json").object["runnerPid"] as? Int32)
        #expect(kill(runner, SIGKILL) == 0)
        try waitUntil("process \(first) of the condition lives on") { kill(first, 0) != 0 }
    }
}
