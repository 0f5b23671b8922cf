import Foundation
import Glibc
import Testing

/// Rights of ordinary users at root's daemon. The tests run as users that exist on every Debian.
@Suite(.enabled(if: geteuid() == 0, "only root can be several users"))
struct PermissionTests {
    private static let ann = "nobody"
    private static let bob = "daemon"

    /// A daemon whose socket all users can open, and an opsctl that all users can execute.
    private struct House {
        let machine: Machine
        let place: String

        init(_ options: [String] = []) throws {
            machine = try Machine(start: false)
            try machine.start(options)
            place = machine.state + "-public"
            try FileManager.default.createDirectory(
                atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            // Another process makes the copy: a file that this process has open for writing could be inherited by a
            // program of another test, and then the kernel refuses to run it.
            _ = try Command(
                "/bin/cp", [Machine.programs + "/opsctl", place], environment: Machine.environment, in: "/"
            ).wait()
            // Users can reach the socket, but nothing else in the state directory.
            chmod(machine.state, 0o711)
            chmod(machine.socket, 0o666)
        }

        func close() { try? FileManager.default.removeItem(atPath: place) }  // a leftover in /tmp is no failure

        func run(_ user: String, _ words: [String]) throws -> Output { try begin(user, words).wait() }

        func begin(_ user: String, _ words: [String]) throws -> Command {
            try Command(
                "/usr/bin/setpriv",
                ["--reuid", user, "--regid", "nogroup", "--clear-groups", place + "/opsctl"] + words,
                environment: ["OPS_SOCKET": machine.socket, "PATH": "/usr/bin:/bin", "SECRET": "of \(user)"], in: "/")
        }
    }

    @Test func `a user reads and changes their own operations`() throws {
        let house = try House()
        defer { house.close() }
        let submitted = try house.run(Self.ann, ["submit", "--", "sh", "-c", "id -un; echo $SECRET"])
        #expect(submitted.out == "1\n", "\(submitted.err)")
        #expect(try house.run(Self.ann, ["wait", "1"]).status == 0)
        #expect(
            try house.run(Self.ann, ["log", "1"]).out == "\(Self.ann)\nof \(Self.ann)\n", "it runs as its submitter")
        let row = try house.run(Self.ann, ["show", "1", "--json"]).object
        #expect((row["environment"] as? [String: Any])?["SECRET"] as? String == "of \(Self.ann)")
        #expect(row["user"] as? String == Self.ann)
        #expect(try house.run(Self.ann, ["submit", "--hold", "--", "true"]).status == 0)
        for words in [["note", "2", "mine"], ["set", "2", "--priority", "4"], ["cancel", "2"], ["retry", "2"]] {
            #expect(try house.run(Self.ann, words).status == 0, "\(words)")
        }
    }

    @Test func `a name means the caller's own operation, whatever others submit`() throws {
        let house = try House()
        defer { house.close() }
        for user in [Self.ann, Self.bob] {
            #expect(try house.run(user, ["submit", "--name", "build", "--hold", "--", "true"]).status == 0)
        }
        #expect(try house.run(Self.ann, ["submit", "--after", "build", "--hold", "--", "true"]).out == "3\n")
        let dependencies = try house.run(Self.ann, ["show", "3", "--json"]).object["dependencies"] as? [[String: Any]]
        #expect(dependencies?.map { $0["id"] as? Int } == [1])
        #expect(try house.run(Self.ann, ["cancel", "build"]).status == 0)
        let row = try house.run(Self.bob, ["show", "build", "--json"]).object
        #expect(row["id"] as? Int == 2 && row["outcome"] as? String == nil)
    }

