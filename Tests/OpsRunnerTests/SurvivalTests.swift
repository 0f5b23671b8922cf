import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Daemons connect and disconnect; runners are killed and replaced.
@Suite struct SurvivalTests {
    @Test(arguments: treeKinds)
    func `exits are kept until they are acknowledged`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let instance = runner.greeting?.instance
        let ends = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; exit 9")
        let runs = runner.request(2, "sleep 1000")
        try runner.send([.launch(ends), .launch(runs)])
        let process = try runner.awaitLaunched(runs.attempt)
        _ = try runner.awaitLaunched(ends.attempt)
        runner.disconnect()
        #expect(creat(runner.path("go"), 0o600) >= 0)
        let end = Clock.read().monotonic + RunnerProcess.patience
        // Daemons connect one after another until the exit is in the inventory. Each finds the same runner.
        var exit: ProcessExit?
        while exit == nil {
            try #require(Clock.read().monotonic < end, "the exit was lost")
            try runner.connect()
            for entry in runner.greeting?.entries ?? [] where entry.attempt == ends.attempt {
                if case .gone(let found) = entry.state { exit = found }
            }
        }
        #expect(exit?.status == .code(9))
        #expect(runner.greeting?.instance == instance)
        #expect(runner.greeting?.entries.contains(.init(runs.attempt, .running(process))) == true)
        try runner.send([.acknowledge(ends.attempt)])
        try runner.connect()
        #expect(runner.greeting?.entries.map(\.attempt) == [runs.attempt])
    }

    @Test func `a newer connection replaces the older one`() throws {
        let runner = try RunnerProcess()
        let older = try UnixSocket.connect(to: runner.path("runner.sock"))
        try runner.connect()
        let request = runner.request(1, "true")
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        var bytes: [UInt8] = []
        #expect(try older.waitUntil(.readable, milliseconds: 20_000))
        #expect(try older.read(atMost: 100, onto: &bytes) == .ended)
    }

    @Test func `invalid bytes end the connection and nothing else`() throws {
        let runner = try RunnerProcess()
        let request = runner.request(1, "sleep 1000")
        try runner.send([.launch(request)])
        let process = try runner.awaitLaunched(request.attempt)
        for nonsense: [UInt8] in [[1, 0, 0, 0, 99], [255, 255, 255, 255], [0, 0, 0, 0]] {
            let socket = try UnixSocket.connect(to: runner.path("runner.sock"))
            #expect(try socket.writeAll(nonsense))
            var bytes: [UInt8] = []
            #expect(try socket.waitUntil(.readable, milliseconds: 20_000))
            #expect(try socket.read(atMost: 100, onto: &bytes) == .ended)
        }
        try runner.connect()
        #expect(runner.greeting?.entries == [.init(request.attempt, .running(process))])
    }

    @Test func `a daemon that reads nothing loses its connection`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "")
        // A long program name makes a long report of its failure, which each repetition of the launch gets.
        let character = "a" + String(repeating: "\u{301}", count: 100)
        request.arguments = ["/" + String(repeating: character, count: 400)]
        try runner.send([.launch(request)])
        let failure: ExecutorReport = try runner.await {
            if case .failed(request.attempt, _, _) = $0 { $0 } else { nil }
        }
        var report: [UInt8] = []
        failure.append(to: &report, for: LaunchProtocol.version)
        var commands: [UInt8] = []
        ExecutorCommand.hello(version: LaunchProtocol.version).append(to: &commands, for: 0)
        let again = ExecutorCommand.launch(LaunchRequest(attempt: request.attempt, arguments: []))
        for _ in 0...(66 << 20) / report.count { again.append(to: &commands, for: LaunchProtocol.version) }
        let socket = try UnixSocket.connect(to: runner.path("runner.sock"))
        _ = try socket.writeAll(commands)
        #expect(try socket.waitUntil(.hungUp, milliseconds: 20_000))
        try runner.connect()
        #expect(runner.greeting?.entries.map(\.attempt) == [request.attempt])
    }

    @Test func `a daemon of a distant version gets only the version`() throws {
        let runner = try RunnerProcess()
        let socket = try UnixSocket.connect(to: runner.path("runner.sock"))
        var hello: [UInt8] = []
        ExecutorCommand.hello(version: LaunchProtocol.version + 2).append(to: &hello, for: 0)
        #expect(try socket.writeAll(hello))
        var bytes: [UInt8] = []
        while try socket.read(atMost: 1000, onto: &bytes) != .ended {}
        var reader = FrameReader<ExecutorReport>()
        reader.append(bytes)
        guard case .hello(let greeting) = try reader.next() else { throw Failure("no greeting") }
        #expect(greeting.version == LaunchProtocol.version)
    }

    @Test(arguments: treeKinds)
    func `SIGKILL follows SIGTERM also without a daemon`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, "trap '' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        try runner.send([.terminate(request.attempt, grace: .milliseconds(50))])
        try runner.settle()
        runner.disconnect()
        try runner.until("it was never killed") { try runner.survivors().isEmpty }
    }

    @Test(arguments: treeKinds)
    func `processes of a killed runner are found and killed`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let instance = try #require(runner.greeting?.instance)
        let hiding = runner.request(
            1, "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo ready > $DIR/ready; sleep 1000; sleep 1000' & wait")
        let other = runner.request(2, "exec sleep 1000")
        try runner.send([.launch(hiding), .launch(other)])
        let kept = try runner.awaitLaunched(other.attempt)
        _ = try runner.awaitFile("ready")
        try runner.killRunner()
        #expect(try !runner.survivors().isEmpty)
        try runner.start()
        #expect(runner.greeting?.instance != instance)
        #expect(runner.greeting?.entries == [])
        try runner.send([.killStaleTree(hiding.attempt, socket: runner.path("s"), uid: geteuid())])
        try runner.awaitGone(hiding.attempt)
        #expect(try runner.survivors() == [kept.pid])
        // Processes with the socket of another daemon do not count, and a tree that cannot be found is gone.
        try runner.send([.killStaleTree(AttemptID(OperationID(77), 1), socket: "/elsewhere", uid: geteuid())])
        try runner.awaitGone(AttemptID(OperationID(77), 1))
        try runner.send([.killStaleTree(other.attempt, socket: runner.path("s"), uid: geteuid())])
        try runner.awaitGone(other.attempt)
        #expect(try runner.survivors() == [])
    }

    /// The process has no tag in its environment, and its group was used by another attempt before.
    @Test(.enabled(if: geteuid() == 0, "SKIPPED: an ordinary user has no control groups here"))
    func `a leftover process in a pooled group of a killed runner is killed`() throws {
        let runner = try RunnerProcess()
        // A mount of cgroup v2 that cannot be written, as in many containers.
        guard runner.greeting?.capabilities.hasControlGroups == true else { return }
        let first = runner.request(1, "exit 0")
        try runner.send([.launch(first)])
        _ = try runner.awaitExit(first.attempt)
        let hiding = runner.request(
            2,
            """
            echo 'echo $$ > pid; exec env -i sleep 1000' > $DIR/hide
            env -i setsid sh -c 'setsid sh ./hide &' & wait; sleep 1000
            """)
        try runner.send([.acknowledge(first.attempt), .launch(hiding)])
        let pid = try #require(Int32(try runner.awaitFile("pid").dropLast()))
        defer { kill(pid, SIGKILL) }
        try runner.killRunner()
        try runner.start()
        try runner.send([.killStaleTree(first.attempt, socket: runner.path("s"), uid: geteuid())])
        try runner.awaitGone(first.attempt)
        #expect(try isAlive(pid))
        try runner.send([.killStaleTree(hiding.attempt, socket: runner.path("s"), uid: geteuid())])
        try runner.awaitGone(hiding.attempt)
        #expect(try !isAlive(pid))
    }

    @Test(arguments: treeKinds)
    func `an upgrade in place loses nothing`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let instance = try #require(runner.greeting?.instance)
        let runs = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; exit 7")
        let stubborn = runner.request(2, "trap '' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        let ended = runner.request(3, "exit 8")
        var failed = runner.request(4, "")
        failed.arguments = ["/no/such"]
        var waits = runner.request(5, "setsid sh -c 'while ! [ -e $DIR/go ]; do sleep 0.01; done' & exit 1")
        waits.leftovers = .wait
        try runner.send([runs, stubborn, ended, failed, waits].map { .launch($0) })
        let process = try runner.awaitLaunched(runs.attempt)
        let exit = try runner.awaitExit(ended.attempt).exit
        let halfExit = try runner.awaitExit(waits.attempt).exit
        _ = try runner.awaitFile("ready")
        // The deadline of the operation that ignores SIGTERM must survive.
        try runner.send([.terminate(stubborn.attempt, grace: .milliseconds(300)), .reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        #expect(runner.greeting?.instance == instance)
        #expect(runner.greeting?.pid == runner.pid)
        let entries = runner.greeting?.entries ?? []
        #expect(entries.contains(.init(runs.attempt, .running(process))))
        #expect(entries.contains(.init(ended.attempt, .gone(exit))))
        #expect(entries.contains(.init(failed.attempt, .failed(step: "exec /no/such", errno: ENOENT))))
        #expect(entries.contains(.init(waits.attempt, .exited(halfExit))))
        #expect(entries.count == 5)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(runs.attempt).exit.status == .code(7))
        try runner.awaitGone(waits.attempt)
        if entries.contains(where: { $0.attempt == stubborn.attempt && $0.state.isRunning }) {
            #expect(try runner.awaitExit(stubborn.attempt).exit.status == .signal(SIGKILL))
        }
        // New operations start as before.
        let next = runner.request(6, "ulimit -Sn")
        try runner.send([.launch(next)])
        #expect(try runner.awaitExit(next.attempt).exit.status == .code(0))
        #expect(try runner.text("log.6.1") == "\(try OpenFiles.limit().soft)\n")
    }

    @Test func `files in an output directory are found after an upgrade in place`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(
            1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; echo 42 > $DIR/outputs/answer")
        request.outputDirectory = runner.path("outputs")
        try runner.send([.launch(request)])
        _ = try runner.awaitLaunched(request.attempt)
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        #expect(creat(runner.path("go"), 0o600) >= 0)
        _ = try runner.awaitExit(request.attempt)
        #expect(
            runner.reports.contains {
                if case .updated(request.attempt, let update) = $0 { update.hasOutputs } else { false }
            })
    }

    /// The new program cannot use control groups, and the running operations keep their parent.
    @Test func `an upgrade in place without control groups loses nothing`() throws {
        let runner = try RunnerProcess()
        let runs = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; exit 7")
        try runner.send([.launch(runs)])
        let process = try runner.awaitLaunched(runs.attempt)
        #expect(rename(runner.path("runner.id"), runner.path("id")) == 0)
        #expect(mkdir(runner.path("runner.id"), 0o700) == 0)
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        #expect(runner.greeting?.entries == [.init(runs.attempt, .running(process))])
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(runs.attempt).exit.status == .code(7))
        // It uses control groups again once it can.
        #expect(rmdir(runner.path("runner.id")) == 0)
        #expect(rename(runner.path("id"), runner.path("runner.id")) == 0)
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
    }

    @Test(arguments: treeKinds)
    func `a runner whose state directory was removed ends with its operations`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let obedient = runner.request(1, "exec sleep 1000")
        var stubborn = runner.request(2, "trap '' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        stubborn.grace = .milliseconds(100)
        try runner.send([.launch(obedient), .launch(stubborn)])
        _ = try runner.awaitLaunched(obedient.attempt)
        _ = try runner.awaitFile("ready")
        // The runner does not wait for a connected daemon, which can no longer store an end.
        removeTree(runner.state)
        #expect(try runner.awaitEnd() == .code(0))
        #expect(try runner.survivors() == [])
    }

    @Test func `a state directory has one runner`() throws {
        let runner = try RunnerProcess()
        let second = Spawn(
            arguments: [try RunnerProcess.program(), "--state", runner.state],
            environment: CStringArray(plainEnvironment))
        #expect(try Children.wait(for: try second.start())?.status == .code(1))
        var detached = second
        detached.arguments.append("--detach")
        #expect(try Children.wait(for: try detached.start())?.status == .code(0))
        try runner.connect()
    }

    @Test func `a detached runner listens when its starter returns`() throws {
        let runner = try RunnerProcess()
        let instance = runner.greeting?.instance
        try runner.killRunner()
        let detached = Spawn(
            arguments: [try RunnerProcess.program(), "--state", runner.state, "--detach"],
            environment: CStringArray(plainEnvironment))
        #expect(try Children.wait(for: try detached.start())?.status == .code(0))
        // The two happen without a pause in between.
        let socket = try UnixSocket.connect(to: runner.path("runner.sock"))
        _ = consume socket
        try runner.connect()
        let pid = try #require(runner.greeting?.pid)
        #expect(runner.greeting?.instance != instance)
        #expect(try ProcessRecord.read(pid)?.session != getsid(0))
        let request = runner.request(1, "sleep 1000")
        try runner.send([.launch(request), .stop(grace: .seconds(1))])
        #expect(try runner.awaitExit(request.attempt).exit.status == .signal(SIGTERM))
        try runner.send([.acknowledge(request.attempt)])
        try runner.until("it did not stop") { try !isAlive(pid) }
        #expect(!Files.exists(runner.path("runner.sock")))
    }

    @Test func `an idle detached runner ends`() throws {
        let runner = try RunnerProcess()
        try runner.killRunner()
        let detached = Spawn(
            arguments: [try RunnerProcess.program(), "--state", runner.state, "--detach", "--idle-limit", "0"],
            environment: CStringArray(plainEnvironment))
        #expect(try Children.wait(for: try detached.start())?.status == .code(0))
        // Without a connection, the end shows in the lock, which is released with its holder, and in the files that are
        // left.
        try runner.until("it did not end") { !Files.exists(runner.path("runner.sock")) }
    }

    /// Only a runner knows that the log has to be bounded.
    @Test func `an idle detached runner stays while a process has the log of an ended operation open`() throws {
        let runner = try RunnerProcess()
        var request = runner.request(1, "setsid sleep 1000 & exit 0")
        request.leftovers = .leave
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        try runner.killRunner()
        let detached = Spawn(
            arguments: [try RunnerProcess.program(), "--state", runner.state, "--detach", "--idle-limit", "0"],
            environment: CStringArray(plainEnvironment))
        #expect(try Children.wait(for: try detached.start())?.status == .code(0))
        try runner.connect()
        runner.disconnect()
        try runner.killLeftover()
        try runner.until("it did not end") { !Files.exists(runner.path("runner.sock")) }
    }

    @Test func `no zombie and no descriptor is left after an operation`() throws {
        let runner = try RunnerProcess()
        func descriptors() throws -> Int { try Files.list("/proc/\(runner.pid)/fd").count }
        // As many at once as there are control groups in the pool.
        let warm = (1...64).map { runner.request($0, "while ! [ -e $DIR/go ]; do sleep 0.05; done") }
        try runner.send(warm.map { .launch($0) })
        for request in warm { _ = try runner.awaitLaunched(request.attempt) }
        #expect(creat(runner.path("go"), 0o600) >= 0)
        for request in warm { #expect(try runner.awaitExit(request.attempt).treeIsGone) }
        try runner.send(warm.map { .acknowledge($0.attempt) })
        try runner.settle()
        let before = try descriptors()
        for batch in 1...10 as ClosedRange<Int64> {
            let requests = (0..<50).map { runner.request(batch * 1000 + $0, "sh -c 'true & true' & exit 0") }
            try runner.send(requests.map { .launch($0) })
            for request in requests {
                if try !runner.awaitExit(request.attempt).treeIsGone { try runner.awaitGone(request.attempt) }
            }
            try runner.send(requests.map { .acknowledge($0.attempt) })
        }
        try runner.settle()
        #expect(try descriptors() <= before)
        #expect(try ProcessRecord.all().filter { $0.parent == runner.pid } == [])
        #expect(try runner.survivors() == [])
    }
}

extension AttemptState {
    var isRunning: Bool { if case .running = self { true } else { false } }
}
