import Foundation
import Glibc
import Testing

/// Messages of opsd to its service manager, and sockets that it gets from it.
@Suite struct ServiceTests {
    @Test func `the service manager is notified of every step`() throws {
        let machine = try Machine(start: false)
        let gate = Gate(machine)
        let manager = try ServiceManager(in: machine.state)
        let started = try machine.start(under: manager)
        #expect(started.contains("STATUS=0 executing, 0 ready, 0 pending"))
        let id = try machine.submit("--shell", "read x < \(gate.path)")
        #expect(try manager.hear("STATUS=1 executing, 0 ready, 0 pending") != nil)

        machine.daemon?.signal(SIGHUP)
        let reloading = try #require(try manager.hear("RELOADING=1"))
        let instant = try #require(reloading.first { $0.hasPrefix("MONOTONIC_USEC=") })
        #expect(try #require(Int(instant.split(separator: "=")[1])) > 0)
        #expect(try manager.hear("READY=1")?.contains("STATUS=1 executing, 0 ready, 0 pending") == true)

        machine.daemon?.signal(SIGTERM)
        #expect(try manager.hear("STOPPING=1") != nil)
        #expect(try machine.daemon?.wait().status == 0)
        try machine.start()
        gate.open()
        try machine.ok("wait", "\(id)")
        #expect(try machine.show(id)["attempt"] as? Int == 1)
    }

    @Test func `a draining daemon reports that it is stopping after the first signal`() throws {
        let machine = try Machine(start: false)
        let gate = Gate(machine)
        let manager = try ServiceManager(in: machine.state)
        try machine.start(["--on-stop", "drain"], under: manager)
        let id = try machine.submit("--shell", "read x < \(gate.path)")
        try machine.await("started", of: id)
        machine.daemon?.signal(SIGTERM)
        #expect(try manager.hear("STOPPING=1") != nil)
        #expect(try machine.ok("status", "--json").object["state"] as? String == "draining")
        gate.open()
        #expect(try machine.daemon?.wait().status == 0)
        try machine.start()
        #expect(try machine.outcome(id) == "succeeded")
    }

    /// scripts/boot-checks tests under a real systemd that a hanging daemon sends nothing and is killed.
    @Test func `the watchdog is notified while the loop runs`() throws {
        let machine = try Machine(start: false)
        let manager = try ServiceManager(in: machine.state, watchdog: 300_000)
        try machine.start(under: manager)
        for _ in 0..<3 { #expect(try manager.hear("WATCHDOG=1") != nil) }
    }

    @Test func `an inherited socket is served and left in place`() throws {
        let machine = try Machine(start: false)
        let manager = try ServiceManager(in: machine.state)
        try manager.listen(at: machine.socket)
        for _ in 0..<2 {
            // This client calls while no daemon runs.
            let early = try machine.begin(["status", "--json"])
            try machine.start(under: manager)
            #expect(try early.wait().object["pid"] as? Int32 == machine.daemon?.pid)
            machine.daemon?.signal(SIGTERM)
            #expect(try machine.daemon?.wait().status == 0)
            #expect(FileManager.default.fileExists(atPath: machine.socket))
        }
        try machine.start(under: manager)
    }

    @Test func `a clean end removes the socket, but no other file at its path`() throws {
        let machine = try Machine()
        machine.daemon?.signal(SIGTERM)
        #expect(try machine.daemon?.wait().status == 0)
        #expect(!FileManager.default.fileExists(atPath: machine.socket))
        try machine.start()
        try FileManager.default.removeItem(atPath: machine.socket)
        try Data().write(to: URL(filePath: machine.socket))
        machine.daemon?.signal(SIGTERM)
        #expect(try machine.daemon?.wait().status == 0)
        #expect(FileManager.default.fileExists(atPath: machine.socket))
        try FileManager.default.removeItem(atPath: machine.socket)
        try machine.start()
    }

    @Test func `operations reach the daemon at an inherited socket`() throws {
        let machine = try Machine(start: false)
        let manager = try ServiceManager(in: machine.state)
        try manager.listen(at: machine.socket)
        try machine.start(["--socket", machine.state + "/configured.sock"], under: manager)
        #expect(try machine.ok("run", "--", "sh", "-c", "echo $OPS_SOCKET").out == machine.socket + "\n")
    }

    @Test func `held operations are counted apart for the service manager`() throws {
        let machine = try Machine(start: false)
        let manager = try ServiceManager(in: machine.state)
        try machine.start(under: manager)
        try machine.ok("submit", "--hold", "--", "true")
        #expect(try manager.hear("STATUS=0 executing, 0 ready, 0 pending, 1 held") != nil)
    }

    @Test func `an idle daemon ends when the service manager holds its socket`() throws {
        let machine = try Machine(start: false)
        let gate = Gate(machine)
        let manager = try ServiceManager(in: machine.state)
        try manager.listen(at: machine.socket)
        let early = try machine.begin(["submit", "--shell", "read x < \(gate.path)"])
        // Otherwise the service might start and exit before the client connects; this manager starts it only once.
        #expect(manager.hasCaller())
        try machine.start(["--exit-when-idle", "1ms"], under: manager)
        let id = try #require(Int(try early.wait().out.trimmingCharacters(in: .whitespacesAndNewlines)))
        // An operation is unfinished, so the daemon must stay for the next client; otherwise this would wait without
        // end.
        for _ in 0..<3 { try machine.ok("status") }
        gate.open()
        #expect(try machine.daemon?.wait().status == 0)
        #expect(try manager.hear("STOPPING=1") != nil)
        try machine.start(under: manager)
        #expect(try machine.outcome(id) == "succeeded")
    }

    @Test func `an idle daemon stays when nothing else holds its socket`() throws {
        let machine = try Machine(start: false)
        try machine.start(["--exit-when-idle", "1ms"])
        for _ in 0..<3 { try machine.ok("status") }
    }

    @Test func `the effective settings are printed without a start`() throws {
        let machine = try Machine(start: false)
        let file = machine.state + "/opsd.conf"
        try "workers = 3\nlog-total = 1G\n".write(toFile: file, atomically: true, encoding: .utf8)
        let words = ["--config", file, "--state", machine.state, "--socket", machine.socket, "--check-config"]
        let output = try Command(Machine.programs + "/opsd", words, environment: Machine.environment, in: "/").wait()
        #expect(output.status == 0, "\(output.err)")
        for line in ["workers = 3", "keep-for = 30d", "log-total = 1G", "on-failure = ", "socket = \(machine.socket)"] {
            #expect(output.lines.contains(line), "\(line) in \(output.out)")
        }
        try "workers = many\n".write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try Command(Machine.programs + "/opsd", words, environment: Machine.environment, in: "/").wait()
        #expect(refused.status == 1 && refused.err.contains("opsd.conf:1"), "\(refused.err)")
    }

    @Test func `a wrong value on the command line is a wrong option`() throws {
        for (option, value, reason) in [
            ("--workers", "many", "must be a number from 0 to 4096, not \"many\""),
            ("--group", "no-such-group", "there is no group \"no-such-group\""),
        ] {
            let output = try Command(
                Machine.programs + "/opsd", [option, value, "--check-config"], environment: Machine.environment, in: "/"
            ).wait()
            #expect(output.status == 2 && output.err == "opsd: \(option): \(reason)\n", "\(output.err)")
        }
    }
}
