internal import OpsWire

/// A graph with its instants for traces, in nanoseconds since 1970.
struct TraceGraph {
    struct Attempt {
        var number: Int
        var start: Int64
        /// End of the attempt; nil while it runs.
        var end: Int64?
        var outcome: OutcomeName?
        var cause: String?
        var exitCode: Int?
    }

    struct Operation {
        var row: OperationRow
        var attempts: [Attempt]
        /// Instants at which it was submitted, became ready, and last changed.
        var submitted: Int64
        var ready: Int64?
        var end: Int64

        /// First start of its attempts, or of the group.
        var start: Int64? { attempts.first?.start ?? nanoseconds(row.startedAt) }
        var isRunning: Bool { row.outcome == nil }
    }

    /// An id such as g7.
    let id: String
    let title: String
    let trace: String
    private(set) var operations: [Operation] = []
    private(set) var edges: [EdgeRow]

    var start: Int64 { operations.map(\.submitted).min() ?? 0 }
    var end: Int64 { operations.map(\.end).max() ?? 0 }
    var isRunning: Bool { operations.contains(where: \.isRunning) }

    init(_ session: Session, _ name: String) throws(Failure) {
        let graph = try session.call(GraphRequest.with { $0.graph = name })
        id = graph.graph
        title = graph.name ?? graph.graph
        edges = graph.edges
        // An older daemon sends no trace id: one is made from the name of the graph.
        trace = graph.trace ?? TraceContext.trace(instance: graph.graph, graph: 0)
        let now = Instant.now.nanoseconds
        for row in try session.rows(of: Selection(graph: graph.graph)) {
            operations.append(try Self.operation(row, session, now: now))
        }
        // Edges to operations of other graphs are left out, because those have no span here.
        let known = Set(operations.map(\.row.id))
        edges = edges.filter { known.contains($0.from) && known.contains($0.on) }
    }

    private static func operation(_ row: OperationRow, _ session: Session, now: Int64) throws(Failure) -> Operation {
        var attempts: [Attempt] = []
        if row.attempt == 1, let start = nanoseconds(row.startedAt) {
            let end = nanoseconds(row.finishedAt)
            attempts = [
                Attempt(
                    number: 1, start: start, end: end, outcome: row.outcome, cause: row.cause, exitCode: row.exitCode)
            ]
        } else if row.attempt > 1 {
            attempts = try session.call(ShowRequest.with { $0.ref = "\(row.id)" }).attempts.compactMap { attempt in
                guard let start = nanoseconds(attempt.startedAt) else { return nil }
                return Attempt(
                    number: attempt.attempt, start: start, end: nanoseconds(attempt.finishedAt),
                    outcome: attempt.outcome, cause: attempt.cause, exitCode: attempt.exitCode)
            }
        }
        let submitted = nanoseconds(row.submittedAt) ?? attempts.first?.start ?? now
        let end = nanoseconds(row.finishedAt) ?? now
        return Operation(
            row: row, attempts: attempts, submitted: submitted, ready: nanoseconds(row.readyAt),
            end: max(end, submitted))
    }
}

extension TraceGraph.Operation {
    /// Periods of waiting: for its dependencies, for its turn, and between attempts.
    var waits: [(name: String, start: Int64, end: Int64)] {
        var waits: [(name: String, start: Int64, end: Int64)] = []
        func add(_ name: String, _ start: Int64, _ end: Int64) {
            if end > start { waits.append((name, start, end)) }
        }
        let begin = start ?? end
        // After a retry only the last time of becoming ready is known.
        let ready = ready.map { min(max($0, submitted), begin) } ?? begin
        add("blocked", submitted, ready)
        add("waiting", ready, begin)
        for (earlier, later) in zip(attempts, attempts.dropFirst()) {
            if let end = earlier.end { add("waiting to retry", end, later.start) }
        }
        return waits
    }

    var title: String { row.title }
}

/// Parses an instant of the wire format.
private func nanoseconds(_ text: String?) -> Int64? { text.flatMap(InstantText.parse)?.nanoseconds }