    @Test func `the user with less slot time in a fair queue goes first, after a restart too`() throws {
        let house = try House(["--workers", "1"])
        defer { house.close() }
        #expect(try house.run(Self.ann, ["queue", "set", "default", "--fair", "user"]).status == 5)
        #expect(try house.machine.ctl("queue", "set", "default", "--fair", "group").status == 2)
        try house.machine.ok("queue", "set", "default", "--fair", "user")
        let rows = try house.machine.ok("queue", "ls", "--json").objects
        #expect(rows.map { $0["fair"] as? String } == ["user", nil])
        #expect(try house.machine.ok("queue", "ls").out.contains("fair"))
        // The first user has used slot time when the others submit.
        for _ in 1...3 { _ = try house.run(Self.ann, ["submit", "--", "sleep", "0.2"]) }
        #expect(try house.run(Self.ann, ["wait", "1", "2"]).status == 0)
        try house.machine.ok("suspend", "--queue", "default")
        _ = try house.run(Self.ann, ["wait", "3"])
        for user in [Self.ann, Self.ann, Self.bob] { _ = try house.run(user, ["submit", "--", "true"]) }
        try house.machine.killDaemon()
        try house.machine.start(["--workers", "1"])
        chmod(house.machine.socket, 0o666)
        try house.machine.ok("resume", "--queue", "default")
        #expect(try house.machine.ctl("wait", "4-6").status == 0)
        let started = try house.machine.ok("ls", "4-6", "--json").objects.sorted {
            ($0["startedAt"] as? String ?? "") < ($1["startedAt"] as? String ?? "")
        }
        #expect(started.map { $0["id"] as? Int } == [6, 4, 5])
    }

