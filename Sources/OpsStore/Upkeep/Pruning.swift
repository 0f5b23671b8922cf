public import OpsCore

/// Removes old graphs, each as a whole and only if all its operations have finished; then the events of that time; then
/// unused texts and policies. Ids and sequence numbers are never used again. The caller calls `step` repeatedly, a
/// little in each turn.
public final class Pruning {
    private let store: Store
    /// Instant before which removed graphs have ended.
    private let olderThan: WallInstant?
    /// Number of finished operations beyond which the oldest graphs are removed.
    private let keeping: Int?
    /// The only graphs to remove, in the order of their ids; nil: any.
    private let only: [GraphID]?
    /// Number of those graphs that were examined.
    private var looked = 0
    private var phase: Phase
    /// The last graph that was examined.
    private var graph: Int64 = 0
    /// The operation from which on that graph is still to be examined; nil if it was examined.
    private var unchecked: Int64?
    /// The graph that is being removed, and the instant before which all of it has ended.
    private var removing: (graph: Int64, bound: WallInstant)?
    private var sweep: Sweep?
    /// True if the sweep has made its last step, which may not be stored yet.
    private var hasSwept = false
    /// Reads all submissions to count their operations, or to find the oldest.
    private var scan = SubmissionScan()
    /// Counts the operations that are not finished, and so do not count for `keeping`.
    private var unfinished = UnfinishedScan()
    private(set) public var removed = 0
    /// Counts finished operations before they are removed, if metrics were ever requested.
    private var counting: Counting?
    /// True if unused texts are left for a later pruning.
    private let keepsTexts: Bool
    private enum Phase { case counting, graphs, dating, events, texts, done }

    init(_ store: Store, olderThan: WallInstant?, keeping: Int?, only: [GraphID]? = nil, keepsTexts: Bool = false) {
        self.only = only
        self.keepsTexts = keepsTexts
        self.store = store
        self.olderThan = olderThan
        self.keeping = keeping
        phase = keeping == nil ? .graphs : .counting
    }

    public var isComplete: Bool { phase == .done }

    /// Removes about `limit` rows in one transaction. Returns the removed attempts of each user, whose logs can be removed
    /// too. A pruning that has thrown has ended; the next one finds the rest.
    public func step(limit: Int = 1000) throws(StoreError) -> [UInt32: [AttemptID]] {
        if store.needsRecovery { try store.recover() }
        if phase == .graphs, try !haveCounted() { return [:] }
        var attempts: [UInt32: [AttemptID]] = [:]
        try store.database.transaction { () throws(StoreError) in
            switch phase {
            case .counting: if try scan.proceed(store, limit), try unfinished.proceed(store, limit) { phase = .graphs }
            case .graphs: attempts = try removeGraphs(limit)
            case .dating: if try scan.proceed(store, limit) { phase = .events }
            case .events: try removeEvents(limit)
            case .texts: try removeTexts(limit)
            case .done: break
            }
        }
        if hasSwept {
            sweep?.isComplete = true
            sweep = nil
            store.mayHaveFreePages = true
        }
        return attempts
    }

    /// Counts a part. Returns whether all finished operations are counted.
    private func haveCounted() throws(StoreError) -> Bool {
        let counting = counting ?? Counting(store, isForPruning: true)
        self.counting = try counting.step() == nil ? counting : nil
        return self.counting == nil
    }

    private func removeGraphs(_ limit: Int) throws(StoreError) -> [UInt32: [AttemptID]] {
        try store.database.execute(Self.rememberNumbers)
        var attempts: [UInt32: [AttemptID]] = [:]
        var budget = limit
        var checks = limit * Self.checksForARemoval
        while budget > 0, checks > 0 {
            if let (graph, bound) = removing {
                let count = try remove(graph, endedBefore: bound, budget, &attempts)
                budget -= count
                removed += count
                if count > 0 { store.mayHaveUnusedTexts = true }
                if count == 0 { removing = nil }
            } else if unchecked != nil {
                if try mayGo(graph, &checks), let bound { removing = (graph, bound) }
            } else if let next = try nextGraph() {
                budget -= 1
                graph = next
                if bound != nil { unchecked = 0 }
            } else {
                scan = SubmissionScan()
                // Events of a time with other unfinished operations stay.
                phase =
                    keepsTexts
                    ? .done : olderThan != nil && only == nil ? .events : store.mayHaveUnusedTexts ? .dating : .done
                break
            }
        }
        return attempts
    }

    /// Number of operations that can be examined in the time of one removal.
    private static let checksForARemoval = 5
    /// Number of submissions, or of entries of an index, that can be read in the time in which one operation is removed.
    fileprivate static let readsForARemoval = 10

