internal import OpsWire

/// A graph with its instants for traces, in nanoseconds since 1970.
struct TraceGraph {
    struct Attempt {
        var number: Int
        /// Number of the run: one more after each retry of the finished operation.
        var run: Int
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
        let rows = try session.rows(of: Selection(graph: graph.graph))
        let parents = Set(rows.compactMap(\.group))
        for row in rows {
            let attempts = try Self.attempts(of: row, hasChildren: parents.contains(row.id), session)
            operations.append(Self.operation(row, attempts, now: now))
        }
        // Edges to operations of other graphs are left out, because those have no span here.
        let known = Set(operations.map(\.row.id))
        edges = edges.filter { known.contains($0.from) && known.contains($0.on) }
    }

    /// Returns the attempts of an operation. Most operations have one attempt, with the instants and the outcome of the
    /// row, and need no call to the daemon. An attempt that waits in the engine of its executor, or has ended there
    /// without a start, is left out.
    private static func attempts(
        of row: OperationRow, hasChildren: Bool, _ session: Session
    ) throws(Failure) -> [Attempt] {
        guard row.attempt > 0 else { return [] }
        let finish = nanoseconds(row.finishedAt)
        if row.attempt == 1, row.run <= 1 {
            guard let start = nanoseconds(row.startedAt) else { return [] }
            // With children, or if another attempt was to follow, the attempt can have ended before the operation.
            let hasEndedAtOnce = nanoseconds(row.readyAt).map { $0 <= start } ?? false
            if !hasChildren, row.outcome == .succeeded || row.state == .executing || hasEndedAtOnce {
                return [
                    Attempt(
                        number: 1, run: row.run, start: start, end: finish, outcome: row.outcome, cause: row.cause,
                        exitCode: row.exitCode)
                ]
            }
        }
        return try session.call(ShowRequest.with { $0.ref = "\(row.id)" }).attempts.compactMap { attempt in
            guard row.hasStarted(attempt), let start = nanoseconds(attempt.startedAt) else { return nil }
            // The report of an executor may arrive after the end that it reports.
            let end = nanoseconds(attempt.finishedAt).map { min($0, finish ?? $0) }
            return Attempt(
                number: attempt.attempt, run: attempt.run, start: start, end: end, outcome: attempt.outcome,
                cause: attempt.cause, exitCode: attempt.exitCode)
        }
    }

    private static func operation(_ row: OperationRow, _ attempts: [Attempt], now: Int64) -> Operation {
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
            if let wait = waitStart(after: earlier, run: later.run) { add("waiting to retry", wait, later.start) }
        }
        if let last = attempts.last, hasWaitedToRetry(after: last), let wait = waitStart(after: last, run: row.run) {
            add("waiting to retry", wait, end)
        }
        return waits
    }

    /// Returns the start of the wait for the attempt of a run that follows another attempt. If the operation finished
    /// in between, it is the last instant at which the operation became ready, and nil if that is not known.
    private func waitStart(after attempt: TraceGraph.Attempt, run: Int) -> Int64? {
        guard let end = attempt.end else { return nil }
        return attempt.run >= run ? end : ready.map { max(end, $0) }
    }

    /// Returns true if the operation waits for another attempt, or has ended while it waited for one: then it became
    /// ready after the start of the last attempt.
    private func hasWaitedToRetry(after last: TraceGraph.Attempt) -> Bool {
        ready.map { $0 > last.start } ?? false
    }

    var title: String { row.title }
}

/// Parses an instant of the wire format.
private func nanoseconds(_ text: String?) -> Int64? { text.flatMap(InstantText.parse)?.nanoseconds }
