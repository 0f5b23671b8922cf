import Foundation
import Glibc
import Testing

@Suite struct RunTests {
    @Test func `run passes on the streams and the status of the operation`() throws {
        let machine = try Machine()
        let output = try machine.ctl("run", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 3")
        #expect(output.status == 3)
        #expect(output.out == "to-out\n")
        #expect(output.err == "to-err\n")
    }

    @Test func `run --json prints output and end as objects`() throws {
        let machine = try Machine()
        let output = try machine.ctl("run", "--json", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 3")
        #expect(output.status == 3 && output.err.isEmpty, "\(output.err)")
        let rows = try output.objects
        let pieces = rows.dropLast().compactMap { row in
            (row["stream"] as? String).map { "\($0): \(row["data"] as? String ?? "")" }
        }
        #expect(pieces.sorted() == ["stderr: dG8tZXJyCg==", "stdout: dG8tb3V0Cg=="])
        #expect(rows.last?["outcome"] as? String == "failed" && rows.last?["exitCode"] as? Int == 3)
    }

    /// Test suites often use such deep directories.
    @Test func `the path of the state directory may be longer than a socket address`() throws {
        let machine = try Machine(below: String(repeating: "/a-directory-with-a-long-name", count: 6))
        let output = try machine.ctl("run", "--shell", "systemd-notify STATUS=here && \(Machine.programs)/opsctl why 1")
        #expect(output.status == 0 && output.out.contains("executing"), "\(output.err)")
        #expect(try machine.show(1)["statusText"] as? String == "here")
        try machine.killDaemon()
        try machine.start()
        #expect(try machine.ctl("run", "--", "true").status == 0)
    }

    @Test func `run exits with 128 plus the number of the signal`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("run", "--", "sh", "-c", "kill -KILL $$").status == 137)
    }

    @Test(arguments: [0, 7]) func `run exits with the status that the operation reports`(_ status: Int) throws {
        let machine = try Machine()
        let words = "systemd-notify X_OPS_FINISHED=\(status); sleep 600"
        #expect(try machine.ctl("run", "--completion", "notify", "--shell", words).status == Int32(status))
        let row = try machine.show(1)
        #expect(row["exitCode"] as? Int == status)
        #expect(row["signal"] is NSNull, "the signal came after its word")
        #expect(row["outcome"] as? String == (status == 0 ? "succeeded" : "failed"))
    }

    @Test func `run exits with 127 without the program and with 126 if it cannot be executed`() throws {
        let machine = try Machine()
        let output = try machine.ctl("run", "--", "/no/such")
        #expect(output.status == 127)
        #expect(try machine.ctl("run", "--", "no-such-program-anywhere").status == 127)
        #expect(try machine.ctl("run", "--", "/etc/passwd").status == 126)
        #expect(try machine.ctl("run", "--", "/etc").status == 126)
        #expect(output.err.hasSuffix("cannot start: exec /no/such: no such file or directory\n"), "\(output.err)")
        let place = try machine.submit("--directory", "/no/place", "--", "true")
        _ = try machine.ctl("wait", "\(place)")
        let cause = try machine.show(place)["cause"] as? String
        #expect(cause == "cannot start: directory /no/place: no such file or directory")
    }

    @Test func `standard input is passed on`() throws {
        let machine = try Machine()
        let text = String(repeating: "a line that is passed on\n", count: 20_000)
        let output = try machine.ctl("run", "--", "cat", input: text)
        #expect(output.status == 0 && output.out == text)
        #expect(try machine.ctl("run", "--", "cat", input: "").status == 0)
        #expect(try machine.ctl("run", "--", "true", input: text).status == 0, "input that nobody reads")
    }

