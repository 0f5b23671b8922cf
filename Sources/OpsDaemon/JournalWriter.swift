internal import OpsCore
internal import OpsLinux

/// Tells the system's journal of the life of operations, with fields to select by: `journalctl OPS_ID=12`.
final class JournalWriter {
    private let diary: Diary
    private let isUseful: Bool

    /// From the catalog file: one id for each kind of thing a person may look up.
    private enum Message {
        static let started = "6a1f0c1f2f0e4f6d9a0f4c1b7d2e5a01"
        static let finished = "6a1f0c1f2f0e4f6d9a0f4c1b7d2e5a02"
        static let failed = "6a1f0c1f2f0e4f6d9a0f4c1b7d2e5a03"
        static let interrupted = "6a1f0c1f2f0e4f6d9a0f4c1b7d2e5a04"
    }

    init(diary: Diary) {
        self.diary = diary
        isUseful = Journal.isStandardError && Journal.isAvailable
    }

    func write(_ reports: [Report]) {
        guard isUseful else { return }
        for report in reports { write(report) }
    }

    private func write(_ report: Report) {
        guard let operation = report.operation else { return }
        let id: String
        let text: String
        var level = Configuration.LogLevel.info
        switch report.kind {
        case .started: (id, text) = (Message.started, "started")
        case .interrupted: (id, text) = (Message.interrupted, "interrupted")
        case .finished:
            let outcome = report.outcome.map { OutcomeWord.text($0) } ?? "finished"
            (id, text) = (report.outcome == .succeeded ? Message.finished : Message.failed, outcome)
            if report.outcome != .succeeded { level = .notice }
        case .submitted, .ready, .progress, .produced, .retrying, .cancelling, .suspended, .resumed, .edited,
            .conditionFalse:
            return
        }
        var fields = [
            (name: "MESSAGE_ID", value: id), (name: "OPS_ID", value: "\(operation.rawValue)"),
            (name: "OPS_EVENT", value: "\(report.kind)"),
        ]
        if let graph = report.graph { fields.append((name: "OPS_GRAPH", value: "g\(graph.rawValue)")) }
        diary.write(level, "operation \(operation.rawValue) \(text)", fields)
    }
}

/// Outcomes in a sentence.
private enum OutcomeWord {
    static func text(_ outcome: Outcome) -> String {
        switch outcome {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .timedOut: "timed out"
        case .cancelled: "was cancelled"
        case .skipped: "was skipped"
        case .interrupted: "was interrupted"
        }
    }
}