    @Test func `schedules of one name are told apart by their users`() throws {
        let house = try House()
        defer { house.close() }
        for user in [Self.ann, Self.bob] {
            let added = try house.run(user, ["schedule", "add", "nightly", "--at", "@daily", "--", "true"])
            #expect(added.status == 0, "\(added.err)")
        }
        let unclear = try house.machine.ctl("schedule", "pause", "nightly")
        #expect(
            unclear.status == 5 && unclear.err.contains("nightly@\(Self.bob), nightly@\(Self.ann)"), "\(unclear.err)")
        try house.machine.ok("schedule", "pause", "nightly@\(Self.bob)")
        let rows = try house.machine.ok("schedule", "ls", "--json").objects
        #expect(rows.filter { $0["paused"] as? Bool == true }.map { $0["user"] as? String } == [Self.bob])
        #expect(try house.machine.ctl("schedule", "show", "nightly@root").status == 4)
        #expect(try house.run(Self.ann, ["schedule", "rm", "nightly"]).status == 0)
        try house.machine.ok("schedule", "rm", "nightly")
    }

    @Test func `only its owner and root see which files and lines have triggered runs`() throws {
        let house = try House()
        defer { house.close() }
        let lines = house.machine.state + "/lines"
        try "hunter2\n".write(toFile: lines, atomically: true, encoding: .utf8)
        try house.machine.ok("schedule", "add", "private", "--on-exec", "cat \(lines)", "--", "true")
        let keys = { (rows: [[String: Any]]) in rows.compactMap { $0["key"] as? String } }
        try waitUntil("no run has started") {
            try keys(house.machine.ok("schedule", "runs", "private", "--json").objects) == ["hunter2"]
        }
        let seen = try house.run(Self.ann, ["schedule", "runs", "private", "--json"])
        #expect(try seen.objects.count == 1 && !seen.out.contains("hunter2"), "\(seen.out)\(seen.err)")
    }

    @Test func `a thousand observers of one user do not keep another's from running`() throws {
        let house = try House()
        defer { house.close() }
        let graph = (1...200).map { _ in #"{"command": ["true"], "observers": {"finish": ["sleep", "2"]}}"# }
            .joined(separator: "\n")
        let many = house.place + "/many.jsonl"
        try graph.write(toFile: many, atomically: true, encoding: .utf8)
        #expect(try house.run(Self.ann, ["submit", "-f", many]).status == 0)
        #expect(try house.run(Self.ann, ["wait", "1-200"]).status == 0)
        let seen = house.place + "/seen"
        #expect(FileManager.default.createFile(atPath: seen, contents: nil, attributes: [.posixPermissions: 0o666]))
        #expect(try house.run(Self.bob, ["submit", "--observer", "finish=echo seen > \(seen)", "true"]).status == 0)
        try waitUntil("the observer waits for those of another user") {
            try String(contentsOfFile: seen, encoding: .utf8) == "seen\n"
        }
    }

    @Test func `slow conditions of one user do not keep another's from being evaluated`() throws {
        let house = try House()
        defer { house.close() }
        let graph = (1...20).map { _ in
            #"{"command": ["true"], "conditions": [{"exec": ["sleep", "600"], "timeout": "10m"}]}"#
        }
        .joined(separator: "\n")
        let slow = house.place + "/slow.jsonl"
        try graph.write(toFile: slow, atomically: true, encoding: .utf8)
        #expect(try house.run(Self.ann, ["submit", "-f", slow]).status == 0)
        let quick = house.place + "/quick.json"
        try #"[{"command": ["true"], "conditions": [{"exec": ["true"]}]}]"#.write(
            toFile: quick, atomically: true, encoding: .utf8)
        #expect(try house.run(Self.bob, ["submit", "-f", quick]).status == 0)
        let waited = try house.run(Self.bob, ["wait", "21", "--timeout", "60s"])
        #expect(waited.status == 0, "\(waited.err)")
        #expect(try house.machine.stateOf(1) == "ready", "it is still asked")
        let lasting = house.place + "/lasting.json"
        try #"[{"command": ["true"], "conditions": [{"not": {"exec": ["true"], "timeout": "11m"}}]}]"#.write(
            toFile: lasting, atomically: true, encoding: .utf8)
        let refused = try house.run(Self.bob, ["submit", "-f", lasting])
        #expect(refused.status == 5 && refused.err.contains("conditions[0].timeout"), "\(refused.err)")
    }

    @Test func `a user has so many unfinished operations and no more`() throws {
        let house = try House(["--operations-per-user", "3"])
        defer { house.close() }
        let held = ["submit", "--hold", "--", "true"]
        for _ in 1...3 { #expect(try house.run(Self.ann, held).status == 0) }
        let refused = try house.run(Self.ann, held)
        #expect(refused.status == 5, "\(refused.out)\(refused.err)")
        for words in ["3 unfinished operations", "limit of 3", "operations-per-user"] {
            #expect(refused.err.contains(words), "\(refused.err)")
        }
        #expect(try house.run(Self.bob, held).status == 0, "another user has room")
        for _ in 1...5 { try house.machine.ok("submit", "--hold", "--", "true") }
        #expect(try house.run(Self.ann, ["cancel", "1"]).status == 0)
        #expect(try house.run(Self.ann, held).status == 0)
        #expect(try house.run(Self.ann, ["retry", "1"]).err.contains("operations-per-user"))
        try house.machine.killDaemon()
        try house.machine.start(["--operations-per-user", "3"])
        chmod(house.machine.socket, 0o666)
        #expect(try house.run(Self.ann, held).status == 5, "counted again after a restart")
        #expect(try house.run(Self.bob, held).status == 0)
    }

    @Test func `a user sees the operations of others but can neither read their data nor change them`() throws {
        let house = try House()
        defer { house.close() }
        _ = try house.run(Self.ann, ["submit", "--", "sh", "-c", "echo $SECRET"])
        #expect(try house.run(Self.ann, ["wait", "1"]).status == 0)
        _ = try house.run(Self.ann, ["submit", "--hold", "--", "true"])
        #expect(try house.run(Self.bob, ["ls", "--json"]).objects.count == 2)
        let shown = try house.run(Self.bob, ["show", "1", "--json"])
        #expect(try shown.object["environment"] is NSNull)
        #expect(!shown.out.contains("of \(Self.ann)"))
        #expect(try house.run(Self.bob, ["why", "2"]).status == 0)
        let refused = [
            ["log", "1"], ["log", "-f", "1"], ["cancel", "2"], ["set", "2", "--priority", "1"], ["retry", "1"],
            ["note", "1", "theirs"], ["resume", "2"], ["depend", "2", "--on", "1"], ["finish", "2"],
            ["submit", "--user", Self.ann, "--", "true"], ["submit", "--priority", "100", "--", "true"],
            ["queue", "add", "mine"], ["category", "set", "db", "--capacity", "9"], ["workers", "9"], ["suspend"],
            ["prune", "--older-than", "1s"], ["backup", "/tmp/stolen.db"],
        ]
        for words in refused {
            let output = try house.run(Self.bob, words)
            #expect(output.status == 5, "\(words): \(output.out)\(output.err)")
            #expect(!output.out.contains("of \(Self.ann)"), "\(words)")
        }
        let all = try house.run(Self.bob, ["cancel", "--all"])
        #expect(all.out == "cancelled 0 operations\n", "\(all.err)")
        #expect(try house.machine.stateOf(2) == "pending" || house.machine.stateOf(2) == "ready")
        #expect(try house.machine.ok("log", "1").out == "of \(Self.ann)\n", "root reads everything")
    }

    @Test func `results are shown and handed to their owner and root alone`() throws {
        let house = try House()
        defer { house.close() }
        let publish = ["submit", "--name", "tok", "--shell", "systemd-notify \"X_OPS_RESULT=$SECRET\"; true"]
        #expect(try house.run(Self.ann, publish).status == 0)
        for user in [Self.ann, Self.bob] {
            let submitted = try house.run(user, ["submit", "--after", "tok", "--shell", "echo \"<$OPS_RESULT_TOK>\""])
            #expect(submitted.status == 0, "\(submitted.err)")
        }
        try house.machine.ok("submit", "--after", "tok", "--shell", "echo \"<$OPS_RESULT_TOK>\"")
        try house.machine.ok("wait", "--all")
        #expect(try house.machine.ok("log", "2").out == "<of \(Self.ann)>\n", "handed to another of the same owner")
        #expect(try house.machine.ok("log", "3").out == "<>\n", "handed to somebody else's")
        #expect(try house.machine.ok("log", "4").out == "<of \(Self.ann)>\n", "root's get all")
        #expect(try house.run(Self.ann, ["show", "1", "--json"]).object["result"] as? String == "of \(Self.ann)")
        #expect(try house.machine.show(1)["result"] as? String == "of \(Self.ann)")
        let views = [
            ["show", "1"], ["show", "1", "--json"], ["ls", "--all"], ["ls", "--all", "--json"], ["ls", "1", "--json"],
            ["graph", "g1", "--json"], ["graph", "g2", "--json"], ["why", "1"], ["stats", "--json"],
            ["status", "--json"], ["wait", "1", "--json"], ["log", "3"],
        ]
        for words in views {
            let output = try house.run(Self.bob, words)
            #expect(output.status == 0, "\(words): \(output.err)")
            #expect(!output.out.contains("of \(Self.ann)"), "\(words)")
        }
        let watch = try house.begin(Self.bob, ["watch", "--since", "0", "--json"])
        try watch.until { $0.contains("\"id\":4,") && $0.contains("\"outcome\":\"succeeded\"") }
        watch.signal(SIGTERM)
        #expect(try !watch.wait().out.contains("of \(Self.ann)"))
    }

    /// After a restore, ids are used again, while logs with the same ids still exist.
    @Test func `after a restore nobody reads the logs of others`() throws {
        let house = try House()
        defer { house.close() }
        let machine = house.machine
        let copy = house.place + "/copy.db"
        try machine.ok("backup", copy)
        #expect(try house.run(Self.ann, ["run", "--", "sh", "-c", "echo $SECRET"]).out == "of \(Self.ann)\n")
        machine.daemon?.signal(SIGTERM)
        _ = try machine.daemon?.wait(seconds: 20)
        let files = FileManager.default
        for end in ["", "-wal", "-shm"] where files.fileExists(atPath: machine.state + "/opsd.db" + end) {
            try files.removeItem(atPath: machine.state + "/opsd.db" + end)
        }
        try files.copyItem(atPath: copy, toPath: machine.state + "/opsd.db")
        try machine.start()
        chmod(machine.socket, 0o666)
        let submitted = try house.run(Self.bob, ["submit", "--hold", "--", "echo", "mine"])
        #expect(submitted.out == "1\n", "\(submitted.err)")
        for words in [["log", "1"], ["log", "1", "--attempt", "1"]] {
            let output = try house.run(Self.bob, words)
            #expect(!output.out.contains(Self.ann), "\(words): \(output.out)")
        }
        #expect(try house.run(Self.bob, ["resume", "1"]).status == 0)
        #expect(try house.run(Self.bob, ["wait", "1"]).status == 0)
        #expect(try house.run(Self.bob, ["log", "1"]).out == "mine\n")
        // Root finds these logs in a separate directory.
        let aside = try files.contentsOfDirectory(atPath: machine.state + "/logs").filter { $0.hasPrefix("aside-") }
        #expect(aside.count == 1)
        for name in aside {
            let text = try String(contentsOfFile: "\(machine.state)/logs/\(name)/1.1.log", encoding: .utf8)
            #expect(text == "of \(Self.ann)\n")
        }
    }

    @Test func `a retry runs no operations of other users again`() throws {
        let house = try House()
        defer { house.close() }
        for (user, words) in [
            (Self.ann, ["submit", "--name", "mine", "--", "true"]),
            (Self.bob, ["submit", "--after", "mine", "--", "true"]),
            (Self.ann, ["submit", "--after", "mine", "--", "true"]),
        ] {
            let submitted = try house.run(user, words)
            #expect(submitted.status == 0, "\(submitted.err)")
        }
        #expect(try house.run(Self.ann, ["wait", "--all"]).status == 0)
        #expect(try house.run(Self.ann, ["retry", "1", "--downstream"]).status == 0)
        #expect(try house.run(Self.ann, ["wait", "--all"]).status == 0)
        let runs = try (1...3).map { try house.machine.show($0)["run"] as? Int }
        #expect(runs == [2, 1, 2])
        try house.machine.ok("retry", "1", "--downstream")
        #expect(try house.machine.show(2)["run"] as? Int == 2, "root reaches everybody's")
    }

    @Test func `a barrier holds back the operations of its own user, and a barrier of root everybody's`() throws {
        let house = try House()
        defer { house.close() }
        let machine = house.machine
        func submit(_ user: String, _ words: String...) throws -> Int {
            let submitted = try house.run(user, ["submit"] + words + ["--", "true"])
            return try #require(Int(submitted.out.trimmingCharacters(in: .newlines)), "\(submitted.err)")
        }
        func ends(_ ids: Int...) throws -> Bool {
            try machine.begin(["wait", "--timeout", "20s"] + ids.map(String.init)).wait().status == 0
        }
        let barrier = try submit(Self.ann, "--barrier", "--hold")
        let later = try submit(Self.ann)
        #expect(try ends(submit(Self.bob), machine.submit("--priority", "100", "--", "true")))
        #expect(try machine.stateOf(later) == "pending")
        let why = try #require(try machine.ok("why", "\(later)", "--json").object["waitingFor"] as? [[String: Any]])
        #expect(why.first?["ids"] as? [Int] == [barrier])

        try machine.killDaemon()
        try machine.start()
        chmod(machine.socket, 0o666)
        #expect(try ends(submit(Self.bob)), "a restart gives the same barriers")
        #expect(try machine.stateOf(later) == "pending")

        let wall = try machine.submit("--barrier", "--hold", "--", "true")
        let behind = try [submit(Self.ann), submit(Self.bob), machine.submit("--", "true")]
        for id in behind { #expect(try machine.stateOf(id) == "pending", "\(id)") }
        try machine.ok("resume", "\(wall)")
        #expect(try machine.stateOf(wall) == "pending", "it waits for the operations of others")
        #expect(try house.run(Self.ann, ["resume", "\(barrier)"]).status == 0)
        #expect(try ends(barrier, later, wall, behind[0], behind[1], behind[2]))
    }

    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    /// A user who sends incomplete messages and reads no replies gets no more than their own share of the memory.
    @Test(.enabled(if: hasPython, "NOT RUN: there is no /usr/bin/python3"))
    func `a user who fills the buffers is refused and others are served`() throws {
        let house = try House(["--buffered-per-user", "4M"])
        defer { house.close() }
        let script = """
            import select, signal, socket, sys
            half = b'{"method":"org.opsd.Control.Submit","parameters":{"operations":[{"command":["' + b'x' * (1 << 20)
            left, refused = {}, 0
            for number in range(12):
                client = socket.socket(socket.AF_UNIX)
                client.connect(sys.argv[1])
                client.setblocking(False)
                left[client] = memoryview(half)
            clients = list(left)
            answers = set(clients)
            while True:
                # A client may be refused after the kernel has accepted its last bytes.
                readable, writable, _ = select.select(answers, left, [], None if left else 1)
                if not left and not readable: break
                for client in readable:
                    if b'buffered-per-user' in client.recv(4096): refused += 1
                    answers.remove(client)
                    left.pop(client, None)
                for client in writable:
                    if client not in left: continue
                    try: left[client] = left[client][client.send(left[client]):]
                    except OSError: continue
                    if not left[client]: del left[client]
            print(refused, flush=True)
            signal.pause()
            """
        let hostile = try Command(
            "/usr/bin/setpriv",
            [
                "--reuid", Self.ann, "--regid", "nogroup", "--clear-groups", "/usr/bin/python3", "-c", script,
                house.machine.socket,
            ],
            environment: ["PATH": "/usr/bin:/bin"], in: "/")
        try hostile.until { $0.hasSuffix("\n") }
        let refused = try #require(Int(hostile.outSoFar.trimmingCharacters(in: .whitespacesAndNewlines)))
        // The kernel may still buffer a fifth of each complete message.
        #expect(refused >= 7, "of 12 MiB at most 4")
        let submitted = try house.run(Self.bob, ["submit", "--", "true"])
        #expect(submitted.status == 0, "\(submitted.err)")
        #expect(try house.run(Self.bob, ["wait", "--all"]).status == 0)
        let file = house.place + "/large.json"
        try Data(#"[{"command":["\#(String(repeating: "x", count: 1_500_000))"],"held":true}]"#.utf8).write(
            to: URL(fileURLWithPath: file))
        let large = try house.run(Self.ann, ["submit", "-f", file])
        #expect(large.status == 5 && large.err.contains("buffered-per-user"), "\(large.err)")
        hostile.signal(SIGTERM)
        _ = try hostile.wait()
        try waitUntil("what is gone is not given back") {
            try house.run(Self.ann, ["submit", "-f", file]).status == 0
        }
    }

    @Test func `only root can read the files of the state directory`() throws {
        let house = try House()
        defer { house.close() }
        _ = try house.run(Self.ann, ["submit", "--", "sh", "-c", "echo $SECRET"])
        #expect(try house.run(Self.ann, ["wait", "1"]).status == 0)
        let read = try Command(
            "/usr/bin/setpriv",
            [
                "--reuid", Self.bob, "--regid", "nogroup", "--clear-groups", "sh", "-c",
                "grep -ra 'of \(Self.ann)' . ; cat opsd.db | head -c 16",
            ],
            environment: ["PATH": "/usr/bin:/bin"], in: house.machine.state
        ).wait()
        #expect(read.out.isEmpty, "\(read.out)")
    }
}
