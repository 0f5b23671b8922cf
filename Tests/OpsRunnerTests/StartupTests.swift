import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Starts of processes of another user, which that user stops or delays.
@Suite(.enabled(if: geteuid() == 0, "SKIPPED: only root can act as other users")) struct StartupTests {
    let runner: RunnerProcess

    init() throws {
        runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
    }

    /// Program on which this process holds a lease. Opening it waits until the lease is dropped.
    final class LeasedProgram {
        let path: String
        private let descriptor: Int32

        init(_ path: String) throws {
            self.path = path
            try Files.replace(path, with: try Files.read("/bin/true", limit: 1 << 24), mode: 0o755)
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            // F_SETSIG: the kernel asks for the lease with a signal that is ignored. F_SETLEASE takes the lease.
            #expect(fcntl(descriptor, 10, SIGURG) == 0)
            #expect(fcntl(descriptor, 1024, Int32(F_WRLCK)) == 0)
        }

        func drop() { #expect(fcntl(descriptor, 1024, Int32(F_UNLCK)) == 0) }
        deinit { close(descriptor) }
    }

    func request(_ operation: Int64, _ arguments: [String], user: LaunchRequest.User? = UserTests.nobody)
        -> LaunchRequest
    {
        var request = runner.request(operation, "")
        request.arguments = arguments
        request.user = user
        request.directory = "/"
        return request
    }

    /// Child of the runner with uid 65534.
    func child() throws -> Int32 {
        var found: Int32?
        try runner.until("no process has been made") {
            found = try ProcessRecord.all().first { $0.parent == runner.pid && !$0.hasEnded && isNobody($0.pid) }?.pid
            return found != nil
        }
        return try #require(found)
    }

    private func isNobody(_ pid: Int32) -> Bool { status(of: pid).contains("Uid:\t65534\t65534") }

    private func status(of pid: Int32) -> String {
        // A process that has ended meanwhile has no such file.
        String(decoding: (try? Files.read("/proc/\(pid)/status", limit: 1 << 16)) ?? [], as: UTF8.self)
    }

    @Test func `a program that answers late delays no other start`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let slow = request(1, [program.path])
        let quick = request(2, ["/bin/true"])
        try runner.send([.launch(slow), .launch(quick)])
        #expect(try runner.awaitExit(quick.attempt).exit.status == .code(0))
        #expect(!runner.reports.contains { if case .launched(slow.attempt, _) = $0 { true } else { false } })
        program.drop()
        _ = try runner.awaitLaunched(slow.attempt)
        #expect(try runner.awaitExit(slow.attempt).exit.status == .code(0))
    }

    @Test func `a process that its user stops before its program runs is killed and fails`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let slow = request(1, [program.path])
        try runner.send([.launch(slow)])
        let process = try child()
        #expect(kill(process, SIGSTOP) == 0)
        try runner.until("the process is not stopped") { status(of: process).contains("State:\tT") }
        program.drop()
        let quick = request(2, ["/bin/true"])
        try runner.send([.launch(quick)])
        #expect(try runner.awaitExit(quick.attempt).exit.status == .code(0))
        let failure: String = try runner.await {
            if case .failed(slow.attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil }
        }
        #expect(failure == "start \(ETIMEDOUT)")
        #expect(try runner.survivors() == [])
    }

    @Test func `a start of the runner's own user waits for at most the longest start`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let slow = request(1, [program.path], user: nil)
        let quick = request(2, ["/bin/true"], user: nil)
        try runner.send([.launch(slow), .launch(quick)])
        let failure: String = try runner.await {
            if case .failed(slow.attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil }
        }
        #expect(failure == "start \(ETIMEDOUT)")
        #expect(try runner.awaitExit(quick.attempt).exit.status == .code(0))
    }

    @Test func `a starting process that is frozen gets more time`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let frozen = request(1, [program.path])
        let slow = request(2, [program.path])
        try runner.send([.launch(frozen), .freeze(frozen.attempt), .launch(slow)])
        // The deadline of the frozen one would be earlier.
        _ = try runner.await { if case .failed(slow.attempt, _, _) = $0 { () } else { nil } }
        #expect(!runner.reports.contains { if case .failed(frozen.attempt, _, _) = $0 { true } else { false } })
        try runner.send([.thaw(frozen.attempt)])
        program.drop()
        _ = try runner.awaitLaunched(frozen.attempt)
        #expect(try runner.awaitExit(frozen.attempt).exit.status == .code(0))
    }

    @Test func `a starting process has next to nothing of the runner's memory`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let slow = request(1, [program.path])
        try runner.send([.launch(slow)])
        let maps = String(
            decoding: try Files.read("/proc/\(try child())/maps", limit: 1 << 20), as: UTF8.self
        ).split(separator: "\n")
        #expect(!maps.isEmpty && maps.count < 12 && !maps.contains { $0.hasSuffix("[heap]") || $0.contains("/lib") })
        program.drop()
        #expect(try runner.awaitExit(slow.attempt).exit.status == .code(0))
    }

    @Test func `a starting process can be cancelled`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let slow = request(1, [program.path])
        try runner.send([.launch(slow)])
        _ = try child()
        try runner.send([.terminate(slow.attempt, grace: .zero)])
        #expect(try runner.awaitExit(slow.attempt).exit.status == .signal(SIGKILL))
        program.drop()
    }

    @Test func `a new program of the runner goes on with processes that are starting`() throws {
        let program = try LeasedProgram(runner.path("leased"))
        let good = request(1, [program.path])
        try runner.send([.launch(good)])
        _ = try child()
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        #expect(runner.greeting?.entries.map(\.attempt) == [good.attempt])
        program.drop()
        _ = try runner.awaitLaunched(good.attempt)
        #expect(try runner.awaitExit(good.attempt).exit.status == .code(0))
    }

    @Test(arguments: treeKinds)
    func `a failed step of another user's start is named and leaves nothing`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        try Files.replace(runner.path("script"), with: Array("#!/no/interpreter\n".utf8), mode: 0o755)
        let missing = request(1, ["/no/program"])
        let script = request(2, [runner.path("script")])
        var directory = request(3, ["/bin/true"])
        directory.directory = "/proc/1/none"
        var input = request(4, ["/bin/true"])
        input.stdin = "/proc/1/none"
        for var request in [missing, script, directory, input] {
            request.output = .log(runner.path("log.\(request.attempt.operation.rawValue)"))
            try runner.send([.launch(request)])
        }
        func failure(_ request: LaunchRequest) throws -> String {
            try runner.await {
                if case .failed(request.attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil }
            }
        }
        #expect(try failure(missing) == "exec /no/program \(ENOENT)")
        #expect(try failure(script) == "exec the interpreter of \(runner.path("script")) \(ENOENT)")
        #expect(try failure(directory) == "directory /proc/1/none \(ENOENT)")
        #expect(try failure(input) == "standard input /proc/1/none \(ENOENT)")
        #expect(try runner.survivors() == [])
    }
}
