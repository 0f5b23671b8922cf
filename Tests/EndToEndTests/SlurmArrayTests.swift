import Foundation
import Glibc
import TestSupport
import Testing

/// Operations that share a submission to Slurm: tasks of an array, and jobs of several operations.
@Suite struct SlurmArrayTests {
    /// Submits operations 1 to `count` with one command.
    private func submit(_ cluster: SlurmCluster, _ count: Int, _ options: [String], _ script: String) throws {
        let words =
            ["submit", "--array", "1-\(count)", "--executor", "cluster"] + options + ["--", "sh", "-c", script]
        let output = try cluster.machine.begin(words).wait()
        try #require(output.status == 0, "submit: \(output.err)")
    }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init).sorted()
    }

    @Test func `equal operations become an array, each with its own log and outcome`() throws {
        let cluster = try SlurmCluster()
        try submit(cluster, 4, ["--slurm", "cpus=2"], "env | grep -c SLURM_ARRAY; echo $OPS_ID; exit $((OPS_ID - 1))")
        for id in 1...4 {
            let row = try cluster.finish(id)
            #expect(row["exitCode"] as? Int == id - 1)
            #expect(try cluster.machine.ok("log", "\(id)").out == "0\n\(id)\n")
            #expect(row["job"] as? String == "4711_\(id - 1)")
        }
        let calls = try cluster.calls("sbatch --hold")
        #expect(calls.count == 1)
        #expect(calls.first?.contains("--array=0-3") == true)
        // On a loaded machine a release is repeated before squeue has shown it. It always names the whole array.
        let released = Set(try cluster.calls("scontrol release"))
        #expect(released == ["scontrol release 4711"])
    }

    @Test func `an array is not larger than the cluster allows`() throws {
        let cluster = try SlurmCluster()
        // MaxArraySize 5 allows the indices 0 to 4.
        try submit(cluster, 10, [], "exit 0")
        for id in 1...10 { #expect(try cluster.finish(id)["outcome"] as? String == "succeeded") }
        #expect(
            try cluster.calls("sbatch --hold").allSatisfy { $0.contains("--array=0-3") || $0.contains("--array=0-1") })
    }

    @Test func `operations run as single jobs where arrays are refused`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("", to: "no-arrays")
        try submit(cluster, 3, [], "exit 0")
        for id in 1...3 { #expect(try cluster.finish(id)["outcome"] as? String == "succeeded") }
        #expect(try cluster.calls("sbatch --hold").count == 4)
    }

    @Test(arguments: ["lost-reply", "lost-job", "wrong-number", "timeout"])
    func `an sbatch that lies about an array leads to one start of each task`(lie: String) throws {
        let cluster = try SlurmCluster()
        try cluster.write(lie, to: "lie")
        let runs = cluster.directory.path + "/runs"
        try submit(cluster, 4, [], "echo $OPS_ID.$OPS_ATTEMPT >> \(runs)")
        for id in 1...4 { #expect(try cluster.finish(id)["outcome"] as? String == "succeeded") }
        #expect(try lines(runs) == ["1.1", "2.1", "3.1", "4.1"])
    }

    @Test func `a cancel of one waiting task leaves the others`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("", to: "busy")
        try submit(cluster, 3, [], "exit 0")
        for id in 1...3 { try cluster.machine.await("progress", of: id) }
        try cluster.machine.ok("cancel", "2")
        #expect(try cluster.finish(2)["outcome"] as? String == "cancelled")
        try cluster.change { jobs in
            for name in jobs.keys { jobs[name]?["reason"] = "JobHeldUser" }
        }
        try FileManager.default.removeItem(atPath: cluster.directory.path + "/busy")
        for id in [1, 3] { #expect(try cluster.finish(id)["outcome"] as? String == "succeeded") }
    }

    @Test func `tasks outlive opsd and its executor`() throws {
        let cluster = try SlurmCluster()
        let go = cluster.directory.path + "/go"
        let runs = cluster.directory.path + "/runs"
        try submit(cluster, 3, [], "echo $OPS_ID >> \(runs); until [ -e \(go) ]; do sleep 0.1; done; exit $OPS_ID")
        for id in 1...3 { try cluster.machine.await("started", of: id) }
        try cluster.machine.killDaemon()
        kill(try #require(try cluster.executorPID()), SIGKILL)
        try cluster.write("", to: "go")
        try cluster.start()
        for id in 1...3 { #expect(try cluster.finish(id)["exitCode"] as? Int == id) }
        #expect(try lines(runs) == ["1", "2", "3"])
    }

    // MARK: Jobs of several operations

    @Test func `operations share a job, each with its own log and outcome`() throws {
        let cluster = try SlurmCluster()
        try submit(cluster, 5, ["--slurm", "pack=3"], "echo $OPS_ID; exit $((OPS_ID - 1))")
        for id in 1...5 {
            #expect(try cluster.finish(id)["exitCode"] as? Int == id - 1)
            #expect(try cluster.machine.ok("log", "\(id)").out == "\(id)\n")
        }
        let calls = try cluster.calls("sbatch --hold")
        #expect(calls.count == 1)
        #expect(calls.first?.contains("--array=0-1") == true)
        #expect(try cluster.machine.show(1)["job"] as? String == "4711_0")
        #expect(try cluster.machine.show(3)["job"] as? String == "4711_0")
        #expect(try cluster.machine.show(4)["job"] as? String == "4711_1")
    }

    @Test func `a cancel of one operation does not end the others of its job`() throws {
        let cluster = try SlurmCluster()
        let script = "trap 'echo ended; exit 1' TERM; echo begun; [ $OPS_ID = 3 ] || while :; do sleep 0.1; done"
        try submit(cluster, 3, ["--slurm", "pack=3"], script)
        try cluster.machine.await("started", of: 1)
        try cluster.machine.ok("cancel", "2")
        #expect(try cluster.finish(2)["outcome"] as? String == "cancelled")
        #expect(try cluster.machine.ok("log", "2").out.isEmpty)
        try cluster.machine.ok("cancel", "1")
        #expect(try cluster.finish(1)["outcome"] as? String == "cancelled")
        #expect(try cluster.machine.ok("log", "1").out.split(separator: "\n").contains("ended"))
        #expect(try cluster.finish(3)["outcome"] as? String == "succeeded")
    }

    @Test func `operations that had not started when their job died run in another one`() throws {
        let cluster = try SlurmCluster(settings: "lost-after = 300ms\n")
        let runs = cluster.directory.path + "/runs"
        let pids = cluster.directory.path + "/pids"
        let script = """
            echo $OPS_ID.$OPS_ATTEMPT >> \(runs); [ $OPS_ID != 1 ] || echo $PPID $$ > \(pids)
            [ $OPS_ID != 1 ] || while :; do sleep 0.1; done
            """
        try submit(cluster, 3, ["--slurm", "pack=3"], script)
        try cluster.machine.await("started", of: 1)
        // The node dies with all processes of the job, that on the node first.
        try waitUntil("it is in its loop") {
            try FileManager.default.fileExists(atPath: pids) && lines(pids).count == 1
        }
        try cluster.change { $0["4711"]?["state"] = "NODE_FAIL" }
        for pid in try lines(pids)[0].split(separator: " ") { kill(try #require(pid_t(pid)), SIGKILL) }
        #expect(try cluster.finish(1)["outcome"] as? String == "interrupted")
        for id in 2...3 {
            let row = try cluster.finish(id)
            #expect(row["outcome"] as? String == "succeeded")
            #expect(row["attempt"] as? Int == 1)
        }
        #expect(try lines(runs) == ["1.1", "2.1", "3.1"])
    }

    @Test func `a freeze stops one operation of a job`() throws {
        let cluster = try SlurmCluster()
        let ticks = cluster.directory.path + "/ticks"
        try submit(cluster, 2, ["--slurm", "pack=2"], "while :; do echo >> \(ticks)$OPS_ID; sleep 0.02; done")
        try cluster.machine.await("started", of: 1)
        try cluster.machine.ok("suspend", "1", "--freeze")
        func size() throws -> Int { try Data(contentsOf: URL(fileURLWithPath: ticks + "1")).count }
        var last = -1
        try waitUntil("it stands still") {
            defer { last = (try? size()) ?? -1 }
            Thread.sleep(forTimeInterval: 0.2)
            return try size() == last
        }
        try cluster.machine.ok("resume", "1")
        try waitUntil("it goes on") { try size() > last }
        try cluster.machine.ok("cancel", "1", "2")
        for id in 1...2 { #expect(try cluster.finish(id)["outcome"] as? String == "cancelled") }
    }

    @Test func `a new priority reaches a job that waits`() throws {
        let cluster = try SlurmCluster()
        try cluster.write("", to: "busy")
        let id = try cluster.submit("--", "true")
        try cluster.machine.await("progress", of: id)
        #expect(try cluster.calls("sbatch --hold").first?.contains("--nice=127") == true)
        // It inherits the priority of what waits for it.
        try cluster.machine.ok("submit", "--priority", "100", "--after", "\(id)", "--", "true")
        try waitUntil("Slurm knows it") {
            try cluster.calls("scontrol update") == ["scontrol update JobId=4711 Nice=27"]
        }
        try cluster.machine.ok("cancel", "\(id)")
    }

    @Test func `a new priority that Slurm does not take is repeated a few times`() throws {
        let cluster = try SlurmCluster()
        let refusal = cluster.directory.path + "/no-updates"
        func updates() throws -> Int { try cluster.calls("scontrol update").count }
        func submit() throws -> Int {
            let id = try cluster.submit("--", "true")
            try cluster.machine.await("progress", of: id)
            return id
        }
        func raise(_ id: Int) throws {
            try cluster.machine.ok("submit", "--priority", "100", "--after", "\(id)", "--", "true")
        }
        try cluster.write("", to: "busy")
        let ids = [try submit(), try submit()]
        try cluster.write("", to: "no-updates")
        try raise(ids[0])
        try waitUntil("it is repeated") { try updates() >= 2 }
        try FileManager.default.removeItem(atPath: refusal)
        try waitUntil("Slurm knows it") {
            var niceness: Int?
            try cluster.change { niceness = $0["4711"]?["nice"] as? Int }
            return niceness == 27
        }
        let count = try updates()
        // A refusal that is permanent.
        try cluster.write("", to: "no-updates")
        try raise(ids[1])
        try waitUntil("it is repeated") { try updates() >= count + 5 }
        let listings = try cluster.calls("squeue").count
        try waitUntil("further listings are taken") { try cluster.calls("squeue").count >= listings + 3 }
        #expect(try updates() == count + 5)
        for id in ids { try cluster.machine.ok("cancel", "\(id)") }
    }
}
