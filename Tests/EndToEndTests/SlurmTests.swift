import Foundation
import Glibc
import TestSupport
import Testing

/// Operations as jobs of Slurm: a complete opsd with opsd-slurm and opsd-step, and scripts that act as Slurm and
/// sometimes give false answers.
@Suite struct SlurmTests {
    @Test func `an operation runs as a job, with its log, environment and exit status`() throws {
        let cluster = try SlurmCluster()
        let good = try cluster.finish(
            try cluster.submit("--env", "A=b c", "--slurm", "cpus=2", "--", "sh", "-c", "echo $A $SLURM_JOB_ID"))
        #expect(good["outcome"] as? String == "succeeded")
        #expect(good["job"] as? String == "4711")
        #expect(try cluster.machine.ok("log", "\(good["id"] ?? 0)").out == "b c 4711\n")
        #expect(try cluster.calls("sbatch --hold").first?.contains("--cpus-per-task=2") == true)
        let bad = try cluster.finish(try cluster.submit("--", "sh", "-c", "exit 3"))
        #expect(bad["exitCode"] as? Int == 3)
        let killed = try cluster.finish(try cluster.submit("--", "sh", "-c", "kill -SEGV $$"))
        #expect(killed["signal"] as? String == "SEGV" || killed["signal"] as? Int == 11)
    }

    @Test func `a command that cannot be started fails as a local one, and its log names the program`() throws {
        let cluster = try SlurmCluster()
        let row = try cluster.finish(try cluster.submit("--", "/no/such/program"))
        #expect(row["outcome"] as? String == "failed")
        #expect(row["exitCode"] is NSNull)
        #expect(row["cause"] as? String == "cannot start: exec /no/such/program: no such file or directory")
        #expect(try cluster.machine.ok("log", "\(row["id"] ?? 0)").out.contains("cannot start: exec /no/such/program"))
    }

    @Test func `a request that Slurm can never fulfil is refused in its words`() throws {
        let cluster = try SlurmCluster()
        let refused = try cluster.finish(try cluster.submit("--slurm", "cpus=99", "--", "true"))
        #expect(refused["cause"] as? String == "refused: Requested node configuration is not available")
        #expect(try cluster.calls("sbatch --hold").isEmpty)
    }

