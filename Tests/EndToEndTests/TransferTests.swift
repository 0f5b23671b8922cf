import Foundation
import Glibc
import TestSupport
import Testing

/// Operations with `http`: the real opsd and opsd-transfer, and a server that gives false answers.
@Suite struct TransferTests {
    /// A machine, the server, and a directory for downloaded files.
    private struct House {
        let machine: Machine
        let server: LyingServer
        let directory = TemporaryDirectory()
        let id = UUID().uuidString
        let options: [String]

        /// - Parameter configuration: Text of opsd.conf.
        init(_ configuration: String? = nil) throws {
            server = try LyingServer.plain.get()
            machine = try Machine(start: false)
            var options: [String] = []
            if let configuration {
                let file = machine.state + "/opsd.conf"
                try configuration.write(toFile: file, atomically: true, encoding: .utf8)
                options = ["--config", file]
            }
            self.options = options
            try machine.start(options)
        }

        var target: String { directory.path + "/file" }
        var file: Data? { FileManager.default.contents(atPath: target) }
        /// First byte that each request asked for, nil for the whole file.
        var ranges: [String?] { get throws { try server.requests(id).map { $0["range"] } } }

        func address(_ scenario: String, _ query: String = "") -> String {
            "http://127.0.0.1:\(server.port)/\(scenario)/\(id)?\(query)"
        }

        /// Submits a transfer. `http` and `keys` are additional members of the objects, each after a comma.
        @discardableResult
        func submit(
            _ scenario: String, _ query: String = "", http: String = "", keys: String = ""
        ) throws -> String {
            try machine.graph(
                """
                {"operations": [{"name": "file", "http": {"url": "\(address(scenario, query))", "to": "\(target)"\(http)}
                \(keys)}]}
                """)
        }

        /// Waits until opsd reports that half of the file has arrived, which is what `waits` sends first.
        func awaitHalf(of size: Int) throws {
            try waitUntil("no progress") {
                (try machine.show("file")["progress"] as? [String: Any])?["done"] as? Int == size / 2
            }
        }

        /// Lets the server send the second half.
        func sendRest() { _ = FileManager.default.createFile(atPath: "\(server.folder)/\(id).go", contents: nil) }

        func executorPid() throws -> pid_t? {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.first { pid in
                // A process that has just ended has no command line.
                let words = (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
                return words.contains("opsd-transfer\0") && words.contains(machine.state + "\0")
            }
        }

        func killExecutor() throws {
            let pid = try #require(try executorPid())
            kill(pid, SIGKILL)
        }

        func finish() throws { _ = try machine.ctl("wait", "--all", "--timeout", "60s") }
    }

    private static let size = 3_000_000

    @Test func `a file is fetched, verified, and shown with its progress`() throws {
        let house = try House()
        let expected = serverContent(size: Self.size)
        try (expected).write(to: URL(fileURLWithPath: house.directory.path + "/copy"))
        let sum = try Command(
            "/usr/bin/sha256sum", [house.directory.path + "/copy"], environment: Machine.environment, in: "/"
        ).wait().out.prefix(64)
        try house.submit("waits", "size=\(Self.size)", http: ", \"sha256\": \"\(sum)\"")
        try house.awaitHalf(of: Self.size)
        let running = try house.machine.show("file")
        #expect((running["progress"] as? [String: Any])?["total"] as? Int == Self.size)
        #expect(running["pid"] is NSNull, "it has no process of its own")
        #expect(try house.machine.ok("ls").out.contains("50"), "ls shows per cent")
        #expect(house.file == nil)
        house.sendRest()
        try house.finish()
        let row = try house.machine.show("file")
        #expect(row["outcome"] as? String == "succeeded")
        #expect(row["executor"] as? String == "transfer")
        #expect(row["usage"] is NSNull)
        #expect((row["progress"] as? [String: Any])?["done"] as? Int == Self.size)
        #expect(house.file == expected)
        #expect(house.directory.names == ["copy", "file"])
    }

    @Test func `a wrong checksum fails the operation and leaves no file`() throws {
        let house = try House()
        try house.submit("file", http: ", \"sha256\": \"\(String(repeating: "0", count: 64))\"")
        try house.finish()
        let row = try house.machine.show("file")
        #expect(row["outcome"] as? String == "failed")
        #expect(row["exitCode"] as? Int == 65)
        #expect((row["statusText"] as? String)?.contains("the checksum is") == true)
        #expect(house.directory.names == [])
    }

