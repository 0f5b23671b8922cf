internal import OpsCore
internal import OpsStore
internal import OpsSystem

/// Writes events of operations to the journal of the system, with fields to select by: `journalctl OPS_ID=12`. Without
/// a journal it logs only interrupted operations; `opsctl watch` shows all events.
final class JournalWriter {
    /// Ids of messages. The file systemd/opsd.catalog explains each of them.
    enum Message {
        static let started = "07036c92ae085ff2bff4be54c82b0243"
        static let finished = "269a06c6fa0b5a2cb7769dc63b6d4e95"
        static let retrying = "c585904338d65728b15e862ad02a0a60"
        static let interrupted = "10abef31ed8e5fe79ff9957585fc0de7"
        static let cancelling = "25b56dab98f9515480881366e8ffe17c"
        static let storageUnavailable = "19332c3f66875d3886493a4f0ee65973"
        static let storageAvailable = "50c7f1aa475e5f699252a415d34fc7ab"
        static let runnerLost = "14347dfe20cc5252b3d88fc13dc2c196"
        static let runnerSilent = "5d1f0c3a7be84d0f9a6e2c41b8f7d953"
        static let startRefused = "54fcaad9ce6b5e7f9d749b7bf4c5e282"
    }

    private let log: DaemonLog
    private let history: History

    init(log: DaemonLog, history: History) {
        self.log = log
        self.history = history
    }

    func write(_ reports: [Report]) {
        let interrupted = reports.count { $0.kind == .interrupted }
        if interrupted > 0 {
            let were = interrupted == 1 ? "was" : "were"
            log.warning(
                "the runner, the machine or a job died while operations ran; \(interrupted) \(were) interrupted "
                    + "(opsctl ls -s interrupted)")
        }
        guard log.writesToJournal else { return }
        let written = reports.filter { entry($0) != nil }
        if written.isEmpty { return }
        // The entry is useful without the name, too.
        let names = (try? history.names(of: written.compactMap(\.operation))) ?? [:]
        for report in written { write(report, names) }
    }

    private func write(_ report: Report, _ names: [OperationID: String]) {
        guard let operation = report.operation, let (id, text, level) = entry(report) else { return }
        var fields = [
            (name: "MESSAGE_ID", value: id), (name: "OPS_ID", value: "\(operation.rawValue)"),
            (name: "OPS_EVENT", value: "\(report.kind)"),
        ]
        if let graph = report.graph { fields.append((name: "OPS_GRAPH", value: graph.reference)) }
        if let name = names[operation] { fields.append((name: "OPS_NAME", value: name)) }
        if let outcome = report.outcome { fields.append((name: "OPS_OUTCOME", value: "\(outcome)")) }
        if report.kind == .started, let attempt = report.detail { fields.append((name: "OPS_ATTEMPT", value: attempt)) }
        let message = "operation \(operation.rawValue) \(text)"
        if !log.writeToJournal(level, message, fields) { log.write(level, message, fields) }
    }

    /// Returns the entry of a report; nil if it has none.
    private func entry(_ report: Report) -> (id: String, text: String, level: Configuration.LogLevel)? {
        switch report.kind {
        case .started: (Message.started, "started", .info)
        case .finished:
            (
                Message.finished, report.outcome?.verb ?? "finished",
                report.outcome?.isUnsuccessful == false ? .info : .notice
            )
        case .retrying: (Message.retrying, "is retried", .info)
        case .interrupted: (Message.interrupted, "was interrupted", .warning)
        case .cancelling: (Message.cancelling, "is being cancelled", .info)
        case .submitted, .ready, .progress, .produced, .suspended, .resumed, .edited, .conditionFalse, .fired,
            .skipped, .missed, .refused:
            nil
        }
    }
}
