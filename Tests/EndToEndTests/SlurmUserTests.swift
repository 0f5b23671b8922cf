import Foundation
import Glibc
import TestSupport
import Testing

/// Operations of several users as jobs of Slurm, by one opsd-slurm that runs as root.
@Suite(.enabled(if: geteuid() == 0, "only root can be several users"))
struct SlurmUserTests {
    private static let user = "nobody"

    private func cluster() throws -> SlurmCluster {
        let cluster = try SlurmCluster()
        try cluster.admitUsers()
        return cluster
    }

    /// Creates a file that only root can read, in a directory that all users can enter.
    private func makeSecret(in cluster: SlurmCluster) throws -> String {
        let path = cluster.directory.path + "/secret"
        try cluster.write("secret of root\n", to: "secret")
        chmod(path, 0o600)
        return path
    }

    @Test func `jobs run as the users of their operations`() throws {
        let cluster = try cluster()
        #expect(try cluster.log(of: "id -un; id -Gn", by: "daemon") == "daemon\ndaemon\n")
        #expect(try cluster.log(of: "id -un; id -Gn", by: Self.user) == "nobody\nnogroup\n")
        try waitUntil("the spool is empty") { try cluster.attempts().isEmpty }
    }

    @Test(arguments: ["ln -s $SECRET out", "mkfifo out", "mkdir out", "cd ..; mv run/out run/x; ln -s $SECRET run/out"])
    func `output that a user has swapped in the spool is not read`(step: String) throws {
        let cluster = try cluster()
        let secret = try makeSecret(in: cluster)
        let log = try cluster.log(
            of: "SECRET=\(secret); cd \(cluster.spool)/*/1.1/run && rm -f out exit; \(step)", by: Self.user)
        #expect(!log.contains("secret of root"))
    }

    @Test func `a directory that a user has filled is removed from the spool`() throws {
        let cluster = try cluster()
        let secret = try makeSecret(in: cluster)
        _ = try cluster.log(
            of: """
                cd \(cluster.spool)/*/1.1/run; mkdir -p a/b/c; mkfifo pipe; ln -s \(secret) link
                ln -s / a/root; chmod 0 a
                """, by: Self.user)
        try waitUntil("the spool is empty") { try cluster.attempts().isEmpty }
        #expect(FileManager.default.fileExists(atPath: secret))
    }

    @Test func `a large hole in the output takes no space in the log`() throws {
        let cluster = try cluster()
        // The log is not printed, because it is as long as the hole.
        let script = "cd \(cluster.spool)/*/1.1/run; truncate -s 4T out; echo end >> out"
        _ = try cluster.run(as: Self.user, "submit", "--executor", "cluster", "--", "sh", "-c", script)
        #expect(try cluster.finish(1)["outcome"] as? String == "succeeded")
        var status = stat()
        try #require(lstat("\(cluster.machine.state)/logs/0/1.1.log", &status) == 0)
        #expect(status.st_size == 4 << 40 + 4)
        #expect(status.st_blocks < 1024)
    }

    @Test(arguments: ["stuck", "mute"])
    func `commands of a user that do not end delay only operations of this user`(state: String) throws {
        let cluster = try cluster()
        let uid = try #require(getpwnam(Self.user)).pointee.pw_uid
        let file = "\(state)-\(uid)"
        try cluster.write("", to: file)
        let output = try cluster.run(as: Self.user, "submit", "--executor", "cluster", "--", "true")
        try #require(output.out == "1\n", "\(output.err)")
        #expect(try cluster.log(of: "id -un", by: "daemon") == "daemon\n")
        try FileManager.default.removeItem(atPath: cluster.directory.path + "/" + file)
        #expect(try cluster.finish(1)["outcome"] as? String == "succeeded")
    }

    /// Program that holds the kernel's lock of a file.
    private static let holder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("FakeSlurm/hold-file").path

    private static func hold(_ paths: String...) throws -> Command {
        try Command("/usr/bin/python3", [holder] + paths, environment: Machine.environment, in: "/")
    }

    private static let canHold = (try? hold().wait().status == 0) ?? false  // without it the test is left out

