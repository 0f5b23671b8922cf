import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Smallest environment for a program, with the mark by which scripts/clean-run finds processes that a test has left.
let plainEnvironment = ["PATH=/usr/bin:/bin"] + Environment.all.filter { $0.hasPrefix("OPSD_TEST_RUN=") }

/// A real opsd-runner with a state directory of its own, and the connection of a daemon to it.
final class RunnerProcess {
    let state: String
    private(set) var pid: Int32 = 0
    private var socket: Int32 = -1
    private var reader = FrameReader<ExecutorReport>()
    /// Reports that were received and not awaited yet.
    private(set) var reports: [ExecutorReport] = []
    private(set) var greeting: ExecutorGreeting?
    /// Bytes received since this was emptied.
    var received: [UInt8] = []
    /// Protocol version that the connection speaks.
    let version: UInt16
    var usesControlGroups: Bool

    static let patience = TimeSpan.seconds(20)

    private let user: Spawn.User?
    private let script: String

    /// - Parameter user: User of the runner and its operations, if this test runs as root.
    ///
    /// - Parameter script: Shell script that becomes the runner, with `exec "$@"` at its end.
    init(
        usesControlGroups: Bool = true, user: Spawn.User? = nil, script: String = "",
        version: UInt16 = LaunchProtocol.version
    ) throws {
        self.version = version
        self.usesControlGroups = usesControlGroups
        self.user = user
        self.script = script
        state = "/tmp/ops-runner-\(try Randomness.identifier().prefix(10))"
        try Files.makePrivateDirectory(state)
        if let user { #expect(chown(state, user.uid, user.gid) == 0) }
        try start()
    }

    deinit {
        // The runner always ends.
        if pid > 0 {
            // After a failed test there may be no connection. SIGTERM ends the runner too, only later.
            if let last = try? UnixSocket.connect(to: state + "/runner.sock") {
                var bytes: [UInt8] = []
                ExecutorCommand.stop(grace: .zero).append(to: &bytes, for: version)
                _ = try? last.writeAll(bytes)
            }
            disconnect()
            kill(pid, SIGTERM)
            let waited = try? Children.wait(for: pid)
            _ = waited
        }
        removeTree(state)
    }

    /// Path of a program beside the one that runs the tests.
    static func program(_ name: String = "opsd-runner") throws -> String {
        let own = try Program.path()
        for path in [own, CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own] {
            guard let slash = path.lastIndex(of: "/") else { continue }
            let candidate = path[..<slash] + "/" + name
            if Files.exists(String(candidate)) { return String(candidate) }
        }
        throw Failure("\(name) is not built")
    }

    func start() throws {
        var arguments = [try RunnerProcess.program(), "--state", state]
        if !usesControlGroups { arguments.append("--no-cgroup") }
        if !script.isEmpty { arguments = ["/bin/sh", "-c", script, "sh"] + arguments }
        var spawn = Spawn(arguments: arguments, environment: CStringArray(plainEnvironment))
        spawn.standardError = .writing(state + "/stderr")
        spawn.user = user
        pid = try spawn.start()
        try connect()
    }

    func killRunner() throws {
        kill(pid, SIGKILL)
        _ = try Children.wait(for: pid)
        pid = 0
        disconnect()
    }

    /// Waits until the runner ends by itself. Returns its exit status.
    func awaitEnd() throws -> ProcessExit.Status? {
        try until("the runner does not end") { try !isAlive(pid) }
        let ended = try Children.wait(for: pid)
        pid = 0
        disconnect()
        return ended?.status
    }

    /// Connects as a new daemon and receives the greeting.
    func connect() throws {
        disconnect()
        try until("the runner does not listen") {
            // The runner does not listen yet.
            guard let connected = try? UnixSocket.connect(to: state + "/runner.sock") else { return false }
            socket = connected.release()
            return true
        }
        reader = FrameReader()
        reports = []
        greeting = nil
        try send([.hello(version: version)])
        let end = Clock.read().monotonic + RunnerProcess.patience
        while greeting == nil { try receive(until: end) }
    }

    /// Waits for the greeting of a runner that is shutting down.
    func awaitEnding() throws {
        let end = Clock.read().monotonic + RunnerProcess.patience
        while greeting?.isEnding != true { try receive(until: end) }
    }

    /// Limits the open files of the runner from now on; `nil`: to the limit that it had first.
    func limitOpenFiles(to count: UInt64?) throws {
        let soft = try count ?? OpenFiles.limit().hard
        let spawn = Spawn(
            arguments: ["prlimit", "--pid", "\(pid)", "--nofile=\(soft):"], environment: ["PATH=/usr/bin:/bin"])
        #expect(try Children.wait(for: try spawn.start())?.status == .code(0))
    }

    /// Waits until a condition holds, for at most `patience`.
    ///
    /// - Parameter trouble: Text of the failure.
    func until(_ trouble: @autoclosure () throws -> String, _ isSo: () throws -> Bool) throws {
        let end = Clock.read().monotonic + RunnerProcess.patience
        while try !isSo() {
            if Clock.read().monotonic >= end { throw Failure("\(try trouble()); \(complaints)") }
            usleep(1000)
        }
    }

    /// Waits until the runner has reaped a process.
    func awaitReaped(_ pid: Int32) throws {
        try until("\(pid) is still there") { try ProcessRecord.read(pid) == nil }
    }

    /// Greets once more, with the semaphore for staged launches.
    func shareTokens() throws -> Tokens {
        let tokens = try Tokens()
        var hello: [UInt8] = []
        ExecutorCommand.hello(version: version).append(to: &hello, for: 0)
        let descriptor = Descriptor(owning: dup(socket))
        #expect(try descriptor.write(hello[...], passing: tokens.descriptor) == .moved(hello.count))
        greeting = nil
        let end = Clock.read().monotonic + RunnerProcess.patience
        while greeting == nil { try receive(until: end) }
        return tokens
    }

    func disconnect() {
        if socket >= 0 { close(socket) }
        socket = -1
    }

    var complaints: String {
        let bytes = (try? Files.read(state + "/stderr", limit: 1 << 20)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    func send(_ commands: [ExecutorCommand]) throws {
        var bytes: [UInt8] = []
        for command in commands { command.append(to: &bytes, for: version) }
        let descriptor = Descriptor(owning: dup(socket))
        let sent = try descriptor.writeAll(bytes)
        #expect(sent)
    }

    private func receive(until end: MonotonicInstant) throws {
        let left = (end - Clock.read().monotonic).milliseconds
        try #require(left > 0, "no answer; waiting: \(reports); runner says: \(complaints)")
        let descriptor = Descriptor(owning: dup(socket))
        guard try descriptor.waitUntil(.readable, milliseconds: Int32(left)) else { return }
        var bytes: [UInt8] = []
        let transfer = try descriptor.read(atMost: 65_536, onto: &bytes)
        try #require(transfer != .ended, "the runner hung up: \(complaints)")
        reader.append(bytes)
        received += bytes
        while let report = try reader.next() {
            if case .hello(let greeting) = report { self.greeting = greeting } else { reports.append(report) }
        }
    }

    /// Waits until the runner closes the connection.
    func awaitHangUp() throws {
        let descriptor = Descriptor(owning: dup(socket))
        var bytes: [UInt8] = []
        repeat {
            let isReady = try descriptor.waitUntil(.readable, milliseconds: Int32(RunnerProcess.patience.milliseconds))
            try #require(isReady, "the runner does not hang up")
        } while try descriptor.read(atMost: 65_536, onto: &bytes) != .ended
    }

    /// Waits for the first report that `pick` accepts, and removes it.
    func await<Value>(_ pick: (ExecutorReport) -> Value?) throws -> Value {
        let end = Clock.read().monotonic + RunnerProcess.patience
        while true {
            for (index, report) in reports.enumerated() {
                guard let value = pick(report) else { continue }
                reports.remove(at: index)
                return value
            }
            try receive(until: end)
        }
    }

    func awaitLaunched(_ attempt: AttemptID) throws -> LaunchedProcess {
        try self.await { if case .launched(attempt, let process) = $0 { process } else { nil } }
    }

    func awaitExit(_ attempt: AttemptID) throws -> (exit: ProcessExit, treeIsGone: Bool) {
        try self.await { if case .exited(attempt, let exit, let isGone) = $0 { (exit, isGone) } else { nil } }
    }

    func awaitGone(_ attempt: AttemptID) throws {
        try self.await { $0 == .gone(attempt) ? () : nil }
    }

    /// Waits until all commands so far were carried out and their reports received.
    func settle() throws {
        greeting = nil
        try send([.hello(version: version)])
        let end = Clock.read().monotonic + RunnerProcess.patience
        while greeting == nil { try receive(until: end) }
    }
}

extension RunnerProcess {
    func path(_ name: String) -> String { state + "/" + name }

    func text(_ name: String) throws -> String {
        String(decoding: try Files.readIfPresent(path(name), limit: 1 << 26) ?? [], as: UTF8.self)
    }

    /// Returns a launch of a shell script as attempt 1 of an operation, with the environment that opsd would set.
    func request(_ operation: Int64, _ script: String) -> LaunchRequest {
        LaunchRequest(
            attempt: AttemptID(OperationID(operation), 1), arguments: ["/bin/sh", "-c", script],
            environment: CStringArray(
                plainEnvironment + [
                    "OPS_ID=\(operation)", "OPS_ATTEMPT=1", "OPS_SOCKET=\(state)/s", "DIR=\(state)",
                ]), directory: state, output: .log(path("log.\(operation).1")))
    }

    /// Waits until an operation has created this file with some content, and returns it.
    func awaitFile(_ name: String) throws -> String {
        try until("\(name) was never written") { try text(name).hasSuffix("\n") }
        return try text(name)
    }

    /// Returns the living processes of this machine that have this runner's state directory in their environment.
    func survivors() throws -> [Int32] {
        try ProcessRecord.all().filter { record in
            !record.hasEnded && ProcessRecord.environment(of: record.pid).contains("DIR=\(state)")
        }.map(\.pid)
    }

    /// Kills the only process that an operation has left. It waits until the process is visible, because a process has
    /// no environment for a moment while it executes another program.
    func killLeftover() throws {
        try until("no process is left") { try !survivors().isEmpty }
        for pid in try survivors() { kill(pid, SIGKILL) }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Returns true if a process is alive.
func isAlive(_ pid: Int32) throws -> Bool {
    guard let record = try ProcessRecord.read(pid) else { return false }
    return !record.hasEnded
}

/// Bytes written to a file, and bytes on the disk.
func sizes(of path: String) throws -> (length: Int64, stored: Int64) {
    var status = stat()
    try #require(stat(path, &status) == 0, "there is no \(path)")
    return (Int64(status.st_size), Int64(status.st_blocks) * 512)
}

func removeTree(_ path: String) {
    // A file that cannot be removed does not affect other tests.
    for name in (try? Files.list(path)) ?? [] {
        let child = path + "/" + name
        if Files.isDirectory(child) { removeTree(child) } else { unlink(child) }
    }
    rmdir(path)
}
