internal import OpsCore
internal import OpsStore

/// Selects the events that a watcher wants: those of the operations that it has selected.
final class EventFilter {
    private let query: OpsStore.Selection
    private let history: History
    /// Answers of the store, for selections that do not change with the state of an operation.
    private var known: [OperationID: Bool] = [:]

    /// Disjoint ranges in the order of ids.
    private let ranges: [ClosedRange<Int64>]

    init(_ query: OpsStore.Selection, _ history: History) {
        self.query = query
        self.history = history
        ranges = SelectionCursor.apart(query.ids ?? [])
    }

    private func names(_ id: Int64) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < id { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(id)
    }

    func admits(_ report: Report) -> Bool {
        guard let operation = report.operation else { return admitsWithoutOperation(report) }
        if let graph = query.graph, report.graph != graph { return false }
        if query.ids != nil, !names(operation.rawValue) { return false }
        if let state = query.state, report.new != state { return false }
        if let outcome = query.outcome, !admits(report, outcome) { return false }
        if !query.outcomes.isEmpty, !query.outcomes.contains(where: { admits(report, $0) }) { return false }
        if !query.standings.isEmpty, !query.standings.contains(where: { admits(report, $0) }) { return false }
        guard query.queue != nil || query.user != nil || !query.labels.isEmpty else { return true }
        if let answer = known[operation] { return answer }
        var one = query
        one.ids = [operation.rawValue...operation.rawValue]
        one.state = nil
        one.outcome = nil
        one.outcomes = []
        one.standings = []
        // If the store cannot be read now, the event is shown: an extra event is better than a lost one.
        let answer = (try? history.select(one, limit: 1).isEmpty == false) ?? true
        if known.count >= Self.kept { known.removeAll(keepingCapacity: true) }
        if query.queue == nil { known[operation] = answer }
        return answer
    }

    /// Returns whether the selection names nothing but the graph, or the queue, that an event without an operation is
    /// about.
    private func admitsWithoutOperation(_ report: Report) -> Bool {
        var rest = query
        if let graph = report.graph {
            if rest.graph == graph { rest.graph = nil }
        } else if rest.queue == report.detail {
            rest.queue = nil
        }
        return rest == OpsStore.Selection()
    }

    private func admits(_ report: Report, _ outcome: Outcome) -> Bool {
        report.outcome == outcome || outcome == .skipped && report.outcome == .notNeeded
    }

    private func admits(_ report: Report, _ standing: Standing) -> Bool {
        switch standing {
        case .state(let state): report.new == state
        case .outcome(let outcome): admits(report, outcome)
        case .held, .frozen: report.kind == .suspended
        case .cancelling: report.kind == .cancelling
        case .scheduled: report.kind == .retrying
        }
    }

    private static let kept = 10_000
}
