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
            1, "id -u; id -g; id -G; echo err >> /dev/stderr; cat $DIR/runner.id 2>/dev/null || echo closed; systemd-notify STATUS=hi")
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
            if case .failed(request.attempt, "standard output", let errno) = $0 { errno } else { nil }
        }
        #expect(failure == EACCES)
    }
}