    private static let rememberNumbers = """
        UPDATE meta SET
            nextOperation = max(nextOperation, ifnull((SELECT max(id) FROM operation), 0) + 1),
            nextGraph = max(nextGraph, ifnull((SELECT max(graph) FROM submission), 0) + 1),
            lastSequence = max(lastSequence, ifnull((SELECT max(seq) FROM event), 0))
        """

    private func nextGraph() throws(StoreError) -> Int64? {
        if let only {
            guard looked < only.count else { return nil }
            looked += 1
            return only[looked - 1].rawValue
        }
        let next = try store.kept("SELECT min(graph) FROM submission WHERE graph > ?1")
        next.bind(1, graph)
        defer { next.reset() }
        return try next.step() ? next.optionalInt(0) : nil
    }

    /// The instant before which a graph must have ended to be removed; nil: it stays.
    private var bound: WallInstant? {
        if let keeping, scan.operations - unfinished.count - removed > keeping { return .distantFuture }
        return olderThan
    }

    /// SQL for the submission of a graph that contains an operation, or else the next one. The inner query keeps SQLite from
    /// reading all earlier submissions.
    static let nextSubmission = """
        SELECT first, count FROM submission
        WHERE graph = ?1 AND first + count > ?2
            AND first >= ifnull((SELECT max(first) FROM submission WHERE graph = ?1 AND first <= ?2), 0)
        ORDER BY first LIMIT 1
        """

    /// Examines a part of a graph. Returns whether the graph can be removed: all of it has finished, long enough ago or
    /// beyond the number to keep, and no waiting operation refers to it.
    private func mayGo(_ graph: Int64, _ checks: inout Int) throws(StoreError) -> Bool {
        guard let from = unchecked, let bound else {
            unchecked = nil
            return false
        }
        guard try !owesObservers(graph) else {
            unchecked = nil
            return false
        }
        let next = try store.kept(Self.nextSubmission)
        next.bind(1, graph)
        next.bind(2, from)
        guard try next.step() else {
            unchecked = nil
            return true
        }
        let start = max(from, next.int(0))
        let last = min(next.int(0) + next.int(1) - 1, start + Int64(checks) - 1)
        next.reset()
        checks -= Int(last - start) + 1
        let isBlocked = try isBlocked(from: start, to: last, bound)
        unchecked = isBlocked ? nil : last + 1
        return false
    }

    /// Returns whether an observer of the graph has yet to run.
    private func owesObservers(_ graph: Int64) throws(StoreError) -> Bool {
        let owed = try store.kept("SELECT EXISTS (SELECT 1 FROM graphObserver WHERE graph = ?1 AND ran < 2)")
        owed.bind(1, graph)
        defer { owed.reset() }
        return try owed.step() && owed.bool(0)
    }

    private func isBlocked(from start: Int64, to last: Int64, _ bound: WallInstant) throws(StoreError) -> Bool {
        let blocked = try store.kept(
            """
            SELECT EXISTS (
                SELECT 1 FROM operation o WHERE o.id BETWEEN ?1 AND ?2 AND (o.state < 3 OR o.finishedAt >= ?3
                    OR EXISTS (SELECT 1 FROM owedObserver w WHERE w.operation = o.id)
                    OR EXISTS (
                        SELECT 1 FROM edge e JOIN operation d ON d.id = e.operation
                        WHERE e.dependency = o.id AND e.crossing AND d.state < 3)))
            """)
        blocked.bind(1, start)
        blocked.bind(2, last)
        blocked.bind(3, bound)
        defer { blocked.reset() }
        return try !blocked.step() || blocked.bool(0)
    }

    /// Removes up to `limit` operations from the end of a graph, and returns their number. It returns 0 if none is
    /// left, or if the graph was reopened.
    private func remove(
        _ graph: Int64, endedBefore bound: WallInstant, _ limit: Int, _ attempts: inout [UInt32: [AttemptID]]
    ) throws(StoreError) -> Int {
        let latest = try store.kept(
            "SELECT first, count, uid FROM submission WHERE graph = ?1 ORDER BY first DESC LIMIT 1")
        latest.bind(1, graph)
        guard try latest.step() else {
            try run("DELETE FROM suspendedGraph WHERE graph = ?1", graph)
            try run("DELETE FROM graphObserver WHERE graph = ?1", graph)
            return 0
        }
        let first = latest.int(0)
        let count = latest.int(1)
        let user = UInt32(truncatingIfNeeded: latest.int(2))
        latest.reset()
        let last = first + count - 1
        let start = max(first, last - Int64(limit) + 1)
        // The graph was examined before, a large one in several steps.
        if try isBlocked(from: start, to: last, bound) { return 0 }
        let gone = try store.kept("SELECT operation, number FROM attempt WHERE operation BETWEEN ?1 AND ?2")
        gone.bind(1, start)
        gone.bind(2, last)
        while try gone.step() {
            attempts[user, default: []].append(AttemptID(OperationID(gone.int(0)), gone.int32(1)))
        }
        try run("DELETE FROM attempt WHERE operation BETWEEN ?1 AND ?2", start, last)
        try run("DELETE FROM assignedUnit WHERE operation BETWEEN ?1 AND ?2", start, last)
        try run("DELETE FROM edge WHERE operation BETWEEN ?1 AND ?2", start, last)
        try run("DELETE FROM edge WHERE dependency BETWEEN ?1 AND ?2 AND crossing", start, last)
        try run("DELETE FROM operation WHERE id BETWEEN ?1 AND ?2", start, last)
        if start == first {
            try run("DELETE FROM submission WHERE first = ?1", first)
        } else {
            try run("UPDATE submission SET count = ?2 WHERE first = ?1", first, start - first)
        }
        return Int(last - start + 1)
    }

