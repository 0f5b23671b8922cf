import Foundation

extension Evidence {
    /// Maximum number of logs that are compared: each needs a run of opsctl.
    private static let mostLogs = 200

    /// Reads the logs of undisturbed attempts, in random order.
    mutating func readLogs(_ victims: Victims, _ dice: Dice) throws {
        var dice = dice
        let spans = spans
        // Output that was written earlier may be lost, because nothing flushes it.
        let lastLoss = faults.filter { $0.harm.contains(.lostOutput) }.map(\.before).max() ?? 0
        for row in rows.values.sorted(by: { $0.id < $1.id }).shuffled(using: &dice) where logs.count < Self.mostLogs {
            guard let plan = planned[row.name], plan.lines > 0 else { continue }
            for attempt in row.attempts where attempt.outcome == "succeeded" || attempt.outcome == "failed" {
                let key = Marks.Attempt(id: row.id, number: attempt.number)
                // On a full disk a process cannot write all its output. Its end mark says so.
                guard marks.ends[key]?.isLogWhole == true, spans[key]?.lowerBound ?? 0 > lastLoss else { continue }
                let lines = (0..<plan.lines).map { "\(row.name) attempt \(attempt.number) line \($0)\n" }
                logs.append(Log(attempt: key, written: lines.joined(), shown: try Self.shown(key, by: victims)))
            }
        }
    }

    private static func shown(_ attempt: Marks.Attempt, by victims: Victims) throws -> String? {
        let path = "\(victims.work)/log-\(attempt.id)-\(attempt.number)"
        let words = ["log", "\(attempt.id)", "--attempt", "\(attempt.number)"]
        var environment = Victims.environment
        environment["OPS_SOCKET"] = victims.socket
        let program = try Program([victims.programs + "/opsctl"] + words, environment: environment, output: path)
        guard program.wait(seconds: 60) == 0, let bytes = FileManager.default.contents(atPath: path) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Evidence {
    /// Checks the owner and the bytes of every log of the load, and the size of other logs.
    mutating func readForeignBytes(_ victims: Victims) {
        guard let people = victims.people else { return }
        let place = victims.state + "/logs"
        for name in FileManager.default.subpaths(atPath: place) ?? [] {
            guard name.hasSuffix(".log") || name.hasSuffix(".err"),
                let id = Int((name as NSString).lastPathComponent.prefix { $0 != "." })
            else { continue }
            let path = place + "/" + name
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            if strangers[id] != nil {
                // The log, and what a process may reserve after its end (docs/RELIABILITY.md).
                if Int(status.st_blocks) * 512 > Victims.logLimit * 9 / 8 + (32 << 20) {
                    foreignLogs.append("log \(name) of an attacker has \(status.st_blocks / 2) KiB on disk")
                }
                continue
            }
            guard rows[id] != nil else { continue }
            logsLookedAt += 1
            // A log belongs to its user during the attempt, and to root afterwards.
            if ![0, people.honest.uid].contains(status.st_uid) {
                foreignLogs.append("log \(name) belongs to user \(status.st_uid)")
            }
            let bytes = FileManager.default.contents(atPath: path) ?? Data()
            if bytes.range(of: Data(Attacker.mine.utf8)) != nil {
                foreignLogs.append("log \(name) has bytes of an attacker")
            }
        }
    }
}
