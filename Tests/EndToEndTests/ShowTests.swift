import Foundation
import Testing

@Suite struct ShowTests {
    @Test func `show names dependencies and causes`() throws {
        let machine = try Machine()
        let build = try machine.submit("--name", "build", "--", "false")
        let test = try machine.submit("--name", "test", "--after", "build", "--", "true")
        // Submitted when the dependency has already been skipped, so only the store knows it.
        #expect(try machine.ctl("wait", "\(test)").status == 1)
        let deploy = try machine.submit("--after", "\(test)", "--", "true")
        #expect(try machine.ctl("wait", "--all").status == 1)
        #expect(try machine.show("build")["cause"] as? String == "exit status 1")
        let skipped = try machine.show(deploy)
        #expect(skipped["outcome"] as? String == "skipped")
        #expect(skipped["cause"] as? String == "dependency \(build) (build) failed", "the ROOT cause")
        let edge = try #require((skipped["dependencies"] as? [[String: Any]])?.first)
        #expect(edge["id"] as? Int == test)
        #expect(edge["satisfied"] as? Bool == false)
    }

    @Test func `an operation that is named twice is shown once`() throws {
        let machine = try Machine()
        let id = try machine.submit("--name", "build", "--", "echo", "built")
        #expect(try machine.ctl("wait", "\(id)", "--timeout", "20s").status == 0)
        for verb in ["show", "why"] {
            #expect(try machine.ok(verb, "--json", "\(id)", "build").lines.count == 1, "\(verb)")
        }
        #expect(try machine.ok("log", "\(id)", "build").lines == ["build | built"])
    }

    @Test func `show expands lists and ranges`() throws {
        let machine = try Machine()
        for name in ["a", "b", "c", "d"] { _ = try machine.submit("--name", name, "--hold", "--", "true") }
        func shown(_ operand: String) throws -> [Int] {
            try machine.ok("show", "--json", operand).objects.compactMap { $0["id"] as? Int }
        }
        #expect(try shown("1-3") == [1, 2, 3])
        #expect(try shown("3,1") == [3, 1])
        #expect(try shown("b,d") == [2, 4])
        for verb in ["show", "why"] {
            let nothing = try machine.ctl(verb, "7-9")
            #expect(nothing.status == 4 && nothing.err.contains("no operation in 7-9"), "\(verb): \(nothing.err)")
        }
        #expect(try machine.ctl("show", "1,nobody").status == 4)
    }

    @Test func `show exits with 4 for an unknown operation`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("show", "99").status == 4)
        #expect(try machine.ctl("show", "nobody").status == 4)
    }

    @Test func `show names all that was given and the process`() throws {
        let machine = try Machine()
        let gate = Gate(machine, "gate")
        let id = try machine.submit(
            "--retry", "3", "--grace", "2s", "--success-codes", "0,3", "--limit", "nice=5", "--leftovers", "wait",
            "--observer", "finish=true", "--condition", "wait:loadBelow=10000", "--stdin", "/dev/zero", "--shell",
            "read x < \(gate.path)")
        try machine.await("started", of: id)
        var row = try machine.show(id)
        #expect((row["retry"] as? [String: Any])?["limit"] as? Int == 3)
        #expect(row["grace"] as? String == "2s" && row["leftovers"] as? String == "wait")
        #expect(row["successCodes"] as? [Int] == [0, 3])
        #expect((row["limits"] as? [String: Any])?["nice"] as? Int == 5)
        #expect((row["observers"] as? [String: Any])?["finish"] as? [String] == ["/bin/sh", "-c", "true"])
        #expect((row["conditions"] as? [[String: Any]])?.count == 1)
        #expect(row["output"] as? String == "log" && row["stdin"] as? String == "/dev/zero")
        #expect(row["runAs"] as? String == row["user"] as? String)
        let text = try machine.ok("show", "\(id)").out
        for word in ["retry", "grace", "success codes", "limits", "condition", "on finish"] {
            #expect(text.contains(word), "\(word) in \(text)")
        }
        gate.open()
        try machine.ok("wait", "\(id)")
        row = try machine.show(id)
        #expect(row["pid"] is NSNull)
    }

    @Test func `show names the limit of a group`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        _ = try machine.graph(
            #"{"operations": [{"name": "g", "limit": 2, "operations": [{"name": "x", "command": ["true"]}]}]}"#)
        #expect(try machine.show("g")["limit"] as? Int == 2)
        #expect(try machine.show("x")["limit"] is NSNull)
        #expect(try machine.ok("show", "g").out.contains("2 at once"))
        #expect(try !machine.ok("show", "x").out.contains("at once"))
        try machine.ok("set", "g", "--limit", "none")
        #expect(try machine.show("g")["limit"] is NSNull)
    }

    @Test func `the message of an approval is its cause`() throws {
        let machine = try Machine()
        let id = try machine.submit("--completion", "notify", "--", "true")
        try machine.await("started", of: id)
        try machine.ok("finish", "\(id)", "--message", "go on")
        try machine.ok("wait", "\(id)")
        #expect((try machine.show(id)["cause"] as? String)?.hasSuffix("go on") == true)
    }
}
