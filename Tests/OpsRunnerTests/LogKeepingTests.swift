import Glibc
import OpsLinux
import OpsRunner
import Testing

/// Logs within their caps, whatever the processes that own them do.
@Suite struct LogKeepingTests {
    /// Where files can be as large as a number can say; ext4 stops at 16 TiB.
    static let memory = "/dev/shm"
    static let hasMemory = takesLargestFile(memory)

    private static func takesLargestFile(_ directory: String) -> Bool {
        let path = "\(directory)/ops-largest-\(getpid())"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        return ftruncate(file, off_t.max) == 0
    }

    @Test(.enabled(if: hasMemory, "SKIPPED: \(memory) takes no file of 2^63-1 bytes"), arguments: treeKinds)
    func `two logs of the largest size leave the runner alive`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let place = "\(Self.memory)/ops-runner-\(try Randomness.identifier().prefix(10))"
        defer { removeTree(place) }
        var request = runner.request(1, "truncate -s \(Int64.max) /proc/self/fd/1 /proc/self/fd/2")
        request.output = .split(stdout: place + "/out", stderr: place + "/err")
        request.logCap = 1 << 20
        let other = runner.request(2, "read line < $DIR/fifo; exit 3")
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(other), .launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        #expect(try runner.awaitExit(other.attempt).exit.status == .code(3))
    }

    /// As after the restore of a backup, which gives ids again: what has the name is somebody else's.
    @Test(arguments: ["file", "link", "symbolic link"])
    func `a log is a new file, whatever has its name`(kind: String) throws {
        let runner = try RunnerProcess()
        let secret = runner.path("secret")
        try Files.replace(secret, with: Array("secret\n".utf8), mode: 0o666)
        for name in ["out", "err"] {
            switch kind {
            case "file": try Files.replace(runner.path(name), with: Array("secret\n".utf8), mode: 0o666)
            case "link": #expect(link(secret, runner.path(name)) == 0)
            default: #expect(symlink(secret, runner.path(name)) == 0)
            }
        }
        let old = open(runner.path("out"), O_RDONLY | O_CLOEXEC)
        defer { close(old) }
        var request = runner.request(1, "echo out; echo err >&2")
        request.output = .split(stdout: runner.path("out"), stderr: runner.path("err"))
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        for name in ["out", "err"] {
            #expect(try runner.text(name) == name + "\n")
            var status = stat()
            #expect(lstat(runner.path(name), &status) == 0)
            #expect(status.st_mode == S_IFREG | 0o600 && status.st_nlink == 1)
        }
        // Who has the old one open sees nothing of the new one.
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(pread(old, &bytes, bytes.count, 0) == 7)
        #expect(try runner.text("secret") == "secret\n")
    }

    /// An end is never in the past, however long the grace is.
    @Test func `a stop with the longest grace waits for the operations`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(1, "trap 'exit 5' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        try runner.send([.stop(grace: .max - Clock.read().monotonic - 10_000_000_000)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(5))
    }
}
