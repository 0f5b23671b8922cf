import Foundation
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
