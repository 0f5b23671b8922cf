import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Files that any user can write, outside of the runner's directory.
private final class OpenPlace {
    private let path: String
    var said: String { path + "/said" }
    var fifo: String { path + "/fifo" }
    var text: String { String(decoding: (try? Files.readIfPresent(said, limit: 4096)) ?? [], as: UTF8.self) }

    init() throws {
        path = "/tmp/ops-open-\(try Randomness.identifier().prefix(10))"
        #expect(mkdir(path, 0o777) == 0 && chmod(path, 0o777) == 0)
        #expect(mkfifo(fifo, 0o666) == 0 && chmod(fifo, 0o666) == 0)
    }

    func go() throws {
        let end = open(fifo, O_WRONLY | O_CLOEXEC)
        #expect(write(end, "go\n", 3) == 3)
        close(end)
    }

    deinit { removeTree(path) }
}

/// Logs stay within their limits, whatever the processes of their owners do.
@Suite struct LogKeepingTests {
    /// Directory for files of any size; ext4 stops at 16 TiB.
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

    /// After the restore of a backup ids are used again, and the file of that name belongs to another user.
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
        // A process that has the old file open sees nothing of the new one.
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(pread(old, &bytes, bytes.count, 0) == 7)
        #expect(try runner.text("secret") == "secret\n")
    }

    private static let cap: Int64 = 1 << 20
    /// Bytes on the disk below which a log of 64 MiB counts as trimmed.
    private static let most: Int64 = 8 << 20

    /// A script whose leftover process writes 64 MiB when `go` exists, and then a file that reports it.
    private static let writer = """
        setsid sh -c 'echo up > $DIR/up; while ! [ -e $DIR/go ]; do sleep 0.01; done
        yes 0123456789abcde | head -c 64M; echo done > $DIR/done; exec sleep 1000' & while ! [ -s $DIR/up ]; do sleep 0.01; done
        """

    private func writeOn(_ runner: RunnerProcess) throws {
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitFile("done") == "done\n")
    }

    /// Returns the descriptors of the runner that are open on a file, which may have been removed.
    private func descriptors(of runner: RunnerProcess, on path: String) throws -> [String] {
        try Files.list("/proc/\(runner.pid)/fd").filter { number in
            var bytes = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/\(runner.pid)/fd/\(number)", &bytes, bytes.count)
            let name = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return name == path || name == path + " (deleted)"
        }
    }

    /// A process that can write to the log of an ended attempt.
    enum Rest: CaseIterable { case left, prunedAway, givenUp, inheritedByAnUpgrade, leftByAKilledRunner }

    @Test(arguments: treeKinds, Rest.allCases)
    func `a log is bounded as long as anything can write to it`(usesControlGroups: Bool, rest: Rest) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, Self.writer + (rest == .givenUp ? "; sleep 1000" : ""))
        request.logCap = Self.cap
        request.leftovers = .leave
        let path = runner.path("log.1.1")
        try runner.send([.launch(request)])
        if rest == .givenUp { _ = try runner.awaitFile("up") } else { _ = try runner.awaitExit(request.attempt) }
        try runner.send([.acknowledge(request.attempt)])
        try runner.settle()
        let writer = try #require(try runner.survivors().first)
        if rest == .prunedAway { unlink(path) }
        if rest == .inheritedByAnUpgrade {
            try runner.send([.reexecute])
            try runner.awaitHangUp()
            try runner.connect()
        }
        if rest == .leftByAKilledRunner {
            try runner.killRunner()
            try runner.start()
        }
        try writeOn(runner)
        try runner.until("\(try sizes(of: "/proc/\(writer)/fd/1").stored) bytes are on the disk") {
            try sizes(of: "/proc/\(writer)/fd/1").stored <= Self.most
        }
        #expect(try !descriptors(of: runner, on: path).isEmpty)
        // From then on the log is no longer open.
        try runner.until("it keeps the log open") {
            // Repeated: a process has no environment for a moment while it executes another program.
            for pid in try runner.survivors() { kill(pid, SIGKILL) }
            return try descriptors(of: runner, on: path).isEmpty
        }
    }

    /// No process of the tree is left, but its descriptor is, because it was passed to another process.
    @Test func `a log is bounded while a process outside of the operation has it open`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "echo up > $DIR/up; read line < $DIR/fifo; exit 0")
        request.logCap = Self.cap
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        let path = runner.path("log.1.1")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("up")
        let handed = Descriptor(owning: open(path, O_WRONLY | O_APPEND | O_CLOEXEC))
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        #expect(try runner.awaitExit(request.attempt).treeIsGone)
        for _ in 0..<64 { #expect(try handed.writeAll([UInt8](repeating: 0x41, count: 1 << 20))) }
        try runner.until("\(try sizes(of: path).stored) bytes are on the disk") {
            try sizes(of: path).stored <= Self.most
        }
        _ = consume handed
        try runner.until("it keeps the log open") { try descriptors(of: runner, on: path).isEmpty }
    }

    /// The owner keeps a descriptor open outside of the operation.
    @Test(
        .enabled(if: geteuid() == 0, "SKIPPED: only root can act as other users"), arguments: treeKinds)
    func `nobody opens the log of an attempt that is over`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        let place = try OpenPlace()
        var request = runner.request(1, "stat -Lc '%u %a' /proc/self/fd/1; $HOLDER path \(place.said) \(place.fifo) &")
        request.environment.append("HOLDER=\(try RunnerProcess.program("log-holder"))")
        request.user = UserTests.nobody
        request.directory = "/"
        request.leftovers = .leave
        request.arguments[2] += "while ! [ -s \(place.said) ]; do sleep 0.01; done; chmod 666 /proc/self/fd/1"
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        #expect(try runner.text("log.1.1") == "65534 600\n", "it is its user's while that executes")
        try runner.until("it keeps the log open") { try descriptors(of: runner, on: runner.path("log.1.1")).isEmpty }
        try place.go()
        try runner.until("it says nothing: \(place.text)") { place.text == "closed\nrefused\n" }
    }

    @Test(
        .enabled(if: geteuid() == 0, "SKIPPED: only root can act as other users"), arguments: treeKinds)
    func `a log that is removed while a process has it open stays its user's`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let place = try OpenPlace()
        // The leftover process ends after it has read from the named pipe.
        var request = runner.request(
            1, "ln -L /proc/self/fd/1 \(place.said); (read line < \(place.fifo); echo more) &")
        request.user = UserTests.nobody
        request.directory = "/"
        request.logCap = Self.cap
        request.leftovers = .leave
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        let path = runner.path("log.1.1")
        #expect(unlink(path) == 0)
        try place.go()
        try runner.until("it keeps the log open") { try descriptors(of: runner, on: path).isEmpty }
        var status = stat()
        #expect(lstat(place.said, &status) == 0)
        #expect(status.st_uid == UserTests.nobody.uid)
        #expect(place.text == "more\n")
    }

    /// Space that is reserved behind the end of a file takes disk blocks without being part of the file.
    @Test func `a log that reserves room is bounded`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(
            1, "echo first; fallocate -n -l 256M /proc/self/fd/1 && echo up > $DIR/up; read x < $DIR/fifo; echo last")
        request.logCap = Self.cap
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("up")
        try runner.until("\(try sizes(of: runner.path("log.1.1")).stored) bytes are on the disk") {
            try sizes(of: runner.path("log.1.1")).stored <= 64 << 20
        }
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        #expect(try runner.text("log.1.1") == "first\nlast\n")
    }

    /// A lease of the owner would delay each open of the file by 45 seconds.
    @Test func `an operation cannot take a lease on its log`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "exec $HOLDER lease $DIR/said $DIR/fifo")
        request.environment.append("HOLDER=\(try RunnerProcess.program("log-holder"))")
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        #expect(try runner.text("said") == "refused\n")
    }

    /// The owner may write from memory that never becomes available: every other change of the file waits until then.
    @Test func `a log whose lock is held holds up nobody`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(
            1, "head -c 4M /dev/zero; $HOLDER stuck $DIR/said $DIR/fifo; echo $? > $DIR/status; exec sleep 1000")
        request.environment.append("HOLDER=\(try RunnerProcess.program("log-holder"))")
        request.logCap = Self.cap
        try runner.send([.launch(request)])
        try runner.until("it did not begin") { try !runner.text("said").isEmpty || !runner.text("status").isEmpty }
        guard try runner.text("status").isEmpty else {
            print("SKIPPED: a log whose lock is held: this user may not handle page faults (userfaultfd)")
            return
        }
        // A process that changes the log now waits in the kernel; the runner does not.
        try runner.until("nobody waits for the lock") {
            try ProcessRecord.all().contains {
                $0.state == UInt8(ascii: "D") && ($0.pid == runner.pid || $0.parent == runner.pid)
            }
        }
        let other = runner.request(2, "exit 3")
        try runner.send([.launch(other)])
        #expect(try runner.awaitExit(other.attempt).exit.status == .code(3))
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        try runner.send([.terminate(request.attempt, grace: .zero)])
        if try !runner.awaitExit(request.attempt).treeIsGone { try runner.awaitGone(request.attempt) }
        try runner.until("the log is not trimmed") {
            try sizes(of: runner.path("log.1.1")).stored <= Self.cap + Self.cap / 4
        }
        try runner.until("its helper is still there") {
            try ProcessRecord.all().allSatisfy { $0.parent != runner.pid || $0.state != UInt8(ascii: "D") }
        }
    }

    /// A deadline is never in the past, however long the grace is.
    @Test func `a stop with the longest grace waits for the operations`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(1, "trap 'exit 5' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        try runner.send([.stop(grace: .distantFuture - Clock.read().monotonic - .seconds(10))])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(5))
    }
}