    @Test func `a cancelled transfer leaves nothing behind`() throws {
        let house = try House()
        try house.submit("waits", "size=\(Self.size)")
        try house.awaitHalf(of: Self.size)
        #expect(house.directory.names.contains(".file.part"))
        try house.machine.ok("cancel", "file", "--wait")
        #expect(try house.machine.outcome("file") == "cancelled")
        #expect(house.directory.names == [])
    }

    @Test func `a transfer cancelled while its executor dies leaves nothing behind`() throws {
        let house = try House()
        try house.submit("waits", "size=\(Self.size)")
        try house.awaitHalf(of: Self.size)
        let pid = try #require(try house.executorPid())
        // It does not receive the command, and the next process knows nothing of the transfer.
        kill(pid, SIGSTOP)
        try house.machine.ok("cancel", "file")
        kill(pid, SIGKILL)
        try house.finish()
        #expect(try house.machine.outcome("file") == "cancelled")
        #expect(house.directory.names == [])
    }

    @Test func `a transfer that timed out is continued by the next attempt`() throws {
        let house = try House()
        try house.submit(
            "waits", "size=\(Self.size)",
            keys: #", "timeout": "2s", "retry": {"limit": 1, "on": ["timedOut"], "backoff": "0s"}"#)
        try house.finish()
        #expect(try house.machine.outcome("file") == "succeeded")
        #expect(try house.ranges == [nil, "bytes=\(Self.size / 2 - 1)-"])
        #expect(house.file == serverContent(size: Self.size))
        #expect(house.directory.names == ["file"])
    }

    @Test func `a frozen transfer stands still until it is resumed`() throws {
        let house = try House()
        try house.submit("waits", "size=\(Self.size)")
        try house.awaitHalf(of: Self.size)
        try house.machine.ok("suspend", "file", "--freeze")
        house.sendRest()
        // A transfer that starts later ends first.
        let other = "http://127.0.0.1:\(house.server.port)/file/\(house.id)-2"
        _ = try house.machine.graph(
            #"{"operations": [{"name": "other", "http": {"url": "\#(other)", "to": "\#(house.target)-2"}}]}"#)
        try house.machine.ok("wait", "other", "--timeout", "60s")
        #expect(try house.machine.outcome("other") == "succeeded")
        #expect(try house.machine.stateOf("file") == "executing")
        #expect(house.file == nil)
        try house.machine.ok("resume", "file")
        try house.finish()
        #expect(try house.machine.outcome("file") == "succeeded")
        #expect(house.file == serverContent(size: Self.size))
    }

    enum Victim: CaseIterable { case opsd, executor, both }

    @Test(arguments: Victim.allCases) func `every byte is right after a kill in the middle`(_ victim: Victim) throws {
        let house = try House()
        try house.submit("waits", "size=\(Self.size)")
        try house.awaitHalf(of: Self.size)
        if victim != .executor { try house.machine.killDaemon() }
        if victim != .opsd { try house.killExecutor() }
        if victim != .executor { try house.machine.start(house.options) }
        house.sendRest()
        try house.finish()
        let row = try house.machine.show("file")
        #expect(row["outcome"] as? String == "succeeded")
        #expect(row["attempt"] as? Int == 1, "a kill costs no attempt")
        #expect(house.file == serverContent(size: Self.size))
        #expect(house.directory.names == ["file"])
        #expect(try house.ranges == (victim == .opsd ? [nil] : [nil, "bytes=\(Self.size / 2 - 1)-"]))
    }

    @Test func `window and per-host limit the transfers under way`() throws {
        for (window, perHost, most) in [(2, 4, 2), (9, 3, 3)] {
            let house = try House("[executor images]\nkind = transfer\nwindow = \(window)\nper-host = \(perHost)\n")
            let operations = (0..<12).map {
                #"{"name": "f\#($0)", "http": {"url": "\#(house.address("crowd"))", "to": "\#(house.target)\#($0)"}}"#
            }
            _ = try house.machine.graph("{\"operations\": [\(operations.joined(separator: ","))]}")
            try house.finish()
            let rows = try house.machine.ok("ls", "--json").objects
            #expect(rows.count == 12)
            #expect(rows.allSatisfy { $0["outcome"] as? String == "succeeded" })
            #expect(try house.machine.show("f0")["executor"] as? String == "images")
            let seen = try String(contentsOfFile: "\(house.server.folder)/\(house.id).most", encoding: .utf8)
            #expect(seen == "\(most)")
        }
    }

    @Test func `transfers of the built-in executor continue after another one was configured`() throws {
        let house = try House("")
        let machine = house.machine
        // A daemon that cannot tell its service manager of a reload does not reload.
        let manager = try ServiceManager(in: machine.state)
        try machine.killDaemon()
        try machine.start(house.options, under: manager)
        try house.submit("waits", "size=\(Self.size)")
        let later = #"{"url": "\#(house.address("file"))", "to": "\#(house.target)-2"}"#
        _ = try machine.graph(#"{"operations": [{"name": "later", "held": true, "http": \#(later)}]}"#)
        try house.awaitHalf(of: Self.size)
        try "[executor images]\nkind = transfer\n".write(
            toFile: try #require(house.options.last), atomically: true, encoding: .utf8)
        machine.daemon?.signal(SIGHUP)
        var names: [String?] = []
        try waitUntil("opsd does not know the executor images") {
            names = try machine.ok("executor", "ls", "--json").objects.map { $0["name"] as? String }
            return names.contains("images")
        }
        #expect(names == ["images", "transfer"])
        house.sendRest()
        try machine.ok("resume", "later")
        try house.finish()
        for name in ["file", "later"] {
            let row = try machine.show(name)
            #expect(row["outcome"] as? String == "succeeded", "\(name)")
            #expect(row["executor"] as? String == "transfer", "\(name)")
        }
    }

    @Test func `a transfer that the server postpones is asked for once more`() throws {
        let house = try House()
        try house.submit("busy", "retry=1&times=1", keys: #", "retry": {"limit": 3, "backoff": "0s"}"#)
        try house.finish()
        let row = try house.machine.show("file")
        #expect(row["outcome"] as? String == "succeeded")
        #expect(try house.ranges.count == 2)
        #expect(house.file == serverContent(size: 100_000))
    }

    @Test(arguments: [("status", "status=404", 69), ("gzip", "", 65), ("truncates", "", 75)])
    func `the exit code says whether a retry makes sense`(scenario: String, query: String, status: Int) throws {
        let house = try House()
        try house.submit(scenario, query)
        try house.finish()
        let row = try house.machine.show("file")
        #expect(row["outcome"] as? String == "failed")
        #expect(row["exitCode"] as? Int == status)
        #expect(house.file == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be several users"))
    func `the file of another user is neither read nor replaced`() throws {
        let house = try House()
        let place = house.machine.state + "-public"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }  // a leftover in /tmp is no failure
        // Another process makes the copy: a file that this process has open for writing could be busy.
        _ = try Command(
            "/bin/cp", [Machine.programs + "/opsctl", place], environment: Machine.environment, in: "/"
        ).wait()
        for path in [place, place + "/opsctl"] { chmod(path, 0o755) }
        chmod(house.machine.state, 0o711)
        chmod(house.machine.socket, 0o666)
        // A shared directory like /tmp, with a file, a partial file and headers of root.
        chmod(house.directory.path, 0o1777)
        let secret = house.directory.path + "/headers"
        for name in ["file", ".part.part", "headers"] {
            try Data("X-Key: of-root\n".utf8).write(to: URL(fileURLWithPath: "\(house.directory.path)/\(name)"))
            chmod("\(house.directory.path)/\(name)", 0o600)
        }
        let requests: [(name: String, to: String, more: String)] = [
            ("replaced", house.target, ""), ("continued", house.directory.path + "/part", ""),
            ("read", house.directory.path + "/mine", ", \"headersFile\": \"\(secret)\""),
        ]
        let operations = requests.map {
            #"{"name": "\#($0.name)", "http": {"url": "\#(house.address("file"))", "to": "\#($0.to)"\#($0.more)}}"#
        }
        let submitted = try Command(
            "/usr/bin/setpriv",
            ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups", place + "/opsctl", "submit", "-f", "-"],
            environment: ["OPS_SOCKET": house.machine.socket, "PATH": "/usr/bin:/bin"],
            input: "{\"operations\": [\(operations.joined(separator: ","))]}", in: "/"
        ).wait()
        try #require(submitted.status == 0, "\(submitted.err)")
        try house.finish()
        for request in requests {
            let row = try house.machine.show(request.name)
            #expect(row["outcome"] as? String == "failed", "\(request.name)")
        }
        for name in ["file", ".part.part", "headers"] {
            let bytes = FileManager.default.contents(atPath: "\(house.directory.path)/\(name)")
            #expect(bytes == Data("X-Key: of-root\n".utf8), "\(name)")
        }
        let sent = (try? house.server.requests(house.id)) ?? []  // no request at all is right, too
        #expect(sent.allSatisfy { $0["x-key"] == nil })
    }
}
