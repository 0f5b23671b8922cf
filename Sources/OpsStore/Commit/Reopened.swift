internal import OpsCore

/// Operations that one retry reopens. Waiting operations whose dependencies on them were met keep that: the edges are
/// marked, so that they do not count again after a restart of opsd.
struct Reopened {
    private var ids: Set<Int64> = []

    mutating func add(_ id: OperationID) { ids.insert(id.rawValue) }

    /// Marks the edges of waiting operations on reopened ones as met, after all of them were reopened. Among themselves
    /// they wait again.
    mutating func keepMetEdges(in store: Store, at instant: WallInstant) throws(StoreError) {
        if ids.isEmpty { return }
        defer { ids.removeAll(keepingCapacity: true) }
        var met: [(from: Int64, on: Int64)] = []
        let crossing = try store.kept("SELECT operation FROM edge WHERE dependency = ?1 AND crossing")
        let range = try store.kept(
            "SELECT first, first + count - 1 FROM submission WHERE first <= ?1 ORDER BY first DESC LIMIT 1")
        // Only edges of waiting operations, which may be few among those of the submission.
        let local = try store.kept(
            """
            SELECT e.operation, e.dependency FROM operation o INDEXED BY operationUnfinished
            CROSS JOIN edge e ON e.operation = o.id
            WHERE o.state IN (0, 1, 2) AND o.state < 3 AND o.id BETWEEN ?1 AND ?2 AND NOT e.crossing
            """)
        var last: Int64 = 0
        for id in ids.sorted() {
            crossing.bind(1, id)
            while try crossing.step() { met.append((from: crossing.int(0), on: id)) }
            // Each submission is read once, however many of its operations are reopened.
            if id <= last { continue }
            range.bind(1, id)
            guard try range.step() else { continue }
            let first = range.int(0)
            last = range.int(1)
            range.reset()
            try store.reopenObservers(ofSubmission: first, at: instant)
            local.bind(1, first)
            local.bind(2, last)
            while try local.step() {
                if ids.contains(local.int(1)) { met.append((from: local.int(0), on: local.int(1))) }
            }
        }
        let waits = try store.kept("SELECT EXISTS (SELECT 1 FROM operation WHERE id = ?1 AND state < 3)")
        for edge in met where !ids.contains(edge.from) {
            // A start that is only assumed may be undone. Its operation then waits again for what is retried now.
            if store.interned.staged.isAssumedStarted(OperationID(edge.from)) { continue }
            waits.bind(1, edge.from)
            let isWaiting = try waits.step() && waits.bool(0)
            waits.reset()
            if isWaiting { try store.update(store.statements.submission.resolveEdge, OperationID(edge.from), edge.on) }
        }
    }
}
