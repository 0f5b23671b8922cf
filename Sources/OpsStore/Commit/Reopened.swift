internal import OpsCore

/// Operations that one retry reopens. An operation whose dependency on one of these is already satisfied keeps that:
/// the edge is settled, so the next start does not impose it again.
struct Reopened {
    private var ids: Set<Int64> = []

    mutating func add(_ id: OperationID) { ids.insert(id.rawValue) }

    /// Done once all of the retry are reopened: among themselves they wait again.
    mutating func settle(_ store: Store, at instant: Int64) throws(StoreError) {
        if ids.isEmpty { return }
        defer { ids.removeAll(keepingCapacity: true) }
        var granted: [(from: Int64, on: Int64)] = []
        let crossing = try store.kept("SELECT operation FROM edge WHERE dependency = ?1 AND crossing")
        let range = try store.kept(
            "SELECT first, first + count - 1 FROM submission WHERE first <= ?1 ORDER BY first DESC LIMIT 1")
        let local = try store.kept(
            "SELECT operation, dependency FROM edge WHERE operation BETWEEN ?1 AND ?2 AND NOT crossing")
        var last: Int64 = 0
        for id in ids.sorted() {
            crossing.bind(1, id)
            while try crossing.step() { granted.append((from: crossing.int(0), on: id)) }
            // Each submission is read through once, however much of it comes back.
            if id <= last { continue }
            range.bind(1, id)
            guard try range.step() else { continue }
            try store.reopenObservers(ofSubmission: range.int(0), at: instant)
            local.bind(1, range.int(0))
            local.bind(2, range.int(1))
            last = range.int(1)
            range.reset()
            while try local.step() {
                if ids.contains(local.int(1)) { granted.append((from: local.int(0), on: local.int(1))) }
            }
        }
        let waits = try store.kept("SELECT EXISTS (SELECT 1 FROM operation WHERE id = ?1 AND state < 3)")
        for edge in granted where !ids.contains(edge.from) {
            waits.bind(1, edge.from)
            let isWaiting = try waits.step() && waits.bool(0)
            waits.reset()
            if isWaiting { try store.update(store.statements.submission.settleEdge, OperationID(edge.from), edge.on) }
        }
    }
}
