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
}
