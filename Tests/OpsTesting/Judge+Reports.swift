import OpsCore

/// Reports that follow from changes: each step of an operation is reported once, in the order of the changes.
struct ExpectedReport {
    var text: String
    /// True if the rows do not tell whether the core reports it.
    var isOptional = false

    /// Returns the part of a report that follows from a change; nil for a report of another kind.
    static func text(of report: Report) -> String? {
        switch report.kind {
        case .submitted, .ready, .started, .retrying, .finished, .interrupted:
            guard let id = report.operation else { return "\(report.kind) of no operation" }
            return text(report.kind, id, report.old, report.new, report.outcome, report.detail)
        default: return nil
        }
    }

    fileprivate static func text(
        _ kind: Report.Kind, _ id: OperationID, _ old: OperationState?, _ new: OperationState?,
        _ outcome: Outcome? = nil, _ detail: String? = nil
    ) -> String {
        let states = "from \(old.map { "\($0)" } ?? "nothing") to \(new.map { "\($0)" } ?? "nothing")"
        return "\(kind) \(id) \(states) \(outcome.map { "\($0)" } ?? "") \(detail ?? "")"
    }
}

extension Judge {
    /// Returns the reports that a change requires. `store`: the rows before the change.
    func reports(of change: Change, _ store: FakeStore) -> [ExpectedReport] {
        switch change {
        case .submitted(_, _, _, let first, let states, _, _):
            return states.enumerated().flatMap { offset, state in
                let id = OperationID(first.rawValue + Int64(offset))
                return [report(.submitted, id, nil, state)] + (state == .ready ? [report(.ready, id, nil, .ready)] : [])
            }
        case .becameReady(let id, _): return [report(.ready, id, .pending, .ready)]
        case .started(let id, let attempt, _, let slot, _, _):
            return [report(.started, id, .ready, .executing, detail: slot == nil ? nil : String(attempt))]
        case .startConfirmed(let attempt, _):
            var ready = report(.ready, attempt.operation, .pending, .ready)
            ready.isOptional = true
            let started = report(.started, attempt.operation, .ready, .executing, detail: String(attempt.number))
            return [ready, started]
        case .retrying(let id, _, _):
            return [report(.retrying, id, .executing, .ready, detail: String(store[id].attempt))]
        case .attemptEnded(let attempt, .interrupted, _, _):
            return [report(.interrupted, attempt.operation, nil, nil, detail: String(attempt.number))]
        case .finished(let id, let outcome, _, _):
            return [report(.finished, id, store[id].state, .finished, outcome)]
        case .reopened(let id, _, let state):
            let reopened = report(.retrying, id, .finished, state)
            return state == .ready ? [reopened, report(.ready, id, nil, .ready)] : [reopened]
        default: return []
        }
    }

    private func report(
        _ kind: Report.Kind, _ id: OperationID, _ old: OperationState?, _ new: OperationState?,
        _ outcome: Outcome? = nil, detail: String? = nil
    ) -> ExpectedReport {
        ExpectedReport(text: ExpectedReport.text(kind, id, old, new, outcome, detail))
    }

    /// Checks the reports of a turn against those that its changes require.
    func judgeReports(
        _ reports: [Report], _ expected: [ExpectedReport], _ store: FakeStore, at now: Moment
    ) throws(Violation) {
        var rest = expected[...]
        for report in reports {
            try require(report.at == now.wall, .reports, "report \(report.sequence) of \(report.at)")
            if let id = report.operation {
                try require(
                    store.has(id) && store[id].graph == report.graph, .reports,
                    "report \(report.sequence) of \(id) is in graph \(report.graph?.rawValue ?? 0)")
            }
            guard let text = ExpectedReport.text(of: report) else { continue }
            while let first = rest.first, first.isOptional, first.text != text { rest.removeFirst() }
            try require(rest.first?.text == text, .reports, "\(text), expected: \(rest.first?.text ?? "nothing")")
            rest.removeFirst()
        }
        let missing = rest.first { !$0.isOptional }
        try require(missing == nil, .reports, "no report: \(missing?.text ?? "")")
    }
}
