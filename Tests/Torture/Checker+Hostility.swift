extension Checker {
    /// Checks that no message or action of an attacker affects an honest user's operation.
    mutating func impersonation() -> Int {
        for row in evidence.rows.values {
            // Operations of the load report nothing but their end.
            for text in [row.statusText, row.result, row.progress, row.note].compactMap(\.self)
            where !evidence.isTransfer(row.id) || text.contains(Attacker.mine) {
                find("operation \(row.id) has a text that its own processes did not send: \(text)")
            }
            for attempt in row.attempts where attempt.exitCode == Self.forgedCode {
                find("attempt \(attempt.number) of operation \(row.id) was ended by another user")
            }
            if row.cause.contains(Attacker.mine) { find("operation \(row.id) has an attacker's cause: \(row.cause)") }
        }
        return evidence.rows.count
    }

    /// Checks that logs of the honest user contain no output of attackers, and have the right owner.
    mutating func foreignBytes() -> Int {
        for log in evidence.foreignLogs { find(log) }
        return evidence.logsLookedAt
    }

    /// Counts the successes that the attackers report.
    mutating func powers() -> Int {
        for finding in evidence.powers { find(finding) }
        return evidence.attacks.values.reduce(0, +)
    }

    /// Exit code in forged reports of an end; messages.c has the same.
    private static let forgedCode = 99
}
