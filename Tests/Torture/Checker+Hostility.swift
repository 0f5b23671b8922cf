extension Checker {
    /// Checks that no message or action of an attacker affects an honest user's operation.
    mutating func impersonation() -> Int {
        for row in evidence.rows.values {
            // No operation of the load says anything but that it has ended.
            for text in [row.statusText, row.result, row.progress, row.note].compactMap(\.self)
            where !evidence.isTransfer(row.id) || text.contains(Attacker.mine) {
                find("operation \(row.id) was given a text by somebody else: \(text)")
            }
            for attempt in row.attempts where attempt.exitCode == Self.forgedCode {
                find("attempt \(attempt.number) of operation \(row.id) was ended by somebody else")
            }
            if row.cause.contains(Attacker.mine) { find("operation \(row.id) has the attackers' words: \(row.cause)") }
        }
        return evidence.rows.count
    }

    /// Checks that honest logs contain only the output of honest processes, and belong to their user.
    mutating func foreignBytes() -> Int {
        for log in evidence.foreignLogs { find(log) }
        return evidence.logsLookedAt
    }

    /// Counts the successes that the attackers report.
    mutating func powers() -> Int {
        for finding in evidence.powers { find(finding) }
        return evidence.attacks.values.reduce(0, +)
    }

    /// The code in a forged end; messages.c has the same.
    private static let forgedCode = 99
}
