internal import OpsSystem
internal import OpsSystemd

/// Messages of opsd about itself: to standard error, or with fields to the journal if standard error is the journal's.
final class DaemonLog {
    var level: Configuration.LogLevel
    let writesToJournal: Bool

    init(level: Configuration.LogLevel) {
        self.level = level
        writesToJournal = Journal.isStandardError && Journal.isAvailable
    }

    func error(_ message: @autoclosure () -> String) { write(.error, message(), []) }
    func warning(_ message: @autoclosure () -> String) { write(.warning, message(), []) }
    func notice(_ message: @autoclosure () -> String) { write(.notice, message(), []) }
    func info(_ message: @autoclosure () -> String) { write(.info, message(), []) }
    func debug(_ message: @autoclosure () -> String) { write(.debug, message(), []) }

    func write(
        _ level: Configuration.LogLevel, _ text: @autoclosure () -> String, _ fields: [(name: String, value: String)]
    ) {
        guard level <= self.level else { return }
        let message = text()
        if writesToJournal && writeToJournal(level, message, fields) { return }
        Program.writeError("opsd: \(message)")
    }

    /// Writes an entry to the journal at any level, because the journal separates priorities. Returns false while the
    /// journal is being restarted; then systemd keeps standard error.
    func writeToJournal(
        _ level: Configuration.LogLevel, _ message: String, _ fields: [(name: String, value: String)]
    ) -> Bool {
        let entry = [
            (name: "MESSAGE", value: message), (name: "PRIORITY", value: "\(level.rank)"),
            (name: "SYSLOG_IDENTIFIER", value: "opsd"),
        ]
        do throws(SystemError) {
            try Journal.send(entry + fields)
            return true
        } catch {
            return false
        }
    }
}