    @Test func `a request that no node can fulfil now is submitted`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("DOWN\n", to: "nodes")
        #expect(try cluster.finish(try cluster.submit("--", "true"))["outcome"] as? String == "succeeded")
    }

    @Test(arguments: ["lost-reply", "lost-job", "wrong-number", "timeout"])
    func `an sbatch that lies leads to one start`(lie: String) throws {
        let cluster = try SlurmCluster()
        try cluster.write(lie, to: "lie")
        let runs = cluster.directory.path + "/runs"
        let row = try cluster.finish(try cluster.submit("--", "sh", "-c", "echo x >> \(runs)"))
        #expect(row["outcome"] as? String == "succeeded")
        #expect(try String(contentsOfFile: runs, encoding: .utf8) == "x\n")
        // On a loaded machine a release is repeated before squeue has shown it. It always names the same job.
        #expect(Set(try cluster.calls("scontrol release")).count == 1)
    }

    @Test(arguments: ["job-name", "comment"])
    func `an operation whose jobs get another name or comment is refused`(option: String) throws {
        let cluster = try SlurmCluster()
        try cluster.write(option, to: "plug-in")
        let row = try cluster.finish(try cluster.submit("--", "true"))
        let question = "were its name or comment changed?"
        #expect(row["cause"] as? String == "refused: Slurm accepted job 4718 but does not list it; \(question)")
        #expect(try cluster.calls("sbatch --hold").count == 8)
        try waitUntil("the jobs are cancelled") { try !cluster.states().values.contains("PENDING") }
    }

    @Test func `a job that is held again after the end of its attempt is cancelled`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("", to: "busy")
        let id = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: id)
        try cluster.change { $0["4711"]?["state"] = "CANCELLED" }
        #expect(try cluster.finish(id)["outcome"] as? String == "cancelled")
        try cluster.change {
            $0["4711"]?["state"] = "PENDING"
            $0["4711"]?["reason"] = "JobHeldUser"
        }
        try waitUntil("the job is cancelled") { try cluster.states() == ["4711": "CANCELLED"] }
    }

    @Test func `jobs outlive opsd and its executor`() throws {
        let cluster = try SlurmCluster()
        let machine = cluster.machine
        let running = try cluster.submit(
            "--", "sh", "-c", "echo begun; until [ -e \(machine.state)/go ]; do sleep 0.1; done; exit 4")
        try machine.await("started", of: running)
        try cluster.write("", to: "busy")
        let waiting = try cluster.submit("--", "true")
        try machine.await("progress", of: waiting)
        #expect(try machine.show(waiting)["statusText"] as? String == "PENDING (Resources)")
        try machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        #expect(FileManager.default.createFile(atPath: machine.state + "/go", contents: nil))
        try cluster.start()
        #expect(try cluster.finish(running)["exitCode"] as? Int == 4)
        #expect(try machine.ok("log", "\(running)").out == "begun\n")
        #expect(try cluster.calls("sbatch --hold").count == 2)
        try machine.ok("cancel", "\(waiting)")
        let cancelled = try cluster.finish(waiting)
        #expect(cancelled["outcome"] as? String == "cancelled")
        #expect(cancelled["startedAt"] is NSNull && cancelled["signal"] is NSNull, "it has not started")
    }

    @Test func `files that the machine had not written to the disk are restored`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("", to: "busy")
        let id = try cluster.submit("--", "sh", "-c", "echo ran")
        try cluster.machine.await("progress", of: id)
        try cluster.machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        try FileManager.default.removeItem(atPath: "\(cluster.spool)/\(instance)/\(id).1")
        try cluster.start()
        // The controller has lost the release.
        try cluster.change { $0["4711"]?["reason"] = "JobHeldUser" }
        try FileManager.default.removeItem(atPath: cluster.directory.path + "/busy")
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
        #expect(try cluster.machine.ok("log", "\(id)").out == "ran\n")
        #expect(try cluster.calls("sbatch --hold").count == 1)
        try waitUntil("the attempt is removed") { try cluster.attempts().isEmpty }
    }

    @Test func `an executor starts again whatever the length of its file of records`() throws {
        let cluster = try SlurmCluster()
        let go = cluster.directory.path + "/go"
        let id = try cluster.submit("--", "sh", "-c", "until [ -e \(go) ]; do sleep 0.1; done; exit 4")
        try cluster.machine.await("started", of: id)
        try cluster.machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        try #require(truncate("\(cluster.spool)/\(instance)/records", 2 << 30) == 0)
        try cluster.start()
        try cluster.write("", to: "go")
        #expect(try cluster.finish(id)["exitCode"] as? Int == 4)
        #expect(try cluster.calls("sbatch --hold").count == 1)
    }

    @Test func `a job behind a second fence goes on although the records are lost`() throws {
        let cluster = try SlurmCluster()
        let go = cluster.directory.path + "/go"
        // The first job does not exist, so another one is submitted.
        try cluster.write("lost-job", to: "lie")
        let id = try cluster.submit("--", "sh", "-c", "until [ -e \(go) ]; do sleep 0.1; done; exit 4")
        try cluster.machine.await("started", of: id)
        try cluster.machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        try FileManager.default.removeItem(atPath: "\(cluster.spool)/\(instance)/records")
        try cluster.start()
        try cluster.write("", to: "go")
        let row = try cluster.finish(id)
        #expect(row["exitCode"] as? Int == 4)
        #expect(row["job"] as? String == "4712")
        #expect(try cluster.calls("sbatch --hold").count == 2)
    }

    @Test func `a service that is to use another spool fails, so that its manager starts it again`() throws {
        let machine = try Machine(start: false)
        let file = machine.state + "/opsd.conf"
        func setSpool(_ name: String) throws {
            try "[executor cluster]\nkind = slurm\nspool = \(machine.state)/\(name)\n".write(
                toFile: file, atomically: true, encoding: .utf8)
        }
        try setSpool("old")
        let manager = try ServiceManager(in: machine.state)
        let service = try Command(
            Machine.programs + "/opsd-slurm", ["--state", machine.state, "--name", "cluster", "--config", file],
            environment: Machine.environment.merging(manager.environment) { $1 }, in: "/")
        try #require(try manager.hear("READY=1") != nil)
        try setSpool("new")
        // opsd connects to the service.
        try machine.start(["--config", file])
        let output = try service.wait()
        #expect(output.status == 1, "\(output.err)")
        #expect(output.err.contains("the spool has changed"))
    }

    @Test func `why shows the state of a job and its expected start`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("1795495320", to: "busy")
        let id = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: id)
        let why = try cluster.machine.ok("why", "\(id)").out
        #expect(why.contains("job 4711 of executor cluster has not started: PENDING (Resources); expected at "))
        #expect(try cluster.machine.ok("why", "\(id)", "--json").out.contains("\"at\":\"2026-11-24T"))
        try cluster.change { $0["4711"]?["start"] = "" }
        try waitUntil("the estimate stays") { try !cluster.machine.ok("why", "\(id)").out.contains("expected") }
        try cluster.machine.ok("cancel", "\(id)")
    }

    @Test func `cancel sends SIGTERM first`() throws {
        let cluster = try SlurmCluster()
        let id = try cluster.submit(
            "--", "sh", "-c", "trap 'echo ended; exit 1' TERM; echo begun; while :; do sleep 0.1; done")
        try cluster.machine.await("started", of: id)
        let log = try cluster.machine.begin(["log", "-f", "\(id)"])
        try log.until { $0.contains("begun") }
        try cluster.machine.ok("cancel", "\(id)")
        #expect(try cluster.finish(id)["outcome"] as? String == "cancelled")
        // The shell may print that its sleep was terminated.
        let lines = try cluster.machine.ok("log", "\(id)").out.split(separator: "\n")
        #expect(lines.contains("begun") && lines.contains("ended"))
        _ = try log.wait(seconds: 20)
    }

    @Test func `a job that Slurm has lost is interrupted, and one cancelled there is cancelled`() throws {
        let cluster = try SlurmCluster(settings: "lost-after = 300ms\n")
        try cluster.write("", to: "busy")
        let lost = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: lost)
        try cluster.change { $0["4711"] = nil }
        let row = try cluster.finish(lost)
        #expect(row["outcome"] as? String == "interrupted")
        #expect(row["cause"] as? String == "Slurm has no record of job 4711")
        let cancelled = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: cancelled)
        try cluster.change { $0["4712"]?["state"] = "CANCELLED" }
        #expect(try cluster.finish(cancelled)["cause"] as? String == "Slurm job 4712 was cancelled in Slurm")
    }

    @Test func `a job that Slurm starts twice runs once`() throws {
        let cluster = try SlurmCluster()
        let runs = cluster.directory.path + "/runs"
        let go = cluster.directory.path + "/go"
        let id = try cluster.submit("--", "sh", "-c", "echo x >> \(runs); until [ -e \(go) ]; do sleep 0.1; done")
        try cluster.machine.await("started", of: id)
        // The controller has lost the release, and another user releases the job.
        try cluster.change {
            $0["4711"]?["state"] = "PENDING"
            $0["4711"]?["reason"] = "JobHeldUser"
        }
        let release = Process()
        release.executableURL = URL(fileURLWithPath: cluster.directory.path + "/scontrol")
        release.arguments = ["release", "4711"]
        release.environment = ["SLURM_CONF": cluster.directory.path + "/slurm.conf", "PATH": "/usr/bin:/bin"]
        try release.run()
        release.waitUntilExit()
        try cluster.write("", to: "go")
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
        #expect(try String(contentsOfFile: runs, encoding: .utf8) == "x\n")
    }
}
