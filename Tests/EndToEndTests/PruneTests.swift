import Foundation
import Testing

@Suite struct PruneTests {
    @Test func `prune removes finished operations and their ids are never used again`() throws {
        let machine = try Machine()
        let held = try machine.submit("--hold", "--", "true")
        let over = try machine.submit("--", "echo", "gone")
        try machine.ok("wait", "\(over)")
        #expect(try machine.ok("prune", "--older-than", "1h", "--json").object["removed"] as? Int == 0)
        #expect(try machine.ok("prune", "--older-than", "0s").out == "removed 1 operation\n")
        #expect(try machine.ctl("show", "\(over)").status == 4)
        #expect(try machine.ctl("log", "\(over)").status == 4)
        #expect(try machine.stateOf(held) == "ready")
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.submit("--", "true") == over + 1)
        #expect(try machine.ctl("prune").status == 2)
    }

    @Test func `a removed log is empty under its other names`() throws {
        let machine = try Machine()
        let link = machine.state + "/link"
        let id = try machine.submit("--shell", "echo text; ln -L /proc/self/fd/1 \(link)")
        try machine.ok("wait", "\(id)")
        #expect(try String(contentsOfFile: link, encoding: .utf8) == "text\n")
        try machine.ok("prune", "\(id)")
        try waitUntil("the link is not empty") { try String(contentsOfFile: link, encoding: .utf8).isEmpty }
        #expect(!FileManager.default.fileExists(atPath: "\(machine.state)/logs/0/\(id).1.log"))
    }

    @Test func `a selection removes the graphs that are wholly selected`() throws {
        let machine = try Machine()
        let single = try machine.submit("--label", "kind=secret", "--", "true")
        let graph = try machine.graph(#"{"operations": [{"command": ["true"]}, {"command": ["true"]}]}"#)
        let waiting = try machine.submit("--hold", "--", "true")
        try machine.ok("wait", "1-3")
        #expect(try machine.ok("prune", "2", "--json").object["removed"] as? Int == 0, "a part of a graph")
        #expect(try machine.ok("prune", "--label", "kind=secret", "--json").object["removed"] as? Int == 1)
        #expect(try machine.ctl("show", "\(single)").status == 4)
        #expect(
            try machine.ok("prune", "--graph", graph, "--older-than", "1h", "--json").object["removed"] as? Int == 0)
        #expect(try machine.ok("prune", "--graph", graph, "--json").object["removed"] as? Int == 2)
        #expect(try machine.ok("prune", "--all", "--json").object["removed"] as? Int == 0)
        #expect(try machine.stateOf(waiting) == "ready")
        #expect(try machine.ctl("prune").status == 2)
        try machine.ok("check")
    }
}
