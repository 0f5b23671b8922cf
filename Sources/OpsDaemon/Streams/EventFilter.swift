internal import OpsCore
internal import OpsStore

/// Which events a watcher wants: those of the operations it selected.
final class EventFilter {
    private let query: OpsStore.Selection
    /// Answers of the store, for selections that do not change with the state of an operation.
    private var known: [OperationID: Bool] = [:]

    init(_ query: OpsStore.Selection) { self.query = query }

    func admits(_ report: Report, _ daemon: Daemon) -> Bool {
        guard let operation = report.operation else {
            return query.ids == nil && query.graph == nil || query.graph != nil && report.graph == query.graph
        }
        if let graph = query.graph, report.graph != graph { return false }
        if let ids = query.ids, !ids.contains(where: { $0.contains(operation.rawValue) }) { return false }
        if let state = query.state, report.new != state { return false }
        if let outcome = query.outcome, report.outcome != outcome { return false }
        guard query.queue != nil || query.user != nil || !query.labels.isEmpty else { return true }
        if let answer = known[operation] { return answer }
        var one = query
        one.ids = [operation.rawValue...operation.rawValue]
        one.state = nil
        one.outcome = nil
        // What cannot be asked now is shown: better one event too many than one lost.
        let answer = (try? daemon.history.select(one, limit: 1).isEmpty == false) ?? true
        if known.count >= Self.kept { known.removeAll(keepingCapacity: true) }
        if query.queue == nil { known[operation] = answer }
        return answer
    }

    private static let kept = 100_000
}
