import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Operations of other users, which only the runner of root starts, and the runner of an ordinary user.
@Suite(.enabled(if: geteuid() == 0, "SKIPPED: only root can act as other users")) struct UserTests {
    /// User `nobody` of Debian.
    static let nobody = LaunchRequest.User(name: "nobody", uid: 65534, gid: 65534)

    @Test(arguments: treeKinds)
    func `an operation runs with the rights of its user alone`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        var request = runner.request(
            1,
            """
            id -u; id -g; id -G
            echo err >> /dev/stderr
            stat -Lc 'log %u %a' /proc/self/fd/1
            cat $DIR/runner.id 2>/dev/null || echo closed
            """)
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        #expect(try runner.text("log.1.1").hasPrefix("65534\n65534\n65534\n"))
        #expect(try runner.text("log.1.1").contains("err\n"))
        #expect(try !usesControlGroups || runner.text("log.1.1").hasSuffix("closed\n"))
        #expect(try runner.text("log.1.1").contains("log 65534 600\n"), "it is the operation's")
        // Afterwards the log belongs to root: descriptors and links that the operation kept no longer open it.
        try runner.until("it is still its user's") {
            var status = stat()
            #expect(stat(runner.path("log.1.1"), &status) == 0)
            return status.st_uid == 0 && status.st_mode & 0o777 == 0o600
        }
    }

    @Test func `each operation of another user has a keyring of its own`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        var keyrings: Set<String> = []
        for operation in 1...2 as ClosedRange<Int64> {
            var request = runner.request(
                operation,
                """
                exec python3 -c 'import ctypes, platform
                call = 250 if platform.machine() == "x86_64" else 219
                print(ctypes.CDLL(None, use_errno=True).syscall(call, 0, -3, 0), ctypes.get_errno())'
                """)
            request.user = Self.nobody
            request.directory = "/"
            try runner.send([.launch(request)])
            #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
            keyrings.insert(try runner.text("log.\(operation).1"))
        }
        let hasNoKeys = keyrings.allSatisfy { $0.hasPrefix("-1 ") }
        #expect(hasNoKeys || keyrings.count == 2, "\(keyrings)")
    }

    @Test func `another user cannot go beyond the limits of the runner`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        var request = runner.request(1, "ulimit -Hn")
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        let most = try #require(UInt64(runner.text("log.1.1").dropLast()))
        var greedy = runner.request(2, "true")
        greedy.user = Self.nobody
        greedy.directory = "/"
        greedy.resourceLimits = [ResourceLimit(.openFiles, soft: 33, hard: most + 1)]
        try runner.send([.launch(greedy)])
        let failure = try runner.await {
            if case .failed(greedy.attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil }
        }
        #expect(failure == "resource limit \(EPERM)")
    }

    /// A process of another user that knows the address, and claims in its environment to belong to the operation.
    @Test(
        .enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds, [-1, 0])
    func `another user does not speak for an operation`(usesControlGroups: Bool, slot: Int32) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        #expect(mkfifo(runner.path("fifo"), 0o666) == 0 && chmod(runner.path("fifo"), 0o666) == 0)
        var request = runner.request(1, "echo $NOTIFY_SOCKET; read line < $DIR/fifo; systemd-notify STATUS=own; exit 0")
        request.slot = slot
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        let address = try runner.awaitFile("log.1.1").dropLast()
        try speak(as: Self.daemon, at: address, of: runner, "STATUS=forged\nX_OPS_FINISHED=0\nX_OPS_RESULT=forged")
        try go(runner)
        let update = try NotifyTests().awaitUpdate(runner, request.attempt) { $0.status != nil }
        #expect(update == OperationUpdate(status: "own"))
    }

    @Test(.enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds)
    func `an upgrade in place knows the users of operations`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        #expect(mkfifo(runner.path("fifo"), 0o666) == 0 && chmod(runner.path("fifo"), 0o666) == 0)
        var request = runner.request(
            1, "echo ready; read line < $DIR/fifo; setsid sh -c 'systemd-notify STATUS=own; true'; exit 0")
        request.slot = -1
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("log.1.1")
        try runner.send([.reexecute])
        try runner.awaitHangUp()
        try runner.connect()
        try go(runner)
        let update = try NotifyTests().awaitUpdate(runner, request.attempt) { $0.status != nil }
        #expect(update == OperationUpdate(status: "own"))
    }

    /// A program that changes its user stays in the tree and in the group, and sends messages as another user.
    @Test(
        .enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"), arguments: treeKinds)
    func `a process that has become another user's does not speak for its operation`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let become = "setpriv --reuid=\(Self.daemon.uid) --regid=\(Self.daemon.gid) --clear-groups"
        let request = runner.request(
            1,
            """
            \(become) systemd-notify STATUS=other X_OPS_FINISHED=0
            \(become) sh -c 'systemd-notify X_OPS_RESULT=other; true'
            systemd-notify X_OPS_PROGRESS=1
            """)
        try runner.send([.launch(request)])
        let update = try NotifyTests().awaitUpdate(runner, request.attempt) { $0.progressDone != nil }
        #expect(update == OperationUpdate(progressDone: 1))
    }

    /// The orphan belongs to the operation of its own user, whatever its environment contains.
    @Test func `an orphan with the tag of another user's operation is not counted to that`() throws {
        let runner = try RunnerProcess(usesControlGroups: false)
        #expect(chmod(runner.state, 0o711) == 0)
        var victim = runner.request(1, "exec sleep 1000")
        victim.user = Self.nobody
        victim.directory = "/"
        var forger = runner.request(
            2, "OPS_ID=1 setsid sh -c 'echo $$; exec sleep 1000' & while ! [ -s /proc/self/fd/1 ]; do sleep 0.01; done")
        forger.user = Self.daemon
        forger.directory = "/"
        forger.leftovers = .wait
        try runner.send([.launch(victim), .launch(forger)])
        _ = try runner.awaitLaunched(victim.attempt)
        #expect(try !runner.awaitExit(forger.attempt).treeIsGone)
        let orphan = try #require(Int32(try runner.awaitFile("log.2.1").dropLast()))
        defer { kill(orphan, SIGKILL) }
        try runner.send([.terminate(victim.attempt, grace: .zero)])
        let (_, treeIsGone) = try runner.awaitExit(victim.attempt)
        #expect(treeIsGone)
        #expect(try isAlive(orphan))
        try runner.send([.terminate(forger.attempt, grace: .zero)])
        try runner.awaitGone(forger.attempt)
        #expect(try !isAlive(orphan))
    }

    /// Processes of an earlier runner are found by environment, session and parent, but never those of another user.
    @Test(arguments: treeKinds)
    func `a process of another user with the tag of an attempt is not killed`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        var request = runner.request(1, "exec sleep 1000")
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        let process = try runner.awaitLaunched(request.attempt)
        try runner.killRunner()
        var stranger = Spawn(arguments: ["sleep", "1000"], environment: request.environment)
        stranger.user = Spawn.User(uid: Self.daemon.uid, gid: Self.daemon.gid, groups: [])
        let pid = try stranger.start()
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        try runner.start()
        try runner.send([.killStaleTree(request.attempt, socket: runner.path("s"), uid: Self.nobody.uid)])
        try runner.awaitGone(request.attempt)
        #expect(try !isAlive(process.pid))
        #expect(try isAlive(pid))
    }

    private func request(_ operation: Int64, _ script: String, in runner: RunnerProcess) -> LaunchRequest {
        var request = runner.request(operation, script)
        request.user = Self.nobody
        request.directory = "/"
        request.outputDirectory = runner.path("outputs/\(operation)")
        return request
    }

    @Test func `an output directory that another user has changed counts as used`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        func hasOutputs(_ operation: Int64, _ script: String) throws -> Bool {
            let launch = request(operation, script, in: runner)
            try runner.send([.launch(launch)])
            #expect(try runner.awaitExit(launch.attempt).exit.status == .code(0))
            return runner.reports.contains {
                if case .updated(launch.attempt, let update) = $0 { update.hasOutputs } else { false }
            }
        }
        #expect(try !hasOutputs(1, "stat -c %i $OPS_OUTPUT_DIR"))
        #expect(try hasOutputs(2, "stat -c %i $OPS_OUTPUT_DIR; touch $OPS_OUTPUT_DIR/f"))
        #expect(try runner.text("log.1.1") == runner.text("log.2.1"), "an unused one is that of the next attempt")
        #expect(try hasOutputs(3, "touch $OPS_OUTPUT_DIR/f; rm $OPS_OUTPUT_DIR/f"))
        #expect(try !hasOutputs(4, "true"))
    }

    /// After a backup was restored, an attempt starts again that the backup does not contain.
    @Test func `files that an attempt of the same name has left are kept beside its new output directory`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        let launch = request(1, "ls -A $OPS_OUTPUT_DIR; touch $OPS_OUTPUT_DIR/f", in: runner)
        for number in 0...2 {
            try runner.send([.launch(launch)])
            #expect(try runner.awaitExit(launch.attempt).exit.status == .code(0))
            #expect(try runner.text("log.1.1").isEmpty)
            #expect(number == 0 || Files.exists(launch.outputDirectory + ".old\(number)/f"))
            try runner.send([.acknowledge(launch.attempt)])
        }
    }

    /// A process of the user lists the directory into memory that never arrives, and another one waits for the lock.
    @Test func `an output directory whose lock is held holds up nobody`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        #expect(mkfifo(runner.path("fifo"), 0o666) == 0 && chmod(runner.path("fifo"), 0o666) == 0)
        let held = request(1, "read line < $DIR/fifo", in: runner)
        try runner.send([.launch(held)])
        _ = try runner.awaitLaunched(held.attempt)
        var holder = Spawn(
            arguments: [try RunnerProcess.program("log-holder"), "listing", runner.path("said"), "/dev/null"],
            environment: CStringArray(plainEnvironment))
        holder.directory = held.outputDirectory
        let pid = try holder.start()
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        try runner.until("it did not begin") { try !runner.text("said").isEmpty || !isAlive(pid) }
        guard try isAlive(pid) else {
            print("SKIPPED: an output directory whose lock is held: page faults cannot be handled (userfaultfd)")
            return
        }
        // The lock is needed to find out that there is no such name.
        var waiter = Spawn(
            arguments: ["/bin/sh", "-c", "while :; do rmdir none 2> /dev/null; done"],
            environment: CStringArray(plainEnvironment))
        waiter.directory = held.outputDirectory
        let shell = try waiter.start()
        defer {
            kill(shell, SIGKILL)
            waitpid(shell, nil, 0)
        }
        try runner.until("nobody waits for the lock") {
            try ProcessRecord.all().contains { $0.parent == shell && $0.state == UInt8(ascii: "D") }
        }
        try go(runner)
        #expect(try runner.awaitExit(held.attempt).exit.status == .code(0))
        let next = request(2, "exit 3", in: runner)
        try runner.send([.launch(next)])
        #expect(try runner.awaitExit(next.attempt).exit.status == .code(3))
    }

    private static let daemon = LaunchRequest.User(name: "daemon", uid: 1, gid: 1)

    /// Sends a message with the tag of attempt 1, and waits until it is sent.
    private func speak(
        as user: LaunchRequest.User, at address: Substring, of runner: RunnerProcess, _ message: String
    ) throws {
        var sender = Spawn(
            arguments: [NotifyTests.sender] + message.split(separator: "\n").map(String.init),
            environment: CStringArray(
                plainEnvironment + [
                    "NOTIFY_SOCKET=\(address)", "OPS_ID=1", "OPS_ATTEMPT=1", "OPS_SOCKET=\(runner.state)/s",
                ]))
        sender.user = Spawn.User(uid: user.uid, gid: user.gid, groups: [])
        #expect(try Children.wait(for: try sender.start())?.status == .code(0))
    }

    private func go(_ runner: RunnerProcess) throws {
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
    }

    @Test func `paths are opened with the rights of the user`() throws {
        let runner = try RunnerProcess()
        #expect(chmod(runner.state, 0o711) == 0)
        var request = runner.request(1, "true")
        request.user = Self.nobody
        request.directory = "/"
        request.output = .paths(stdout: runner.path("theirs"), stderr: "/dev/null")
        try runner.send([.launch(request)])
        let failure: Int32 = try runner.await {
            if case .failed(request.attempt, "standard output \(runner.path("theirs"))", let errno) = $0 {
                errno
            } else {
                nil
            }
        }
        #expect(failure == EACCES)
    }

    @Test func `the runner of an ordinary user also ends whole trees`() throws {
        let runner = try RunnerProcess(user: .init(uid: 65534, gid: 65534, groups: [65534]))
        #expect(runner.greeting?.capabilities == ExecutorCapabilities())
        let request = runner.request(1, "setsid sh -c 'id -u > $DIR/who; sleep 1000' & sleep 1000")
        try runner.send([.launch(request)])
        #expect(try runner.awaitFile("who") == "65534\n")
        try runner.send([.terminate(request.attempt, grace: .zero)])
        if try !runner.awaitExit(request.attempt).treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(try runner.survivors() == [])
        // It can start no process of another user, and set no limits for trees.
        var other = runner.request(2, "true")
        other.user = LaunchRequest.User(name: "daemon", uid: 1, gid: 1)
        other.output = .null
        var bounded = runner.request(3, "true")
        bounded.controlLimits.tasks = 5
        try runner.send([.launch(other), .launch(bounded)])
        func failure(_ attempt: AttemptID) throws -> String {
            try runner.await { if case .failed(attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil } }
        }
        #expect(try failure(other.attempt) == "user \(EPERM)")
        #expect(try failure(bounded.attempt) == "control group \(ENOTSUP)")
    }
}
