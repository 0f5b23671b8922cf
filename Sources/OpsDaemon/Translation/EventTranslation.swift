internal import OpsCore
internal import OpsWire

/// Translates reports of the core to rows of the interface.
struct EventTranslation {
    func row(_ report: Report) -> EventRow {
        .with { row in
            row.seq = report.sequence
            row.at = InstantText.format(report.at)
            row.id = report.operation?.rawValue
            row.graph = report.graph?.reference
            row.type = EventType(report.kind)
            row.old = report.old.map { StateName($0) }
            row.new = report.new.map { StateName($0) }
            row.outcome = report.outcome.map { OutcomeName($0) }
            row.notNeeded = report.outcome == .notNeeded
            row.product = report.product?.rawValue
            row.detail = report.detail
            if let decided = DecidedInstants(report) {
                row.schedule = decided.schedule
                row.nominal = decided.nominal
                row.count = decided.count
                row.detail = nil
            }
            switch report.kind {
            case .started, .retrying: row.attempt = report.detail.flatMap { Int($0) }
            case .suspended, .resumed, .edited: if report.operation == nil { row.queue = report.detail }
            case .submitted, .ready, .progress, .produced, .cancelling, .finished, .conditionFalse, .interrupted,
                .fired, .skipped,
                .missed, .refused:
                break
            }
        }
    }
}

extension EventType {
    init(_ kind: Report.Kind) {
        self =
            switch kind {
            case .submitted: .submitted
            case .ready: .ready
            case .started: .started
            case .progress: .progress
            case .produced: .produced
            case .retrying: .retrying
            case .cancelling: .cancelling
            case .suspended: .suspended
            case .resumed: .resumed
            case .finished: .finished
            case .edited: .edited
            case .conditionFalse: .conditionFalse
            case .interrupted: .interrupted
            case .fired: .fired
            case .skipped: .skipped
            case .missed: .missed
            case .refused: .refused
            }
    }
}

extension StateName {
    init(_ state: OperationState) {
        self =
            switch state {
            case .pending: .pending
            case .ready: .ready
            case .executing: .executing
            case .finished: .finished
            }
    }
}

extension OutcomeName {
    init(_ outcome: Outcome) {
        self =
            switch outcome {
            case .succeeded: .succeeded
            case .failed: .failed
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .skipped, .notNeeded: .skipped
            case .interrupted: .interrupted
            }
    }
}

extension ReasonKind {
    init(_ kind: Reason.Kind) {
        self =
            switch kind {
            case .dependency: .dependency
            case .category: .category
            case .queue: .queue
            case .pool: .pool
            case .suspended: .suspended
            case .held: .held
            case .notBefore: .notBefore
            case .backoff: .backoff
            case .condition: .condition
            case .barrier: .barrier
            case .group: .group
            case .storage: .storage
            case .executor: .executor
            case .rate: .rate
            }
    }
}
