import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// A runner that has no free descriptors for a while.
@Suite struct ScarcityTests {
    /// Lets the main process end while the runner can open no file.
    private func endWithoutDescriptors(_ request: LaunchRequest, _ runner: RunnerProcess) throws {
        try runner.send([.launch(request)])
        let process = try runner.awaitLaunched(request.attempt)
        try runner.limitOpenFiles(to: 3)
        #expect(creat(runner.path("go"), 0o600) >= 0)
        try runner.awaitReaped(process.pid)
        try runner.settle()
        try runner.limitOpenFiles(to: nil)
    }

    @Test(arguments: treeKinds)
    func `an exit is reported although no descriptor is free`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        let request = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; exit 3")
        try endWithoutDescriptors(request, runner)
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        #expect(exit.status == .code(3))
        if !treeIsGone { try runner.awaitGone(request.attempt) }
    }

    @Test(arguments: treeKinds)
    func `leftover processes are watched once a descriptor is free`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(
            1,
            """
            setsid sh -c 'while ! [ -e $DIR/end ]; do sleep 0.01; done' &
            while ! [ -e $DIR/go ]; do sleep 0.01; done
            """)
        request.leftovers = .wait
        try endWithoutDescriptors(request, runner)
        #expect(try !runner.awaitExit(request.attempt).treeIsGone)
        #expect(creat(runner.path("end"), 0o600) >= 0)
        try runner.awaitGone(request.attempt)
        #expect(try runner.survivors() == [])
    }

    @Test(arguments: treeKinds)
    func `files in an output directory are reported although no descriptor is free`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        var request = runner.request(
            1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; echo 42 > $OPS_OUTPUT_DIR/answer")
        request.outputDirectory = runner.path("outputs/1")
        try endWithoutDescriptors(request, runner)
        if try !runner.awaitExit(request.attempt).treeIsGone { try runner.awaitGone(request.attempt) }
        let hasOutputs = runner.reports.contains {
            if case .updated(request.attempt, let update) = $0 { update.hasOutputs } else { false }
        }
        #expect(hasOutputs)
    }

    @Test func `a waiting connection does not keep a runner without descriptors busy`() throws {
        let runner = try RunnerProcess()
        try runner.limitOpenFiles(to: 3)
        let next = try UnixSocket.connect(to: runner.path("runner.sock"))
        for _ in 0..<30 { try runner.settle() }
        #expect(runner.complaints.split(separator: "\n").count < 10, "\(runner.complaints)")
        try runner.limitOpenFiles(to: nil)
        // The newest connection replaces the older one, which is closed.
        try runner.awaitHangUp()
        _ = consume next
    }

    /// Needs root: the user's runner then sees only that other processes exist.
    @Test(.enabled(if: Identity.uid == 0))
    func `processes that cannot be read do not stop a termination`() throws {
        let user = Spawn.User(uid: 65_534, gid: 65_534, groups: [])
        let runner = try RunnerProcess(
            usesControlGroups: false,
            script: """
                chown -R 65534:65534 "$3" && exec unshare -m sh -c 'mount -t proc -o hidepid=1 proc /proc &&
                exec setpriv --reuid=\(user.uid) --regid=\(user.gid) --clear-groups "$@"' sh "$@"
                """)
        let request = runner.request(1, "setsid sleep 1000 & echo ready > $DIR/ready; exec sleep 1000")
        try runner.send([.launch(request)])
        _ = try runner.awaitFile("ready")
        try runner.send([.terminate(request.attempt, grace: .seconds(20))])
        let (exit, treeIsGone) = try runner.awaitExit(request.attempt)
        #expect(exit.status == .signal(SIGTERM))
        if !treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(try runner.survivors() == [])
    }

    /// The program that started the runner ignored SIGCHLD.
    @Test(arguments: treeKinds)
    func `exits are reported although SIGCHLD was ignored at the start`(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(
            usesControlGroups: usesControlGroups, script: "exec env --ignore-signal=CHLD \"$@\"")
        let request = runner.request(1, "exit 4")
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(4))
    }
}
