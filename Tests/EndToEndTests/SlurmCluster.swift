import Foundation
import Glibc
import TestSupport
import Testing

/// A machine with an executor `cluster`, and the directory of its Slurm.
final class SlurmCluster {
    let directory = TemporaryDirectory()
    let machine: Machine
    private let file: String
    /// Directory with the spool of each executor, which the jobs of all users can reach.
    var spool: String { directory.path + "/spool" }

    init(settings: String = "") throws {
        machine = try Machine(start: false)
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("FakeSlurm/slurm").path
        for name in ["sbatch", "squeue", "scontrol", "scancel"] {
            try FileManager.default.copyItem(atPath: source, toPath: "\(directory.path)/\(name)")
        }
        chmod(directory.path, 0o777)
        file = machine.state + "/opsd.conf"
        try "[executor cluster]\nkind = slurm\ninterval = 300ms\nspool = \(spool)\n\(settings)".write(
            toFile: file, atomically: true, encoding: .utf8)
        try start()
    }

    func start() throws {
        try machine.start(
            ["--config", file],
            within: [
                "/usr/bin/env", "PATH=\(directory.path):/usr/bin:/bin", "SLURM_CONF=\(directory.path)/slurm.conf",
            ])
    }

    func submit(_ words: String...) throws -> Int {
        let output = try machine.begin(["submit", "--executor", "cluster"] + words).wait()
        try #require(output.status == 0, "submit: \(output.err)")
        return try #require(Int(output.out.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Lets other users reach opsd, and gives them an opsctl that they can execute.
    func admitUsers() throws {
        _ = try Command(
            "/bin/cp", [Machine.programs + "/opsctl", directory.path], environment: Machine.environment, in: "/"
        ).wait()
        chmod(machine.state, 0o711)
        chmod(machine.socket, 0o666)
    }

    /// Runs opsctl as another user.
    func run(as user: String, _ words: String...) throws -> Output {
        try Command(
            "/usr/bin/setpriv",
            ["--reuid", user, "--regid", "nogroup", "--clear-groups", directory.path + "/opsctl"] + words,
            environment: ["OPS_SOCKET": machine.socket, "PATH": "/usr/bin:/bin"], in: "/"
        ).wait()
    }

    /// Runs a script as an operation of another user to its end. Returns its log as root's opsctl prints it.
    func log(of script: String, by user: String) throws -> String {
        let output = try run(as: user, "submit", "--executor", "cluster", "--", "sh", "-c", script)
        let id = try #require(Int(output.out.trimmingCharacters(in: .whitespacesAndNewlines)), "\(output.err)")
        try #require(try finish(id)["outcome"] as? String == "succeeded")
        return try machine.ok("log", "\(id)").out
    }

    /// Returns the names of the attempts in the spool, including those that are being removed.
    func attempts() throws -> [String] {
        let instance = try #require(try FileManager.default.contentsOfDirectory(atPath: spool).first)
        return try FileManager.default.contentsOfDirectory(atPath: "\(spool)/\(instance)").filter { $0.contains(".1") }
    }

    func finish(_ id: Int) throws -> [String: Any] {
        _ = try machine.ctl("wait", "\(id)", "--timeout", "60s")
        return try machine.show(id)
    }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: "\(directory.path)/\(name)", atomically: true, encoding: .utf8)
    }

    func calls(_ beginning: String) throws -> [String] {
        try String(contentsOfFile: "\(directory.path)/calls", encoding: .utf8).split(separator: "\n").map(
            String.init
        )
        .filter { $0.hasPrefix(beginning) }
    }

    /// Changes the table of jobs, as Slurm would.
    func change(_ body: (inout [String: [String: Any]]) -> Void) throws {
        let lock = open("\(directory.path)/lock", O_RDWR | O_CREAT, 0o600)
        defer { close(lock) }
        flock(lock, LOCK_EX)
        let path = URL(fileURLWithPath: "\(directory.path)/jobs")
        let found = try JSONSerialization.jsonObject(with: try Data(contentsOf: path))
        var jobs = try #require(found as? [String: [String: Any]])
        body(&jobs)
        try JSONSerialization.data(withJSONObject: jobs).write(to: path)
    }

    /// Returns the state of each job.
    func states() throws -> [String: String] {
        var states: [String: String] = [:]
        try change { jobs in states = jobs.compactMapValues { $0["state"] as? String } }
        return states
    }

    func executorPID() throws -> pid_t? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.first { pid in
            // A process that has just ended has no command line.
            let words = (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
            return words.contains("opsd-slurm") && words.contains(machine.state)
        }
    }
}