    @Test func `a graph without a terminal is told in lines with the output of failures`() throws {
        let machine = try Machine()
        let graph = """
            {"name": "ci", "operations": [
              {"name": "build", "command": ["true"]},
              {"name": "test", "shell": "echo first; echo second; exit 3", "after": ["build"]},
              {"name": "alarm", "command": ["true"], "after": [{"op": "build", "when": "failed"}]}]}
            """
        let output = try machine.ctl("run", "-f", "-", input: graph)
        #expect(output.status == 1)
        #expect(output.lines.first == "g1", "\(output.out)")
        for line in [
            "● 1 build started", "✓ 1 build succeeded", "● 2 test started", "✗ 2 test failed: exit status 3",
            "  | first", "  | second",
        ] {
            #expect(output.lines.contains(line), "\(line) in \(output.out)")
        }
        let place = { (line: String) in output.lines.firstIndex(of: line) ?? -1 }
        #expect(place("● 1 build started") < place("✓ 1 build succeeded"))
        #expect(place("✗ 2 test failed: exit status 3") < place("  | first"))
        #expect(output.out.contains("3 alarm not needed"))
    }

    @Test func `run exits with 124 after a timeout`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("run", "--timeout", "200ms", "--", "sleep", "30").status == 124)
    }

    @Test func `an interrupt of run cancels its operation`() throws {
        let machine = try Machine()
        let run = try machine.begin(["run", "--name", "long", "--", "sleep", "600"])
        try machine.await("started", of: 1)
        run.signal(SIGINT)
        #expect(try run.wait(seconds: 20).status != 0)
        #expect(try machine.outcome(1) == "cancelled")
    }

    @Test(arguments: [false, true])
    func `a second interrupt ends run while the cancelled operation ignores its end`(isGraph: Bool) throws {
        let machine = try Machine()
        let shell = "trap '' TERM; : > \(machine.state)/begun; while :; do sleep 0.1; done"
        let arguments = isGraph ? ["-f", "-"] : ["--grace", "10min", "--shell", shell]
        let graph = #"{"operations": [{"grace": "10min", "shell": "\#(shell)"}]}"#
        let run = try machine.begin(["run"] + arguments, input: isGraph ? graph : nil)
        try waitUntil { FileManager.default.fileExists(atPath: machine.state + "/begun") }
        run.signal(SIGINT)
        try machine.await("cancelling", of: 1)
        try waitUntil {
            run.signal(SIGINT)
            return kill(run.pid, 0) != 0
        }
        let ended = try run.wait(seconds: 10)
        #expect(ended.status == 128 + SIGINT)
        #expect(ended.err.contains("may still run"), "\(ended.err)")
        try machine.ok("cancel", "1", "--force")
    }

    @Test func `an interrupt of a graph has the same cause as that of an operation`() throws {
        let machine = try Machine()
        let run = try machine.begin(["run", "-f", "-"], input: #"{"operations": [{"command": ["sleep", "600"]}]}"#)
        try machine.await("started", of: 1)
        run.signal(SIGINT)
        #expect(try run.wait(seconds: 20).status == 1)
        let cause = try #require(try machine.show(1)["cause"] as? String)
        #expect(cause.hasSuffix("interrupted at the terminal"), "\(cause)")
    }

    @Test func `run fails when the operation fails although its process exited with 0`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("run", "--success-codes", "3", "--", "true").status == 1)
        let run = try machine.begin(["run", "--completion", "notify", "--shell", "echo out"])
        try machine.await("started", of: 2)
        try run.until { $0 == "out\n" }
        try machine.ok("finish", "2", "--failed")
        #expect(try run.wait(seconds: 30).status == 1)
    }

    @Test func `run under nohup keeps its operation when the terminal hangs up`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let run = try Command(
            "/usr/bin/nohup", [Machine.programs + "/opsctl", "run", "--shell", "echo begun; read x < \(gate.path)"],
            environment: Machine.environment.merging(["OPS_SOCKET": machine.socket]) { $1 }, in: "/tmp")
        try run.until { $0 == "begun\n" }
        run.signal(SIGHUP)
        gate.open()
        #expect(try run.wait(seconds: 30).status == 0)
        #expect(try machine.outcome(1) == "succeeded")
    }

    @Test func `a repeated interrupt ends run when the daemon does not answer`() throws {
        let machine = try Machine()
        let run = try machine.begin(["run", "--shell", "echo begun; exec sleep 600"])
        try run.until { $0 == "begun\n" }
        machine.daemon?.signal(SIGSTOP)
        defer { machine.daemon?.signal(SIGCONT) }
        // The first request has been sent; the number of further signals needed depends on when each arrives.
        try waitUntil {
            run.signal(SIGINT)
            return kill(run.pid, 0) != 0
        }
        #expect(try run.wait(seconds: 10).status == 128 + SIGINT)
    }

    @Test func `starts and ends are written in the order in which they happen`() throws {
        let machine = try Machine(workers: 1)
        let chain = (1...12).map { number in
            #"{"name": "s\#(number)", "command": ["true"]\#(number == 1 ? "" : #", "after": ["s\#(number - 1)"]"#)}"#
        }
        let output = try machine.ctl(
            "run", "-f", "-", input: #"{"operations": [\#(chain.joined(separator: ", "))]}"#)
        let expected = (1...12).flatMap { ["● \($0) s\($0) started", "✓ \($0) s\($0) succeeded"] }
        #expect(Array(output.lines.dropFirst()) == expected)
    }

    @Test func `the log of a failure stands below its end`() throws {
        let machine = try Machine(workers: 1)
        let output = try machine.ctl(
            "run", "-f", "-",
            input: #"{"operations": [{"name": "a", "shell": "echo one; echo two >&2; exit 3"}, "#
                + #"{"name": "b", "command": ["true"], "after": ["a"]}]}"#)
        #expect(
            Array(output.lines.dropFirst()) == [
                "● 1 a started", "✗ 1 a failed: exit status 3", "  | one", "  | two",
                "↷ 2 b skipped: dependency 1 (a) failed",
            ])
    }

    @Test func `blank lines in the log of a failure are shown`() throws {
        let machine = try Machine()
        let output = try machine.ctl(
            "run", "-f", "-", input: #"{"operations": [{"shell": "echo one; echo; printf two; exit 3"}]}"#)
        #expect(Array(output.lines.suffix(3)) == ["  | one", "  | ", "  | two"], "\(output.out)")
    }

    @Test func `run goes on when the daemon is restarted`() throws {
        let machine = try Machine()
        let gate = Gate(machine)
        let run = try machine.begin([
            "run", "--retry", "1", "--retry-backoff", "1ms", "--", "sh", "-c",
            "echo $OPS_ATTEMPT; read x < \(gate.path); echo end >&2; exit $OPS_ATTEMPT",
        ])
        try run.until { $0 == "1\n" }
        try machine.killDaemon()
        try machine.start()
        gate.open()
        gate.open()
        let output = try run.wait(seconds: 30)
        #expect(output.out == "1\n2\n")
        #expect(output.err == "end\nend\n")
        #expect(output.status == 2)
    }

    @Test func `run does not show output that goes elsewhere`() throws {
        let machine = try Machine()
        let output = try machine.ctl("run", "--output", "null", "--", "sh", "-c", "echo out; exit 3")
        #expect(output.out.isEmpty && output.err.isEmpty)
        #expect(output.status == 3)
    }

    @Test func `run exits with 125 without a daemon`() throws {
        let machine = try Machine(start: false)
        #expect(try machine.ctl("run", "--", "true").status == 125)
        try machine.start()
    }

    /// Options that create many operations, or none, are refused by `run` and missing in its help.
    @Test(arguments: ["--array=1-3", "--each=-", "--dry-run"]) func `run refuses options that only submit has`(
        _ option: String
    ) throws {
        let machine = try Machine()
        let output = try machine.ctl("run", option, "--", "true")
        #expect(output.status == 125 && output.err.contains("unknown option"), "\(output.err)")
        let name = String(option.prefix { $0 != "=" })
        #expect(try !machine.ok("help", "run").out.contains(name))
        #expect(try machine.ok("help", "submit").out.contains(name))
    }
}
