import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Whole process trees are ended, however their processes hide; each test runs with and without control groups.
@Suite struct TreeTests {
    /// Starts a script, waits until it is ready, terminates it, and waits for the end of its tree.
    func end(_ script: String, grace: TimeSpan = .zero, usesControlGroups: Bool) throws -> ProcessExit {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, script)
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        #expect(try !runner.survivors().isEmpty)
        try runner.send([.terminate(request.attempt, grace: grace)])
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        if !treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(try runner.survivors() == [])
        return exit
    }

    @Test(arguments: treeKinds)
    func `processes in other sessions and after double forks are terminated`(usesControlGroups: Bool) throws {
        let script = """
            setsid sh -c 'setsid sh -c "echo ready > $DIR/ready; sleep 1000" & sleep 0.1; exit' &
            sleep 1000 & sleep 1000
            """
        #expect(try end(script, usesControlGroups: usesControlGroups).status == .signal(SIGKILL))
    }

    @Test(arguments: treeKinds)
    func `an ignored SIGTERM is followed by SIGKILL`(usesControlGroups: Bool) throws {
        let script = """
            trap '' TERM
            sh -c 'trap "" TERM; while :; do sleep 1000; done' &
            echo ready > $DIR/ready
            wait
            """
        let status = try end(script, grace: .milliseconds(100), usesControlGroups: usesControlGroups).status
        #expect(status == .signal(SIGKILL))
    }

    @Test(arguments: treeKinds)
    func `a process that handles SIGTERM gets its grace`(usesControlGroups: Bool) throws {
        let script = "trap 'exit 5' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done"
        #expect(try end(script, grace: .seconds(100), usesControlGroups: usesControlGroups).status == .code(5))
    }

    @Test(arguments: treeKinds)
    func `a second termination does not lengthen the grace`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, "trap '' TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        let (short, long) = (TimeSpan.milliseconds(200), TimeSpan.seconds(1000))
        try runner.send([.terminate(request.attempt, grace: short), .terminate(request.attempt, grace: long)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .signal(SIGKILL))
    }

    @Test(arguments: treeKinds)
    func `a fork storm is ended`(usesControlGroups: Bool) throws {
        // Each child outlives its parent. The storm is bounded so that a failing test does not block the machine.
        let script = """
            cat > $DIR/storm <<'E'
            i=0
            while [ $i -lt 400 ]; do setsid sleep 1000 & i=$((i+1)); [ $i -eq 20 ] && echo ready > $DIR/ready; done
            wait
            E
            sh $DIR/storm & sh $DIR/storm & sh $DIR/storm
            """
        _ = try end(script, usesControlGroups: usesControlGroups)
    }

    @Test(arguments: treeKinds)
    func `a stopped tree is terminated`(usesControlGroups: Bool) throws {
        let script = """
            trap 'echo termed > $DIR/termed; exit 6' TERM
            sleep 1000 & echo ready > $DIR/ready; kill -STOP $! ; kill -STOP $$; wait
            """
        let exit = try end(script, grace: .seconds(100), usesControlGroups: usesControlGroups)
        #expect(exit.status == .code(6))
    }

    @Test(arguments: treeKinds)
    func `leftover processes are killed after their grace`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        // The sleeping process itself reports that it is ready: between fork and exec a child still has the trap of the shell.
        var request = runner.request(
            1,
            """
            cat > $DIR/rest <<'E'
            trap "echo termed > $DIR/termed; exit" TERM
            sh -c 'echo ready > $DIR/ready; exec sleep 1000' &
            wait
            E
            setsid sh $DIR/rest &
            while ! [ -s $DIR/ready ]; do sleep 0.01; done
            exit 4
            """)
        request.grace = .seconds(100)
        try runner.send([.launch(request)])
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        #expect(exit.status == .code(4))
        #expect(!treeIsGone)
        try runner.awaitGone(request.attempt)
        #expect(try runner.text("termed") == "termed\n")
        #expect(try runner.survivors() == [])
    }

    @Test(arguments: treeKinds)
    func `leftover processes are waited for`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(mkfifo(runner.path("fifo"), 0o600) == 0)
        var request = runner.request(1, "setsid sh -c 'read line < $DIR/fifo; echo $line > $DIR/done' & exit 0")
        request.leftovers = .wait
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).treeIsGone == false)
        try runner.settle()
        #expect(!runner.reports.contains(.gone(request.attempt)))
        let fifo = open(runner.path("fifo"), O_WRONLY)
        #expect(write(fifo, "go\n", 3) == 3)
        close(fifo)
        try runner.awaitGone(request.attempt)
        #expect(try runner.text("done") == "go\n")
    }

    @Test(arguments: treeKinds)
    func `leftover processes stay alive with leftovers: leave`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, "setsid sh -c 'echo $$ > $DIR/left; exec sleep 1000' & exit 0")
        request.leftovers = .leave
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).treeIsGone)
        let left = try #require(Int32(try runner.awaitFile("left").dropLast()))
        #expect(try isAlive(left))
        kill(left, SIGKILL)
    }

    @Test(arguments: treeKinds)
    func `a terminated attempt leaves no process alive, also with leftovers: leave`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(
            1,
            """
            setsid sh -c 'trap "" TERM; echo ready > $DIR/ready; while :; do sleep 0.01; done' &
            exec sleep 1000
            """)
        request.leftovers = .leave
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        defer { for pid in (try? runner.survivors()) ?? [] { kill(pid, SIGKILL) } }
        try runner.send([.terminate(request.attempt, grace: .milliseconds(100))])
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        #expect(exit.status == .signal(SIGTERM))
        if !treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(try runner.survivors() == [])
    }

    /// A group without controllers is used by one attempt after another, unless a process is left in it.
    @Test(.enabled(if: geteuid() == 0, "SKIPPED: an ordinary user has no control groups here"))
    func `a pooled group is reused unless a process is left in it`() throws {
        let runner = try RunnerProcess()
        let capabilities = try #require(runner.greeting?.capabilities)
        // A mount of cgroup v2 that cannot be written, as in many containers.
        guard capabilities.hasControlGroups else { return }
        func group(_ operation: Int64, _ script: String = "") throws -> String {
            var request = runner.request(operation, "grep ^0:: /proc/self/cgroup; \(script)")
            request.leftovers = .leave
            try runner.send([.launch(request)])
            #expect(try runner.awaitExit(request.attempt).treeIsGone)
            try runner.send([.acknowledge(request.attempt)])
            let group = try runner.text("log.\(operation).1")
            #expect(group.hasSuffix("\n"))
            return group
        }
        let first = try group(1)
        #expect(try (group(2) == first) == capabilities.controllers.isEmpty)
        let third = try group(
            3, "setsid sh -c 'echo $$ > $DIR/left; exec sleep 1000' & while ! [ -s $DIR/left ]; do sleep 0.01; done")
        let left = try #require(Int32(try runner.awaitFile("left").dropLast()))
        defer { kill(left, SIGKILL) }
        #expect(try group(4) != third)
        // A group that contains another group is not reused either.
        let fifth = try group(
            5, "mkdir $(grep -m1 cgroup2 /proc/mounts | cut -d' ' -f2)$(grep ^0:: /proc/self/cgroup | cut -c4-)/below")
        #expect(try group(6) != fifth)
        #expect(try isAlive(left))
    }

    @Test(
        .enabled(if: geteuid() == 0, "SKIPPED: an ordinary user has no control groups here"), arguments: [false, true])
    func `a group that was left goes with its last process`(throughAnUpgrade: Bool) throws {
        let runner = try RunnerProcess()
        guard runner.greeting?.capabilities.hasControlGroups == true else { return }
        let mount = "$(grep -m1 cgroup2 /proc/mounts | cut -d' ' -f2)"
        var request = runner.request(
            1, "echo \(mount)$(grep ^0:: /proc/self/cgroup | cut -c4-) > $DIR/group; sleep 1000 & sleep 1000 & exit 0")
        request.leftovers = .leave
        try runner.send([.launch(request)])
        _ = try runner.awaitExit(request.attempt)
        try runner.send([.acknowledge(request.attempt)])
        try runner.settle()
        let group = String(try runner.text("group").dropLast())
        if throughAnUpgrade {
            try runner.send([.reexecute])
            try runner.awaitHangUp()
            try runner.connect()
        }
        let left = try runner.survivors()
        #expect(left.count == 2)
        for pid in left {
            #expect(Files.exists(group))
            kill(pid, SIGKILL)
            try runner.awaitReaped(pid)
            // Other processes that end meanwhile change nothing.
            let other = runner.request(Int64(pid) + 10, "true")
            try runner.send([.launch(other)])
            _ = try runner.awaitExit(other.attempt)
        }
        try runner.until("\(group) is still there") { !Files.exists(group) }
    }

    /// Linux 6.18 kills every process that is created from outside in a group that was killed once.
    @Test(
        .enabled(if: geteuid() == 0, "SKIPPED: an ordinary user has no control groups here"), arguments: [false, true])
    func `an attempt after a killed one is not killed with it`(byItself: Bool) throws {
        let runner = try RunnerProcess()
        guard runner.greeting?.capabilities.hasControlGroups == true else { return }
        let group = "$(grep -m1 cgroup2 /proc/mounts | cut -d' ' -f2)$(grep ^0:: /proc/self/cgroup | cut -c4-)"
        let killed = runner.request(
            1, (byItself ? "echo 1 >\(group)/cgroup.kill;" : "") + "echo up >$DIR/up; exec sleep 1000")
        try runner.send([.launch(killed)])
        if !byItself {
            _ = try runner.awaitFile("up")
            try runner.send([.terminate(killed.attempt, grace: .zero)])
        }
        #expect(try runner.awaitExit(killed.attempt).exit.status == .signal(SIGKILL))
        let next = runner.request(2, "exit 3")
        try runner.send([.acknowledge(killed.attempt), .launch(next)])
        #expect(try runner.awaitExit(next.attempt).exit.status == .code(3))
    }

    @Test(arguments: treeKinds)
    func `a leftover of another operation is not counted to the only living attempt`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        // The runner adopts it only when its parent ends, after its operation.
        var leaves = runner.request(
            1,
            """
            setsid sh -c 'setsid sleep 1000 & echo $! > $DIR/left
            while ! [ -e $DIR/go ]; do sleep 0.01; done' & exit 0
            """)
        leaves.leftovers = .leave
        try runner.send([.launch(leaves)])
        #expect(try runner.awaitExit(leaves.attempt).treeIsGone)
        let left = try #require(Int32(try runner.awaitFile("left").dropLast()))
        defer { kill(left, SIGKILL) }
        let only = runner.request(2, "exec sleep 1000")
        try runner.send([.acknowledge(leaves.attempt), .launch(only)])
        _ = try runner.awaitLaunched(only.attempt)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        try runner.until("nobody adopted it") { try ProcessRecord.read(left)?.parent == runner.pid }
        try runner.settle()
        try runner.send([.terminate(only.attempt, grace: .zero)])
        let (_, treeIsGone) = try runner.awaitExit(only.attempt)
        if !treeIsGone { try runner.awaitGone(only.attempt) }
        #expect(try isAlive(left))
    }

    @Test(arguments: treeKinds)
    func `a grandchild that holds the output open delays nothing`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, "sleep 1000 & echo said; exit 2")
        request.leftovers = .leave
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(2))
        #expect(try runner.text("log.1.1") == "said\n")
        try runner.killLeftover()
    }

    @Test(arguments: treeKinds)
    func `a frozen tree makes no progress until it is thawed`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(
            1, "setsid sh -c 'while :; do echo x >> $DIR/beat; sleep 0.01; done' & echo ready > $DIR/ready; wait")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("beat")
        try runner.send([.freeze(request.attempt)])
        try runner.settle()
        try awaitStandstill(runner)
        let before = try runner.text("beat")
        #expect(try runner.text("beat") == before)
        try runner.send([.thaw(request.attempt)])
        try runner.until("it did not go on") { try runner.text("beat") != before }
        // A frozen tree can be terminated.
        try runner.send([.freeze(request.attempt), .terminate(request.attempt, grace: .seconds(100))])
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        if !treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(exit.status == .signal(SIGTERM))
        #expect(try runner.survivors() == [])
    }

    @Test(arguments: treeKinds)
    func `a tree that is being terminated cannot be frozen`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(
            1,
            """
            trap 'while ! [ -e $DIR/go ]; do sleep 0.01; done; exit 5' TERM
            echo ready > $DIR/ready; while :; do sleep 0.01; done
            """)
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        try runner.send([.terminate(request.attempt, grace: .seconds(1000))])
        // The SIGTERM was sent at the end of that turn.
        try runner.settle()
        try runner.send([.freeze(request.attempt)])
        try runner.settle()
        #expect(creat(runner.path("go"), 0o600) >= 0)
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(5))
    }

    @Test(arguments: treeKinds)
    func `processes that a frozen attempt leaves are thawed`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(1, "setsid sh -c 'while :; do echo x >> $DIR/beat; sleep 0.01; done' & wait")
        request.leftovers = .leave
        try runner.send([.launch(request)])
        let main = try runner.awaitLaunched(request.attempt)
        _ = try runner.awaitFile("beat")
        try runner.send([.freeze(request.attempt)])
        try runner.settle()
        try awaitStandstill(runner)
        let before = try runner.text("beat")
        kill(main.pid, SIGKILL)
        #expect(try runner.awaitExit(request.attempt).exit.status == .signal(SIGKILL))
        try runner.until("it did not go on") { try runner.text("beat") != before }
        try runner.killLeftover()
    }

    /// Waits until every process of the operation is stopped, or its group is frozen.
    private func awaitStandstill(_ runner: RunnerProcess) throws {
        try runner.until("it does not stand still: \(try runner.survivors())") {
            let all = try runner.survivors().map { try ProcessRecord.read($0) }
            // D: a shell in a vfork, which continues only when its stopped child does.
            let stopped = all.allSatisfy { record in record.map { [0x54, 0x44].contains($0.state) } ?? true }
            return try stopped || isGroupFrozen(runner)
        }
    }

    private func isGroupFrozen(_ runner: RunnerProcess) throws -> Bool {
        guard runner.greeting?.capabilities.hasControlGroups == true else { return false }
        guard let pid = try runner.survivors().first else { return false }
        let bytes = try Files.readIfPresent("/proc/\(pid)/cgroup", limit: 65_536) ?? []
        let groups = String(decoding: bytes, as: UTF8.self)
        guard let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::") }) else { return false }
        for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            let group = ControlGroup(path: mount + line.dropFirst(3))
            if try group.value("frozen", in: "cgroup.events") == 1 { return true }
        }
        return false
    }
}
