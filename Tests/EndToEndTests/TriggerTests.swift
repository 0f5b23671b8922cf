import Foundation
import Glibc
import Testing

/// Runs that files and printed lines trigger.
@Suite struct TriggerTests {
    private func records(_ name: String, _ machine: Machine) throws -> [[String: Any]] {
        try machine.ok("schedule", "runs", name, "-n", "1000", "--json").objects
    }

    /// Waits until this many runs of a schedule have finished.
    private func until(_ count: Int, runsOf name: String, _ machine: Machine) throws {
        let watch = try machine.begin(["watch", "--since", "0", "--label", "schedule=\(name)", "--json"])
        defer {
            watch.signal(SIGTERM)
            _ = try? watch.wait(seconds: 10)  // killed by us: its status says nothing
        }
        try watch.until { text in
            text.split(separator: "\n").count { $0.contains("\"type\":\"finished\"") } >= count
        }
    }

    private func pass(_ duration: String, _ machine: Machine) throws {
        let id = try machine.submit("--delay", duration, "--", "true")
        try machine.ok("wait", "\(id)", "--timeout", "60s")
    }

    private func write(_ path: String, _ text: String = "x") throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test func `a run starts for each new or changed file, once, also when the daemon is killed`() throws {
        let machine = try Machine()
        let folder = machine.state + "/in $it's"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let log = machine.state + "/seen"
        try write(folder + "/a b.csv")
        try write(folder + "/other.txt")
        let added = try machine.begin(
            [
                "schedule", "add", "in", "--on-path", folder + "/*.csv", "--settle", "1s", "-f", "-",
            ],
            input: """
                {"operations": [{"name": "a", "command": ["sh", "-c", "echo \\"$OPS_TRIGGER_FILE|$0\\" >> \(log)", "${file}"]}]}
                """
        ).wait()
        #expect(added.status == 0, "\(added.err)")
        try until(1, runsOf: "in", machine)
        try write(folder + "/c.csv")
        try until(2, runsOf: "in", machine)
        try machine.killDaemon()
        try write(folder + "/d.csv")
        try write(folder + "/c.csv", "changed")
        try machine.start()
        try until(4, runsOf: "in", machine)
        try machine.killDaemon()
        try machine.start()
        try pass("3s", machine)
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init).sorted()
        #expect(lines == ["a b", "c", "c", "d"].map { "\(folder)/\($0).csv|\(folder)/\($0).csv" })
        let found = try records("in", machine)
        #expect(found.compactMap { $0["origin"] as? String } == Array(repeating: "trigger", count: 4))
        #expect(Set(found.compactMap { $0["key"] as? String }).count == 3)
        let forgotten = try machine.begin(["schedule", "forget", "in", "d.csv"], in: folder).wait()
        #expect(forgotten.status == 0, "\(forgotten.err)")
        try until(5, runsOf: "in", machine)
        try machine.ok("schedule", "forget", "in", folder + "/c.csv")
        #expect(try machine.ctl("schedule", "forget", "in", folder + "/nothing").status == 4)
    }

    @Test func `a batch is one run for all new files`() throws {
        let machine = try Machine()
        let folder = machine.state + "/in"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in 0..<30 { try write(folder + "/\(name)") }
        try machine.ok(
            "schedule", "add", "batch", "--on-path", folder + "/*", "--settle", "0s", "--batch", "--shell",
            "echo \"$OPS_TRIGGER_FILE\" | wc -l")
        try until(1, runsOf: "batch", machine)
        let row = try #require(try machine.ok("ls", "--label", "schedule=batch", "--json").objects.first)
        #expect(try machine.ok("log", "\(try #require(row["id"] as? Int))").out == "30\n")
    }

    @Test(arguments: [("[^a]", ["7", "b"]), ("[[:digit:]a]", ["7", "a"])])
    func `brackets of a pattern match what they say`(pattern: String, names: [String]) throws {
        let machine = try Machine()
        let folder = machine.state + "/in"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in ["7", "a", "b"] { try write(folder + "/" + name) }
        try machine.ok("schedule", "add", "some", "--on-path", folder + "/" + pattern, "--settle", "0s", "--", "true")
        try until(names.count, runsOf: "some", machine)
        let keys = try records("some", machine).compactMap { $0["key"] as? String }
        #expect(keys.sorted() == names.map { folder + "/" + $0 })
    }

    @Test func `a run starts for each line that was not printed before`() throws {
        let machine = try Machine()
        let lines = machine.state + "/lines"
        try write(lines, "one\ntwo\none\n")
        try machine.ok(
            "schedule", "add", "poll", "--on-exec", "cat \(lines)", "--every", "1s", "--shell", "echo \"${event}\"")
        try until(2, runsOf: "poll", machine)
        try write(lines, "two\nthree\n")
        try until(3, runsOf: "poll", machine)
        try pass("2s", machine)
        let keys = try records("poll", machine).compactMap { $0["key"] as? String }
        #expect(keys.sorted() == ["one", "three", "two"])
        try machine.ok("schedule", "forget", "poll", "one")
        #expect(try machine.ok("schedule", "show", "poll", "--json").object["overlap"] as? String == "queueAll")
    }

    @Test(arguments: [
        (["--on-path", "/in/*", "--at", "@daily"], "calendar"),
        (["--on-path", "/in/*", "--on-exec", "true"], "onPath"), (["--on-path", ""], "absolute pattern"),
        (["--on-path", "in/"], "ends in"),
        (["--at", "@daily", "--settle", "5s"], "onPath"), (["--at", "@daily", "--every", "5m"], "onExec"),
    ])
    func `a wrong trigger is refused with status 5`(arguments: [String], word: String) throws {
        let machine = try Machine()
        let output = try machine.begin(["schedule", "add", "wrong"] + arguments + ["--", "true"]).wait()
        #expect(output.status == 5, "\(output.err)")
        #expect(output.err.contains(word), "\(output.err)")
    }

    @Test func `a text for the shell executes no part of a file name`() throws {
        let machine = try Machine()
        let folder = machine.state + "/in"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/$(echo hi); `echo ho`"
        try write(path)
        try machine.ok(
            "schedule", "add", "names", "--on-path", folder + "/*", "--settle", "0s", "--shell", "echo \"${file}\"")
        try until(1, runsOf: "names", machine)
        #expect(try machine.ok("log", "--label", "schedule=names").out.hasSuffix("\(path)\n"))
    }
}
