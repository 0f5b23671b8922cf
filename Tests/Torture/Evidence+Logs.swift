import Foundation

extension Evidence {
    /// So many logs of a run are compared: each takes an opsctl.
    private static let mostLogs = 200

    /// Output of attempts that nobody disturbed, drawn at random.
    mutating func readLogs(_ victims: Victims, _ dice: Dice) throws {
        var dice = dice
        let spans = spans
        // What was written before that may be lost: nothing flushes output.
        let lastLoss = faults.filter { $0.harm.contains(.lostOutput) }.map(\.before).max() ?? 0
        for row in rows.values.sorted(by: { $0.id < $1.id }).shuffled(using: &dice) where logs.count < Self.mostLogs {
            guard let plan = planned[row.name], plan.lines > 0 else { continue }
            for attempt in row.attempts where attempt.outcome == "succeeded" || attempt.outcome == "failed" {
                let key = Marks.Attempt(id: row.id, number: attempt.number)
                // On a full disk a process could not write all, and says so itself.
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