    @Test(.enabled(if: canHold, "userfaultfd is not permitted"))
    func `a user who blocks the reading of output delays only operations of this user`() throws {
        let cluster = try cluster()
        let go = cluster.directory.path + "/go"
        let output = try cluster.run(
            as: Self.user, "submit", "--executor", "cluster", "--", "sh", "-c",
            "echo begun; until [ -e \(go) ]; do sleep 0.1; done")
        try #require(output.out == "1\n", "\(output.err)")
        try waitUntil("the output is copied") { try cluster.machine.ok("log", "1").out == "begun\n" }
        let executor = try #require(try cluster.executorPID())
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        let path = "\(cluster.spool)/\(instance)/1.1/run/out"
        // It must not read the new end before the lock is held.
        kill(executor, SIGSTOP)
        try #require(truncate(path, 1 << 20) == 0)
        let holder = try Self.hold(path)
        defer {
            holder.signal(SIGKILL)
            _ = try? holder.wait(seconds: 20)  // killed: its status says nothing
        }
        try holder.until { $0 == "held\n" }
        kill(executor, SIGCONT)
        #expect(try cluster.log(of: "id -un", by: "daemon") == "daemon\n")
        try cluster.write("", to: "go")
        holder.signal(SIGKILL)
        #expect(try cluster.finish(1)["outcome"] as? String == "succeeded")
    }

    @Test func `an executor that starts again trusts no file of a user`() throws {
        let cluster = try cluster()
        let go = cluster.directory.path + "/go"
        let evil = cluster.directory.path + "/evil"
        let script = """
            cd \(cluster.spool)/*/1.1 || exit 1
            echo x >> launch; mv launch old; ln -s /etc run/x
            sed -i 's,\(cluster.machine.state),\(evil),g; s,nobody,daemon,g' run/launch; echo changed
            until [ -e \(go) ]; do sleep 0.1; done; id -un
            """
        let output = try cluster.run(
            as: Self.user, "submit", "--executor", "cluster", "--", "sh", "-c", script)
        try #require(output.out == "1\n", "\(output.err)")
        try waitUntil("the launch is changed") { try cluster.machine.ok("log", "1").out.contains("changed") }
        kill(try #require(try cluster.executorPID()), SIGKILL)
        #expect(FileManager.default.createFile(atPath: go, contents: nil))
        #expect(try cluster.finish(1)["outcome"] as? String == "succeeded")
        let log = try cluster.machine.ok("log", "1").out
        #expect(log.contains("nobody\n") && log.contains("Permission denied"))
        #expect(!FileManager.default.fileExists(atPath: evil))
    }

    @Test func `a job in a hidden partition is found, and submitted once`() throws {
        let cluster = try cluster()
        let output = try cluster.run(
            as: Self.user, "submit", "--executor", "cluster", "--slurm", "partition=hidden", "--", "true")
        try #require(output.out == "1\n", "\(output.err)")
        #expect(try cluster.finish(1)["outcome"] as? String == "succeeded")
        #expect(try cluster.calls("sbatch --hold").count == 1)
    }

    @Test func `an attempt whose spool is lost has not ended while its user has the job`() throws {
        let cluster = try cluster()
        let begun = cluster.directory.path + "/begun"
        let output = try cluster.run(
            as: Self.user, "submit", "--executor", "cluster", "--grace", "1h", "--", "sh", "-c",
            "trap '' TERM; echo $$ >\(begun); while :; do sleep 0.1; done")
        try #require(output.out == "1\n", "\(output.err)")
        try waitUntil("the command runs") { FileManager.default.fileExists(atPath: begun) }
        try cluster.machine.await("started", of: 1)
        _ = try cluster.run(as: Self.user, "cancel", "1")
        try waitUntil("SIGTERM is sent") { try !cluster.calls("scancel").isEmpty }
        try cluster.machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        let attempt = try #require(try cluster.attempts().first)
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        try FileManager.default.moveItem(
            atPath: "\(cluster.spool)/\(instance)/\(attempt)", toPath: cluster.directory.path + "/lost")
        try cluster.start()
        #expect(try cluster.finish(1)["outcome"] as? String == "cancelled")
        #expect(try cluster.calls("scancel").contains { $0.hasSuffix(" 4711") && !$0.contains(" -s ") })
        // Slurm itself would kill the command after a while.
        let pid = try String(contentsOfFile: begun, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        kill(try #require(Int32(pid)), SIGKILL)
    }
}
