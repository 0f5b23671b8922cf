import Glibc
import OpsLinux
import OpsRunner
import Testing

/// Operations of other users, which only root's runner starts; and a runner of an ordinary user.
@Suite(.enabled(if: geteuid() == 0, "SKIPPED: only root can act as other users")) struct UserTests {
    /// Debian's `nobody`.
    static let nobody = LaunchRequest.User(name: "nobody", uid: 65534, gid: 65534)

    @Test(arguments: treeKinds)
    func anOperationIsItsUserAlone(usesControlGroups: Bool) throws {
        let runner = try RunnerProcess(usesControlGroups: usesControlGroups)
        #expect(chmod(runner.state, 0o711) == 0)
        var request = runner.request(
            1,
            """
            id -u; id -g; id -G
            echo err >> /dev/stderr
            cat $DIR/runner.id 2>/dev/null || echo closed
            """)
        request.user = Self.nobody
        request.directory = "/"
        try runner.send([.launch(request)])
        #expect(try runner.awaitExit(request.attempt).exit.status == .code(0))
        #expect(try runner.text("log.1.1").hasPrefix("65534\n65534\n65534\n"))
        #expect(try runner.text("log.1.1").contains("err\n"))
        #expect(try !usesControlGroups || runner.text("log.1.1").hasSuffix("closed\n"))
        var status = stat()
        #expect(stat(runner.path("log.1.1"), &status) == 0)
        #expect(status.st_uid == 65534 && status.st_mode & 0o777 == 0o600)
    }

    @Test func pathsAreOpenedWithTheRightsOfTheUser() throws {
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

    @Test func anOrdinaryUsersRunnerHoldsWholeTreesToo() throws {
        let runner = try RunnerProcess(user: .init(uid: 65534, gid: 65534, groups: [65534]))
        #expect(runner.greeting?.abilities == RunnerAbilities())
        let request = runner.request(1, "setsid sh -c 'id -u > $DIR/who; sleep 1000' & sleep 1000")
        try runner.send([.launch(request)])
        #expect(try runner.awaitFile("who") == "65534\n")
        try runner.send([.terminate(request.attempt, grace: 0)])
        if try !runner.awaitExit(request.attempt).treeIsGone { try runner.awaitGone(request.attempt) }
        #expect(try runner.survivors() == [])
        // It can be nobody else, and bound no tree.
        var other = runner.request(2, "true")
        other.user = LaunchRequest.User(name: "daemon", uid: 1, gid: 1)
        other.output = .null
        var bounded = runner.request(3, "true")
        bounded.controlLimits.tasks = 5
        try runner.send([.launch(other), .launch(bounded)])
        func failure(_ attempt: Attempt) throws -> String {
            try runner.await { if case .failed(attempt, let step, let errno) = $0 { "\(step) \(errno)" } else { nil } }
        }
        #expect(try failure(other.attempt) == "user \(EPERM)")
        #expect(try failure(bounded.attempt) == "control group \(ENOTSUP)")
    }
}
