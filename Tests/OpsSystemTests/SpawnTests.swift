import Glibc
import OpsSystem
import TestSupport
import Testing

@Suite struct SpawnTests {
    static let everyFallback: [Fallbacks] = [
        [], .withoutClone3, .withoutCloseRange, .withoutClearedSignals, [.withoutClone3, .withoutCloseRange],
    ]

    let scratch: TemporaryDirectory
    var output: String { scratch.path + "/out" }

    init() { scratch = TemporaryDirectory() }

    func shell(_ script: String) -> Spawn {
        var spawn = Spawn(arguments: ["/bin/sh", "-c", script], environment: ["PATH=/usr/bin:/bin"])
        spawn.standardOutput = .writing(output)
        return spawn
    }

    /// Runs a process to its end and returns its output.
    func printed(by spawn: Spawn) throws -> String {
        let pid = try spawn.start()
        let ended = try #require(try Children.wait(for: pid))
        #expect(ended.status == .code(0))
        return String(decoding: try Files.read(output, limit: 1 << 20), as: UTF8.self)
    }

    @Test(arguments: everyFallback)
    func `status and usage of a child are returned`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        let spawn = shell("exit 7")
        let pid = try spawn.start()
        let ended = try #require(try Children.wait(for: pid))
        #expect(ended.pid == pid)
        #expect(ended.status == .code(7))
        #expect(ended.usage.maxResidentBytes > 0)
        #expect(try Children.wait(for: pid) == nil)
        let killed = shell("kill -9 $$")
        #expect(try Children.wait(for: try killed.start())?.status == .signal(9))
    }

    @Test(arguments: everyFallback)
    func `a process inherits no descriptor`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        // A descriptor that would be inherited, with a high number, and signals that would stay ignored or blocked.
        let leak = fcntl(0, F_DUPFD, 700)
        #expect(leak >= 700)
        defer { close(leak) }
        // Read by grep, because the shell itself blocks signals while it starts a command.
        let spawn = shell("ls /proc/$$/fd | tr '\\n' ' '; grep -E '^Sig(Blk|Ign)' /proc/self/status")
        let text = try printed(by: spawn)
        #expect(text.hasPrefix("0 1 2 "), "\(text)")
        for line in text.split(separator: "\n") where line.contains("SigBlk") || line.contains("SigIgn") {
            #expect(line.hasSuffix("0000000000000000"), "\(text)")
        }
        #expect(!text.contains("700"))
    }

    /// The set of ignored signals is not read for each start.
    @Test(arguments: everyFallback)
    func `a signal that is ignored since the last start is reset`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        let spawn = shell("grep SigIgn /proc/self/status")
        #expect(try printed(by: spawn) == "SigIgn:\t0000000000000000\n")
        try Signals.ignore(SIGURG)
        defer { try? Signals.restoreDefault(SIGURG) }
        #expect(try printed(by: spawn) == "SigIgn:\t0000000000000000\n")
    }

    @Test func `the wait for the end of a child has a limit`() throws {
        let pid = try shell("exec sleep 600").start()
        #expect(try Children.hasEnded(pid, by: Clock.read().monotonic) == false)
        kill(pid, SIGKILL)
        #expect(try Children.hasEnded(pid, by: Clock.read().monotonic + .seconds(60)) == true)
        #expect(try Children.wait(for: pid)?.status == .signal(9))
    }

    @Test(
        .enabled(if: Files.exists("/proc/self/timers"), "SKIPPED: this kernel does not list timers"),
        arguments: [true, false])
    func `only a start with a limit has a timer`(hasLimit: Bool) throws {
        let program = scratch.path + "/program"
        try Files.replace(program, with: try Files.read("/bin/true", limit: 1 << 24), mode: 0o755)
        // F_SETSIG and F_SETLEASE: the program does not run before the lease is dropped, and a signal that is ignored
        // asks for it.
        let lease = open(program, O_RDONLY | O_CLOEXEC)
        defer { close(lease) }
        #expect(fcntl(lease, 10, SIGURG) == 0)
        try #require(fcntl(lease, 1024, Int32(F_WRLCK)) == 0)
        var spawn = Spawn(arguments: [program], environment: ["PATH=/usr/bin:/bin"])
        spawn.directory = scratch.path
        spawn.hasStartLimit = hasLimit
        let slow = spawn
        // The status of the process shows whether it has started.
        try Threads.start { _ = try? slow.start() }
        let process = try child(inDirectory: scratch.path)
        let timers = String(decoding: try Files.read("/proc/\(process)/timers", limit: 1 << 16), as: UTF8.self)
        #expect(timers.contains("signal: 9") == hasLimit)
        #expect(fcntl(lease, 1024, Int32(F_UNLCK)) == 0)
        #expect(try Children.wait(for: process)?.status == .code(0))
    }

    private func child(inDirectory path: String) throws -> Int32 {
        let end = Clock.read().monotonic + .seconds(20)
        while true {
            let found = try ProcessRecord.all().first {
                $0.parent == getpid() && Files.linkTarget("/proc/\($0.pid)/cwd")?.hasSuffix(path) == true
            }
            if let found { return found.pid }
            try #require(Clock.read().monotonic < end, "no process was made")
            usleep(1000)
        }
    }

    /// Before its program runs, the files of the process in /proc describe the caller.
    @Test(arguments: ["/proc/self/maps", "/proc/self/environ", "/proc/version"])
    func `a secret in a file of proc is refused`(path: String) throws {
        let step = "secret X (files of /proc are refused; read it in the command)"
        var spawn = shell("exit 0")
        spawn.secrets = [.init(name: "X", path: path)]
        #expect(throws: SpawnError(step: step, errno: EPERM)) { try spawn.start() }
        let process = try spawn.startApart()
        _ = try Children.wait(for: process.pid)
        #expect(try process.report.waitUntil(.readable, milliseconds: 20_000))
        var failure: SpawnError?
        if case .failure(let error) = process.outcome(secrets: ["X"]) { failure = error }
        #expect(failure == SpawnError(step: step, errno: EPERM))
    }

    @Test func `a process is in a session of its own`() throws {
        let text = try printed(by: shell("cut -d' ' -f1,5,6 /proc/$$/stat"))
        let numbers = text.split(whereSeparator: \.isWhitespace)
        #expect(Set(numbers).count == 1)
        #expect(numbers.first.map(String.init) != String(getsid(0)))
    }

    @Test func `environment, directory and umask are as requested`() throws {
        var spawn = shell("pwd; umask; echo $A")
        spawn.environment.append("A=ä b")
        spawn.directory = scratch.path
        spawn.umask = 0o027
        #expect(try printed(by: spawn) == "\(scratch.path)\n0027\nä b\n")
    }

    @Test func `both output streams may share one file`() throws {
        let spawn = shell("echo one; echo two >&2; echo three")
        #expect(try printed(by: spawn) == "one\ntwo\nthree\n")
    }

    @Test func `limits and priority are set`() throws {
        var spawn = shell("ulimit -n; ulimit -Hn; cut -d' ' -f19 /proc/$$/stat; cat /proc/$$/oom_score_adj; ionice")
        spawn.limits = [.init(resource: 7, soft: 3, hard: 17)]
        spawn.nice = 5
        spawn.oomScore = 321
        // Best effort (2), level 6.
        spawn.ioPriority = 2 << 13 | 6
        spawn.limits[0].soft = 16
        #expect(try printed(by: spawn) == "16\n17\n5\n321\nbest-effort: prio 6\n")
    }

    @Test func `a program is searched in the PATH of its own environment`() throws {
        var spawn = Spawn(arguments: ["greet"], environment: ["PATH=/nowhere:\(scratch.path)"])
        #expect(throws: SpawnError(step: "exec", errno: ENOENT)) { try spawn.start() }
        let program = scratch.path + "/greet"
        try Files.replace(program, with: Array("#!/bin/sh\necho hello\n".utf8), mode: 0o600)
        #expect(throws: SpawnError(step: "exec", errno: EACCES)) { try spawn.start() }
        #expect(chmod(program, 0o700) == 0)
        spawn.standardOutput = .writing(output)
        #expect(try printed(by: spawn) == "hello\n")
        spawn.environment = ["PATH=/nowhere:"]
        spawn.directory = scratch.path
        #expect(try printed(by: spawn) == "hello\n")
    }

    @Test(arguments: everyFallback)
    func `a failure names its step and leaves no process`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        let good = shell("true")
        let cases: [(String, Int32, (inout Spawn) -> Void)] = [
            ("exec", ENOENT, { $0.arguments = ["/no/such"] }),
            ("exec", ENOENT, { $0.arguments = [""] }),
            ("exec", ENOEXEC, { $0.arguments = ["/etc/passwd-copy"] }),
            ("directory", ENOENT, { $0.directory = "/no/such" }),
            ("directory", ENOTDIR, { $0.directory = "/etc/passwd" }),
            ("standard input", ENOENT, { $0.standardInput = .reading("/no/such") }),
            ("standard output", EISDIR, { $0.standardOutput = .writing("/tmp") }),
            ("standard error", ENOENT, { $0.standardError = .writing("/no/such/file") }),
            ("resource limit", EINVAL, { $0.limits = [.init(resource: 7, soft: 2, hard: 1)] }),
            ("request", EINVAL, { $0.arguments = [] }),
        ]
        let text = scratch.path + "/text"
        try Files.replace(text, with: Array("no program".utf8), mode: 0o600)
        #expect(chmod(text, 0o700) == 0)
        for (step, errno, spoil) in cases {
            var bad = good
            spoil(&bad)
            if bad.arguments == ["/etc/passwd-copy"] { bad.arguments = [text] }
            #expect(throws: SpawnError(step: step, errno: errno)) { try bad.start() }
        }
        #expect(SpawnError(step: "exec", errno: ENOENT).description == "exec: No such file or directory")
    }

    @Test func `a FIFO without a writer does not delay the caller`() throws {
        let fifo = scratch.path + "/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        var spawn = shell("cat")
        spawn.standardInput = .reading(fifo)
        #expect(try printed(by: spawn) == "")
        // Standard input is another file, because otherwise the process would be its own writer.
        spawn.standardInput = .reading("/dev/null")
        spawn.standardError = .writing(fifo)
        #expect(throws: SpawnError(step: "standard error", errno: ENXIO)) { try spawn.start() }
    }

    @Test(.enabled(if: geteuid() == 0, "SKIPPED: only root can start processes of others"), arguments: everyFallback)
    func `credentials are those of the user alone`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        let out = scratch.path + "/theirs"
        try Files.replace(out, with: [], mode: 0o600)
        #expect(chmod(scratch.path, 0o755) == 0)
        #expect(chown(out, 65534, 65534) == 0)
        var spawn = shell("grep -E '^(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb))' /proc/$$/status | tr -s '\\t ' ' '")
        spawn.user = .init(uid: 65534, gid: 65534, groups: [65534, 12345])
        spawn.standardOutput = .writing(out)
        let ended = try Children.wait(for: try spawn.start())
        #expect(ended?.status == .code(0))
        let none = "0000000000000000"
        #expect(
            String(decoding: try Files.read(out, limit: 4096), as: UTF8.self).replacingTrailingBlanks
                == """
                Uid: 65534 65534 65534 65534
                Gid: 65534 65534 65534 65534
                Groups: 12345 65534
                CapInh: \(none)
                CapPrm: \(none)
                CapEff: \(none)
                CapAmb: \(none)

                """)
        // This process, which shared its memory with the new one, still has its own user.
        #expect(geteuid() == 0)
        #expect(getgroups(0, nil) != 2)
        // Files are opened with the rights of that user.
        let private0 = scratch.path + "/root-only"
        try Files.replace(private0, with: [], mode: 0o600)
        spawn.standardInput = .reading(private0)
        #expect(throws: SpawnError(step: "standard input", errno: EACCES)) { try spawn.start() }
    }
}

extension String {
    fileprivate var replacingTrailingBlanks: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                var line = line
                while line.last == " " { line.removeLast() }
                return String(line)
            }.joined(separator: "\n")
    }
}
