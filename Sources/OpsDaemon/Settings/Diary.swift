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
        if writesToJournal {
            let entry = [
                (name: "MESSAGE", value: message), (name: "PRIORITY", value: "\(level.rank)"),
                (name: "SYSLOG_IDENTIFIER", value: "opsd"),
            ]
            do {
                return try Journal.send(entry + fields)
            } catch {
                // The journal is being restarted: standard error is kept by systemd meanwhile.
            }
        }
        Console.write("opsd: \(message)\n", to: 2)
    }
}
