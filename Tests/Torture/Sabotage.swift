import Foundation
import Glibc

/// Planted faults, each with the effect of a bug that opsd must never have. A checker that misses one proves nothing.
enum Sabotage: String {
    /// Acknowledged work is lost: while opsd is down, an earlier copy replaces its database.
    case forgetting
    /// An attempt is started twice.
    case twins
    /// Queues execute more operations than their limits allow.
    case limits
    /// Named units have more holders than their share.
    case units
    /// Starts exceed the rate of their category.
    case rates
    /// An instant of a schedule runs twice.
    case instants
    /// A transferred file contains bytes of two versions.
    case bytes
    /// The page receives events twice after a reconnection.
    case page
    /// The page is served with the rights of another user than its own.
    case rights
    /// A function runs twice in one attempt.
    case functions
    /// Dependencies are dropped at the submission.
    case edges
    /// No operation starts for seconds, although slots are free.
    case standstill
    /// Operations of the load have a text of an attacker as their status.
    case forging
}

extension Faults {
    /// Has the effect of commits that do not reach the disk.
    mutating func forget() throws -> Fault {
        let fault = begin("sabotage: forgetting", [.interruption, .lostOutput])
        let kept = victims.work + "/kept"
        let names = ["opsd.db", "opsd.db-wal"]
        try victims.stop(SIGKILL)
        for name in names { try replace(kept + name, by: victims.state + "/" + name) }
        let acknowledged = acknowledgedCount
        try victims.start()
        // There must be something to forget.
        for _ in 0..<300 where acknowledgedCount == acknowledged { rest(100) }
        try victims.stop(SIGKILL)
        for name in names { try replace(victims.state + "/" + name, by: kept + name) }
        try victims.start()
        return fault
    }

    private var acknowledgedCount: Int { ledger.read { $0.submissions.values.count { $0.ids != nil } } }

    /// Has the effect of a runner that sleeps until the process of a user has started.
    mutating func standStill() -> Fault {
        let fault = begin("sabotage: standstill")
        guard let pid = victims.runnerPid else { return begin("nothing") }
        kill(pid, SIGSTOP)
        rest(9000)
        kill(pid, SIGCONT)
        return fault
    }

    private func replace(_ path: String, by other: String) throws {
        unlink(path)
        guard let bytes = FileManager.default.contents(atPath: other) else { return }
        guard FileManager.default.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600])
        else { throw Trouble("cannot write \(path)") }
    }

    /// Has the effect of a launch that is repeated because its success is unknown.
    mutating func startTwice() throws -> Fault {
        let fault = begin("sabotage: twins")
        for process in victims.processes where process.words.contains("/torture-mark ") {
            let fields = { (name: String) in
                let bytes = FileManager.default.contents(atPath: "/proc/\(process.pid)/\(name)") ?? Data()
                return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            }
            let variables = fields("environ").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            let words = fields("cmdline")
            // The process may have ended meanwhile.
            guard !words.isEmpty, !variables.isEmpty else { continue }
            let environment = Dictionary(variables.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
            _ = try Program(words, environment: environment, output: "/dev/null").wait(seconds: 20)
            return fault
        }
        return begin("nothing")
    }
}
