import Foundation
import Testing

/// Observers of whole graphs.
@Suite struct GraphObserverTests {
    /// Returns a command that appends its variables and the event to a file.
    private func note(_ file: String) -> String {
        // One write, so that no reader sees half a line.
        let script = #"event=$(cat); echo \"$OPS_GRAPH $OPS_GRAPH_NAME $OPS_GRAPH_OUTCOME $event\" >> \#(file)"#
        return #"["/bin/sh", "-c", "\#(script)"]"#
    }

    private func lines(_ file: String) -> [String] {
        ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    private func wait(for count: Int, in file: String) throws -> [String] {
        try waitUntil("fewer than \(count) lines in \(file)") { lines(file).count >= count }
        return lines(file)
    }

    private func submit(_ json: String, _ machine: Machine) throws -> String {
        let stored = try machine.begin(["submit", "-f", "-"], input: json).wait()
        #expect(stored.status == 0, "\(stored.err)")
        return String(stored.out.prefix { $0 != " " })
    }

    private func event(_ line: String) throws -> [String: Any] {
        let start = try #require(line.firstIndex(of: "{"))
        return try #require(try JSONSerialization.jsonObject(with: Data(line[start...].utf8)) as? [String: Any])
    }

    @Test func `the end of a graph is observed once and its first failure at once`() throws {
        let machine = try Machine()
        let (ends, failures) = (machine.state + "/ends", machine.state + "/failures")
        let gate = Gate(machine, "gate")
        let graph = try submit(
            """
            {"name": "nightly", "observers": {"finish": \(note(ends)), "failure": \(note(failures))},
             "operations": [
               {"name": "bad", "shell": "exit 3"}, {"name": "worse", "shell": "exit 4", "after": [{"op": "bad", "when": "failed"}]},
               {"name": "late", "shell": "read x < \(gate.path)", "after": [{"op": "worse", "when": "failed"}]}]}
            """, machine)
        let failed = try wait(for: 1, in: failures)
        #expect(failed.first?.hasPrefix("\(graph) nightly failed {") == true, "\(failed)")
        let first = try event(failed[0])
        #expect(first["type"] as? String == "failure" && first["graph"] as? String == graph)
        #expect((first["failed"] as? [String: Any])?["name"] as? String == "bad")
        #expect((first["failed"] as? [String: Any])?["cause"] as? String == "exit status 3")
        try machine.await("started", of: try #require(try machine.show("late")["id"] as? Int))
        #expect(lines(ends) == [])
        gate.open()
        let finished = try event(try #require(try wait(for: 1, in: ends).first))
        #expect(finished["type"] as? String == "finish" && finished["outcome"] as? String == "failed")
        #expect(finished["operations"] as? Int == 3 && finished["unsuccessful"] as? Int == 2)
        // A restart repeats neither of them once their ends are stored; observers that start later are stored after
        // them.
        let other = machine.state + "/other"
        _ = try machine.submit("--observer", "finish=echo x >> \(other)", "--", "true")
        _ = try wait(for: 1, in: other)
        try machine.killDaemon()
        try machine.start()
        let next = try machine.submit("--observer", "finish=true", "--", "true")
        try machine.ok("wait", "\(next)")
        #expect(lines(ends).count == 1 && lines(failures).count == 1)
    }

    @Test func `a retry after the end is observed like a new graph`() throws {
        let machine = try Machine()
        let (ends, failures, flag) = (machine.state + "/ends", machine.state + "/failures", machine.state + "/flag")
        let graph = try submit(
            """
            {"observers": {"finish": \(note(ends)), "failure": \(note(failures))},
             "operations": [{"name": "a", "command": ["test", "-e", "\(flag)"]}, {"name": "b", "command": ["true"]}]}
            """, machine)
        #expect(try wait(for: 1, in: ends).count == 1)
        #expect(try wait(for: 1, in: failures).count == 1)
        #expect(FileManager.default.createFile(atPath: flag, contents: nil))
        try machine.ok("retry", "--graph", graph)
        let all = try wait(for: 2, in: ends)
        #expect(all.count == 2 && all.last?.hasPrefix("\(graph)  succeeded ") == true, "\(all)")
        #expect(lines(failures).count == 1)
    }

    @Test func `the end after a retry of a part names a failure that was not retried`() throws {
        let machine = try Machine()
        let (ends, flag) = (machine.state + "/ends", machine.state + "/flag")
        let script = #"event=$(cat); echo \"$OPS_NAME $event\" >> \#(ends)"#
        _ = try submit(
            """
            {"observers": {"finish": ["/bin/sh", "-c", "\(script)"]},
             "operations": [{"name": "a", "command": ["test", "-e", "\(flag)"]}, {"name": "b", "shell": "exit 3"}]}
            """, machine)
        #expect(try wait(for: 1, in: ends).count == 1)
        #expect(FileManager.default.createFile(atPath: flag, contents: nil))
        try machine.ok("retry", "a")
        let end = try #require(try wait(for: 2, in: ends).last)
        #expect(end.hasPrefix("b {"), "\(end)")
        let event = try event(end)
        #expect(event["outcome"] as? String == "failed" && event["unsuccessful"] as? Int == 1)
        #expect((event["failed"] as? [String: Any])?["name"] as? String == "b")
    }

    @Test func `an end while opsd is down is observed after its start`() throws {
        let machine = try Machine()
        let ends = machine.state + "/ends"
        let gate = Gate(machine, "gate")
        _ = try submit(
            """
            {"observers": {"finish": \(note(ends))},
             "operations": [{"name": "a", "shell": "read x < \(gate.path)"}, {"name": "b", "command": ["true"]}]}
            """, machine)
        try machine.await("started", of: try #require(try machine.show("a")["id"] as? Int))
        try machine.killDaemon()
        gate.open()
        try machine.start()
        #expect(try wait(for: 1, in: ends).first?.contains("\"outcome\":\"succeeded\"") == true)
    }

    @Test func `each run of a schedule has the observers of its graph`() throws {
        let machine = try Machine()
        let ends = machine.state + "/ends"
        func apply(_ observers: String) throws -> Output {
            let text = """
                {"name": "nightly", "schedule": {"at": "0 3 * * *"}, "observers": \(observers),
                 "operations": [{"name": "a", "command": ["true"]}, {"name": "b", "command": ["true"]}]}
                """
            return try machine.begin(["schedule", "apply", "-f", "-"], input: text).wait()
        }
        let wrong = try apply(#"{"finish": []}"#)
        #expect(wrong.status == 5 && wrong.err.contains("observers.finish"), "\(wrong.err)")
        let added = try apply(#"{"finish": ["/bin/sh", "-c", "echo $OPS_GRAPH_NAME ${scheduled} >> \#(ends)"]}"#)
        #expect(added.status == 0, "\(added.err)")
        for count in 1...2 {
            try machine.ok("schedule", "run", "nightly")
            #expect(try wait(for: count, in: ends).count == count)
        }
        #expect(lines(ends).allSatisfy { $0.contains(/^nightly \d{4}-\d\d-\d\dT/) }, "\(lines(ends))")
    }

    @Test func `wrong observers of a graph are refused with their place`() throws {
        let machine = try Machine()
        func refusal(_ observers: String) throws -> String {
            let file = machine.state + "/graph.json"
            try "{\"operations\": [{\"command\": [\"true\"]}],\n \"observers\": \(observers)}".write(
                toFile: file, atomically: true, encoding: .utf8)
            let refused = try machine.ctl("submit", "-f", file)
            #expect(refused.status == 5, "\(refused.out)")
            return refused.err
        }
        #expect(try refusal("[]").contains("graph.json:2:15: \"observers\" must be an object"))
        #expect(try refusal(#"{"finish": "x"}"#).contains("graph.json:2:16: "))
        #expect(try refusal(#"{"finish": []}"#).contains("observers.finish"))
        #expect(try refusal(#"{"finsh": ["x"]}"#).contains("did you mean"))
    }
}
