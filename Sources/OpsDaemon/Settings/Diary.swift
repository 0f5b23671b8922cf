internal import OpsLinux

/// What opsd says about itself: to standard error, or with fields to the journal where that is the journal's.
final class Diary {
    var level: Configuration.LogLevel
    let writesToJournal: Bool

    init(level: Configuration.LogLevel) {
        self.level = level
        writesToJournal = Journal.isStandardError && Journal.isAvailable
    }

    func error(_ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = []) {
        if .error <= level { write(.error, message(), fields) }
    }
    func warning(_ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = []) {
        if .warning <= level { write(.warning, message(), fields) }
    }
    func notice(_ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = []) {
        if .notice <= level { write(.notice, message(), fields) }
    }
    func info(_ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = []) {
        if .info <= level { write(.info, message(), fields) }
    }
    func debug(_ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = []) {
        if .debug <= level { write(.debug, message(), fields) }
    }

    func write(_ level: Configuration.LogLevel, _ message: String, _ fields: [(name: String, value: String)]) {
        guard level <= self.level else { return }
        if writesToJournal && writeToJournal(level, message, fields) { return }
        Program.complain("opsd: \(message)")
    }

    /// Whatever our own level: the journal keeps priorities apart. `false`: it is being restarted, while systemd keeps
    /// standard error.
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
