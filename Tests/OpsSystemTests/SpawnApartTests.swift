import Glibc
import OpsSystem
import TestSupport
import Testing

/// Starts for which the caller does not wait. Until its program runs, the new process has only a part of the caller's
/// memory.
@Suite struct SpawnApartTests {
    let scratch: TemporaryDirectory
    var output: String { scratch.path + "/out" }

    init() { scratch = TemporaryDirectory() }

    func shell(_ script: String) -> Spawn {
        var spawn = Spawn(arguments: ["sh", "-c", script], environment: ["PATH=/nowhere:/usr/bin:/bin"])
        spawn.standardOutput = .writing(output)
        return spawn
    }

    /// Runs a process to its end. Returns its failure, or its status.
    func end(of spawn: Spawn) throws -> Result<ProcessExit.Status?, SpawnError> {
        let process = try spawn.startApart()
        let ended = try Children.wait(for: process.pid)
        // Processes that other tests start at the same time have the pipe open until their programs run.
        #expect(try process.report.waitUntil(.readable, milliseconds: 20_000))
        let outcome = process.outcome()
        return try #require(outcome).map { ended?.status }
    }

    func text() throws -> String { String(decoding: try Files.read(output, limit: 1 << 22), as: UTF8.self) }

    @Test(arguments: SpawnTests.everyFallback)
    func `everything is set as requested`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        var spawn = shell(
            """
            ls /proc/$$/fd; pwd; umask; echo $A; ulimit -Hn; cut -d' ' -f19 /proc/$$/stat
            cat /proc/$$/oom_score_adj; cat; grep -hE '^Sig(Blk|Ign)' /proc/self/status | tr '\\t' ' '; exit 7
            """)
        let input = open("/etc/hostname", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        spawn.standardInput = .descriptor(input)
        spawn.environment.append("A=ä b")
        spawn.directory = scratch.path
        spawn.umask = 0o027
        spawn.limits = [.init(resource: 7, soft: 16, hard: 17)]
        spawn.nice = 5
        spawn.oomScore = 321
        #expect(try end(of: spawn) == .success(.code(7)))
        let hostname = String(decoding: try Files.read("/etc/hostname", limit: 4096), as: UTF8.self)
        let none = "0000000000000000"
        let text = try text()
        #expect(
            text == """
                0
                1
                2
                \(scratch.path)
                0027
                ä b
                17
                5
                321
                \(hostname)SigBlk: \(none)
                SigIgn: \(none)

                """)
    }

    @Test(arguments: SpawnTests.everyFallback)
    func `a failure names its step`(fallbacks: Fallbacks) throws {
        fallbacks.begin()
        defer { Fallbacks.end() }
        let script = scratch.path + "/script"
        try Files.replace(script, with: Array("#!/no/interpreter\n".utf8), mode: 0o700)
        let text = scratch.path + "/text"
        try Files.replace(text, with: [], mode: 0o600)
        let longName = String(repeating: "x", count: 5000)
        let cases: [(String, Int32, (inout Spawn) -> Void)] = [
            ("exec", ENOENT, { $0.arguments = ["/no/such"] }),
            ("exec", ENOENT, { $0.arguments = ["no-such"] }),
            ("exec", ENOENT, { $0.arguments = [longName] }),
            ("exec", ENOENT, { $0.arguments = [""] }),
            ("exec", EACCES, { $0.arguments = [text] }),
            ("interpreter", ENOENT, { $0.arguments = [script] }),
            ("directory", ENOTDIR, { $0.directory = "/etc/hostname" }),
            ("standard input", ENOENT, { $0.standardInput = .reading("/no/such") }),
            ("standard output", EISDIR, { $0.standardOutput = .writing("/tmp") }),
            ("standard error", ENOENT, { $0.standardError = .writing("/no/such/file") }),
            ("resource limit", EINVAL, { $0.limits = [.init(resource: 7, soft: 2, hard: 1)] }),
        ]
        for (step, errno, spoil) in cases {
            var bad = shell("true")
            spoil(&bad)
            let result = try end(of: bad)
            #expect(result == .failure(SpawnError(step: step, errno: errno)))
        }
    }

    @Test func `requests of any size reach the process whole`() throws {
        // The kernel accepts strings of less than 128 KiB, and 2 MiB of them.
        let piece = String(repeating: "x", count: 100_000)
        for count in [0, 15, 1, 18, 0] {
            var spawn = shell("for word; do echo ${#word}; done")
            spawn.arguments += ["sh"] + Array(repeating: piece, count: count)
            #expect(try end(of: spawn) == .success(.code(0)))
            #expect(try text() == String(repeating: "100000\n", count: count))
        }
        var spawn = shell("true")
        spawn.arguments += Array(repeating: piece, count: 40)
        #expect(try end(of: spawn) == .failure(SpawnError(step: "exec", errno: E2BIG)))
    }

    /// New processes never get the caller's memory, including memory that it allocates later.
    @Test func `processes start while the memory of the caller grows and shrinks`() throws {
        var blocks: [[UInt8]] = []
        for round in 1...50 {
            blocks.append([UInt8](repeating: UInt8(round), count: round * 20_000))
            if round % 7 == 0 { blocks.removeFirst(5) }
            #expect(try end(of: shell("echo \(round)")) == .success(.code(0)))
            #expect(try text() == "\(round)\n")
        }
        #expect(blocks.allSatisfy { $0.first == $0.last })
    }
}