    private func removeEvents(_ limit: Int) throws(StoreError) {
        // Events are removed from the oldest on, so that the rest has no gap.
        let bound = only == nil ? olderThan ?? scan.oldest : scan.oldest
        let statement = try store.kept(
            """
            DELETE FROM event WHERE seq <= (
                SELECT max(seq) FROM (SELECT seq, at FROM event ORDER BY seq LIMIT ?2) WHERE at < ?1)
            """)
        statement.bind(1, bound)
        statement.bind(2, limit)
        try statement.run()
        if store.database.changes == 0 { phase = store.mayHaveUnusedTexts ? .texts : .done }
    }

    private func removeTexts(_ limit: Int) throws(StoreError) {
        if self.sweep == nil, store.interned.isSweeping {
            // Another pruning is looking for unused texts. A later one removes the texts that it does not find.
            phase = .done
            return
        }
        let sweep = if let begun = sweep { begun } else { try Sweep(store) }
        self.sweep = sweep
        if try sweep.step(limit) { return }
        phase = .done
        hasSwept = true
    }

    private func run(_ sql: String, _ values: Int64...) throws(StoreError) {
        let statement = try store.kept(sql)
        for (offset, value) in values.enumerated() { statement.bind(Int32(offset) + 1, value) }
        try statement.run()
    }
}

extension Store {
    /// Begins a pruning of graphs that have ended before an instant, and of the oldest graphs while more than `keeping`
    /// finished operations are stored. `only`: the only graphs to remove, in the order of their ids. `keepsTexts`:
    /// unused texts are left for a later pruning.
    public func prune(
        olderThan instant: WallInstant?, keeping: Int? = nil, only: [GraphID]? = nil, keepsTexts: Bool = false
    ) -> Pruning {
        Pruning(self, olderThan: instant, keeping: keeping, only: only, keepsTexts: keepsTexts)
    }
}

/// Reads all submissions, a few at a time.
private struct SubmissionScan {
    private(set) var operations = 0
    private(set) var oldest = WallInstant.distantFuture
    private var last: Int64 = 0

    /// Reads a part. Returns whether all have been read.
    mutating func proceed(_ store: Store, _ limit: Int) throws(StoreError) -> Bool {
        let rows = try store.kept("SELECT first, count, at FROM submission WHERE first > ?1 ORDER BY first LIMIT ?2")
        rows.bind(1, last)
        rows.bind(2, limit * Pruning.readsForARemoval)
        var count = 0
        while try rows.step() {
            count += 1
            last = rows.int(0)
            operations += Int(rows.int(1))
            oldest = min(oldest, rows.time(2))
        }
        return count < limit * Pruning.readsForARemoval
    }
}

/// Counts the unfinished operations, a part at a time. An operation that changes its state between two parts may count
/// twice, or not at all.
private struct UnfinishedScan {
    private(set) var count = 0
    private var state = OperationState.pending.stored
    private var last: Int64 = 0

    /// Counts a part. Returns whether all have been counted.
    mutating func proceed(_ store: Store, _ limit: Int) throws(StoreError) -> Bool {
        // The condition on the state is written as in the partial index.
        let rows = try store.kept(
            """
            SELECT id FROM operation INDEXED BY operationUnfinished
            WHERE state = ?1 AND state < 3 AND id > ?2 ORDER BY id LIMIT ?3
            """)
        rows.bind(1, state)
        rows.bind(2, last)
        rows.bind(3, limit * Pruning.readsForARemoval)
        var found = 0
        while try rows.step() {
            found += 1
            last = rows.int(0)
        }
        count += found
        if found == limit * Pruning.readsForARemoval { return false }
        (state, last) = (state + 1, 0)
        return state >= OperationState.finished.stored
    }
}
