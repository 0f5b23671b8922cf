import Foundation
import Glibc

/// Attacks on operations and files of other users.
extension Attacker {
    /// Returns an executing operation of the honest user.
    private mutating func victim() throws(CallError) -> (id: Int, attempt: Int)? {
        let reply = try call("List", ["selection": ["state": "executing", "user": honest.name], "limit": 100])
        let rows = reply["operations"] as? [[String: Any]] ?? []
        let running = rows.compactMap { row -> (id: Int, attempt: Int)? in
            guard let id = row["id"] as? Int, let attempt = row["attempt"] as? Int else { return nil }
            return (id, attempt)
        }
        return dice.pick(running)
    }

    /// Sends messages in the name of an executing operation: from outside of all operations, from inside another one,
    /// and from a process that outlives that one.
    mutating func forge() throws(CallError) {
        guard let victim = try victim() else { return }
        let names = ["OPS_ID": "\(victim.id)", "OPS_ATTEMPT": "\(victim.attempt)", "OPS_SOCKET": socket]
        start(["forge", "\(dice.roll(100...1500))"], environment: names)
        if dice.happens(50) {
            let words = ["/usr/bin/env"] + names.map { "\($0.key)=\($0.value)" }
            let forger = words + command(["forge", "\(dice.roll(100...1000))"])
            let script = "setsid \"$@\" & [ \"$0\" = stay ] && wait"
            try submit([
                ["command": forger], ["command": ["/bin/sh", "-c", script, dice.happens(50) ? "stay" : "go"] + forger],
            ])
        }
    }

    mutating func sendSignals() throws(CallError) {
        let status = try call("Status")
        let programs = [status["pid"], status["runnerPid"]].compactMap { $0 as? Int }.map { pid_t($0) }
        var others: [pid_t] = []
        for pid in children(of: programs.last ?? 0) where uid(of: pid) == honest.uid { others.append(pid) }
        for pid in programs + others {
            for number in [SIGSTOP, SIGKILL, SIGTERM, SIGHUP, SIGUSR1] {
                tally("signals to others")
                if kill(pid, number) == 0 { find("signal \(number) was sent to process \(pid)") }
            }
        }
    }

    private func children(of runner: pid_t) -> [pid_t] {
        let path = "/proc/\(runner)/task/\(runner)/children"
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    private func uid(of pid: pid_t) -> uid_t? {
        let bytes = FileManager.default.contents(atPath: "/proc/\(pid)/status") ?? Data()
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Uid:") }
        return line?.split(separator: "\t").dropFirst().first.flatMap { uid_t($0) }
    }

    /// Makes calls that must be refused, and tries to read secrets.
    mutating func meddle() throws(CallError) {
        guard let victim = try victim() else { return }
        let ref = "\(victim.id)"
        let selection: [String: Any] = ["selection": ["refs": [ref]]]
        let calls: [(String, [String: Any])] = [
            ("Cancel", selection), ("Suspend", selection), ("Retry", selection), ("Log", ["ref": ref]),
            ("Set", selection.merging(["changes": ["priority": -100]]) { $1 }), ("Finish", ["ref": ref]),
            ("Note", ["ref": ref, "text": Self.mine]), ("AddDependency", ["ref": ref, "on": "1"]),
            ("SetWorkers", ["workers": 0]), ("SetQueue", ["name": "default", "limit": 0]), ("Suspend", [:]),
            ("Submit", ["operations": [["command": ["true"], "user": honest.name]]]),
            ("Submit", ["operations": [["command": ["true"]]], "inside": victim.id, "child": true]),
            ("Backup", ["path": directory + "/stolen.db"]), ("Prune", ["olderThan": "0s"]),
        ]
        for (method, parameters) in calls where dice.happens(60) {
            tally("calls about others")
            do throws(CallError) {
                let reply = try call(method, parameters)
                if reply["touched"] as? Int == 0 { continue }
                find("\(method) \(canonical(parameters)) was answered with \(canonical(reply))")
            } catch {
                if case .refused = error { continue }
                throw error
            }
        }
        let row = try call("Show", ["ref": ref])["operation"] as? [String: Any] ?? [:]
        for secret in ["environment", "result"] where !(row[secret] is NSNull) {
            find("the \(secret) of operation \(ref) was shown: \(row[secret] ?? "")")
        }
        let work = (directory as NSString).deletingLastPathComponent
        for path in ["state", "state/opsd.db", "state/logs", "marks", "locks"]
        where access(work + "/" + path, R_OK) == 0 {
            find("\(path) can be read")
        }
    }
}
