import Foundation
import Glibc
import TestSupport
import Testing

/// States of Slurm operations, the reasons why they are not submitted, and the times of their lines.
@Suite struct SlurmStateTests {
    private func remove(_ name: String, _ cluster: SlurmCluster) throws {
        try FileManager.default.removeItem(atPath: "\(cluster.directory.path)/\(name)")
    }

    private func why(_ id: Int, _ cluster: SlurmCluster) throws -> String { try cluster.machine.ok("why", "\(id)").out }

    private func state(_ id: Int, _ cluster: SlurmCluster) throws -> String? {
        try cluster.machine.show(id)["statusText"] as? String
    }

    private func messages(_ cluster: SlurmCluster) throws -> [Substring] {
        try String(contentsOfFile: cluster.machine.state + "/executor-cluster.log", encoding: .utf8).split(
            separator: "\n")
    }

    @Test(arguments: [
        ("sbatch: error: You must give --account", "sbatch: You must give --account"),
        (
            "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates policy",
            "sbatch: AssocMaxSubmitJobLimit; Job violates policy"
        ),
        ("sbatch: error: Unable to contact slurm controller", "sbatch: Unable to contact slurm controller"),
        ("", "sbatch: no number of a job in its output"),
    ])
    func `why shows the reason for which Slurm takes no job`(complaint: String, reason: String) throws {
        let cluster = try SlurmCluster()
        try cluster.write(complaint, to: "complaint")
        let id = try cluster.submit("--", "sh", "-c", "until [ -e \(cluster.directory.path)/go ]; do sleep 0.1; done")
        let sentence = "executor cluster has not submitted it yet: \(reason)"
        try waitUntil("why says: \(sentence)") { try why(id, cluster).contains(sentence) }
        #expect(try state(id, cluster) == reason)
        try remove("complaint", cluster)
        try cluster.machine.await("started", of: id)
        try waitUntil("the reason is gone") { try state(id, cluster) == "RUNNING on n1" }
        try cluster.write("", to: "go")
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
    }

    @Test func `output of squeue that is no listing is logged once and is the reason in why`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("garbage", to: "listing")
        let id = try cluster.submit("--", "true")
        let reason = "squeue: its output is no listing of jobs"
        let sentence = "executor cluster has not submitted it yet: \(reason)"
        try waitUntil("why says: \(sentence)") { try why(id, cluster).contains(sentence) }
        let listings = try cluster.calls("squeue").count
        try waitUntil("further listings are taken") { try cluster.calls("squeue").count >= listings + 3 }
        #expect(try messages(cluster).filter { $0.contains(reason) }.count == 1)
        try remove("listing", cluster)
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
    }

    @Test func `why shows the state of a job that has started`() throws {
        let cluster = try SlurmCluster()
        let id = try cluster.submit("--", "sh", "-c", "until [ -e \(cluster.directory.path)/go ]; do sleep 0.1; done")
        try cluster.machine.await("started", of: id)
        func expect(_ state: String) throws {
            let sentence = "job 4711 of executor cluster has started: \(state)"
            try waitUntil("why says: \(sentence)") { try why(id, cluster).contains(sentence) }
            #expect(try self.state(id, cluster) == state)
        }
        try expect("RUNNING on n1")
        for state in ["NODE_FAIL", "COMPLETED", "SUSPENDED"] {
            try cluster.change { $0["4711"]?["state"] = state }
            try expect("\(state) on n1")
        }
        try cluster.change {
            $0["4711"]?["state"] = "PENDING"
            $0["4711"]?["reason"] = "BeginTime"
        }
        try expect("PENDING (BeginTime)")
        try cluster.change { $0["4711"] = nil }
        try expect("not listed by Slurm")
        try cluster.write("", to: "go")
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
    }

    @Test func `a job whose row cannot be read is not missing`() throws {
        let cluster = try SlurmCluster(settings: "lost-after = 300ms\n")
        try cluster.write("", to: "busy")
        let id = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: id)
        try cluster.change { $0["4711"]?["reason"] = "of two\nlines" }
        try waitUntil("it is logged") {
            try messages(cluster).contains { $0.contains("squeue: a row of its output cannot be read") }
        }
        let listings = try cluster.calls("squeue").count
        try waitUntil("further listings are taken") { try cluster.calls("squeue").count >= listings + 5 }
        #expect(try cluster.machine.stateOf(id) == "executing")
        try remove("busy", cluster)
        try cluster.change { $0["4711"]?["reason"] = "JobHeldUser" }
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
        #expect(try cluster.calls("sbatch --hold").count == 1)
    }

    @Test func `the number of a job that starts before it is known is stored`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("early-start", to: "lie")
        let row = try cluster.finish(try cluster.submit("--", "true"))
        #expect(row["outcome"] as? String == "succeeded")
        #expect(row["job"] as? String == "4711")
    }

    @Test func `lines have the times at which they were written, also while opsd-slurm is away`() throws {
        let cluster = try SlurmCluster()
        let machine = cluster.machine
        let path = cluster.directory.path
        let id = try cluster.submit(
            "--", "sh", "-c",
            "echo first; until [ -e \(path)/go ]; do sleep 0.1; done; echo second; : >\(path)/written; exit 3")
        try waitUntil("the first line is copied") { try machine.ok("log", "\(id)").out == "first\n" }
        let between = try machine.betweenWrites()
        try machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        try cluster.write("", to: "go")
        try waitUntil("the second line is written") { FileManager.default.fileExists(atPath: path + "/written") }
        let after = try machine.betweenWrites()
        try cluster.start()
        #expect(try cluster.finish(id)["exitCode"] as? Int == 3)
        let rows = try machine.ok("log", "\(id)", "--time", "--json").objects
        #expect(rows.map { $0["line"] as? String } == ["first", "second"])
        let times = rows.compactMap { $0["at"] as? String }
        try #require(times.count == 2)
        #expect(times[0] <= between && times[1] >= between && times[1] <= after, "\(times), \(between), \(after)")
        #expect(try machine.ok("log", "\(id)", "--until", between).out == "first\n")
    }

    @Test func `only the user of a job can enter the directory with its output`() throws {
        let cluster = try SlurmCluster()
        let id = try cluster.submit("--", "sh", "-c", "until [ -e \(cluster.directory.path)/go ]; do sleep 0.1; done")
        try cluster.machine.await("started", of: id)
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: cluster.spool).first)
        let attempt = "\(cluster.spool)/\(instance)/\(id).1"
        for (path, mode) in [("\(attempt)/run", 0o700), ("\(attempt)/launch", 0o600)] as [(String, mode_t)] {
            var status = stat()
            try #require(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == mode, "\(path)")
        }
        try cluster.write("", to: "go")
        #expect(try cluster.finish(id)["outcome"] as? String == "succeeded")
    }
}
