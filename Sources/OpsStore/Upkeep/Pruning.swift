public import OpsCore

/// Housekeeping under way: old graphs go, whole and only when all of them has finished; then the events of that time,
/// then texts and policies without references. Ids and sequence numbers are never used again. Drive it with `step`, a
/// little in each turn.
public final class Pruning {
    private let store: Store
    /// Graphs that ended before this instant.
    private let olderThan: Int64?
    /// The oldest graphs beyond so many operations.
    private let keeping: Int?
    /// Only these graphs, in the order of their ids; nil: any.
    private let only: [GraphID]?
    /// Number of them that were looked at.
    private var looked = 0
    private var phase: Phase
    /// The last graph that was looked at.
    private var graph: Int64 = 0
    /// The operation from which on it is still to be looked at; nil: it has been.
    private var unchecked: Int64?
    /// The one that is being taken away.
    private var doomed: Int64?
    private var sweep: Sweep?
    /// Known to be stored only when its step is.
    private var hasSwept = false
    /// Reads all submissions to count their operations, or to find the oldest.
    private var scan = SubmissionScan()
    private(set) public var removed = 0
    /// Counts finished operations before they are removed, where the counters have ever been asked for.
    private var counting: Counting?
    /// Texts that nothing refers to any more stay for a later pruning.
    private let keepsTexts: Bool
    private enum Phase { case counting, graphs, dating, events, texts, done }

    init(_ store: Store, olderThan: Int64?, keeping: Int?, only: [GraphID]? = nil, keepsTexts: Bool = false) {
        self.only = only
        self.keepsTexts = keepsTexts
        self.store = store
        self.olderThan = olderThan
        self.keeping = keeping
        phase = keeping == nil ? .graphs : .counting
    }

    public var isComplete: Bool { phase == .done }

    /// Goes on for about `limit` rows, in one transaction. Answers with the attempts that are gone: so may their logs.
    /// One that has thrown is over; the next housekeeping finds what it left.
    public func step(limit: Int = 1000) throws(StoreError) -> [AttemptID] {
        if store.needsRecovery { try store.recover() }
        if phase == .graphs, try !haveCounted() { return [] }
        var attempts: [AttemptID] = []
        try store.database.transaction { () throws(StoreError) in
            switch phase {
            case .counting: if try scan.proceed(store, limit) { phase = .graphs }
            case .graphs: attempts = try removeGraphs(limit)
            case .dating: if try scan.proceed(store, limit) { phase = .events }
            case .events: try removeEvents(limit)
            case .texts: try removeTexts(limit)
            case .done: break
            }
        }
        if hasSwept {
            store.mayHaveUnusedTexts = false
            store.mayHaveFreePages = true
        }
        return attempts
    }

    /// Counts on. Returns whether everything that has finished is counted.
    private func haveCounted() throws(StoreError) -> Bool {
        let counting = counting ?? Counting(store, isForPruning: true)
        self.counting = try counting.step() == nil ? counting : nil
        return self.counting == nil
    }

    private func removeGraphs(_ limit: Int) throws(StoreError) -> [AttemptID] {
        try store.database.execute(Self.rememberNumbers)
        var attempts: [AttemptID] = []
        var budget = limit
        var checks = limit * Self.checksForARemoval
        while budget > 0, checks > 0 {
            if let graph = doomed {
                let count = try remove(graph, budget, &attempts)
                budget -= count
                removed += count
                if count > 0 { store.mayHaveUnusedTexts = true }
                if count == 0 { doomed = nil }
            } else if unchecked != nil {
                if try mayGo(graph, &checks) { doomed = graph }
            } else if let next = try nextGraph() {
                budget -= 1
                graph = next
                if bound != nil { unchecked = 0 }
            } else {
                scan = SubmissionScan()
                // The events of a time in which others were at work stay.
                phase =
                    keepsTexts
                    ? .done : olderThan != nil && only == nil ? .events : store.mayHaveUnusedTexts ? .dating : .done
                break
            }
        }
        return attempts
    }

    /// Number of operations that may be looked at in the time in which one is taken away.
    private static let checksForARemoval = 5

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

    /// The instant before which a graph must have ended; nil: it stays.
    private var bound: Int64? {
        if let keeping, scan.operations - removed > keeping { return .max }
        return olderThan
    }

    /// Looks at a part of a graph. Returns whether all of it has finished, long enough ago or beyond the number to keep,
    /// and nothing that waits refers to it.
    private func mayGo(_ graph: Int64, _ checks: inout Int) throws(StoreError) -> Bool {
        guard let from = unchecked, let bound else {
            unchecked = nil
            return false
        }
        guard try !owesObservers(graph) else {
            unchecked = nil
            return false
        }
        let next = try store.kept(
            "SELECT first, count FROM submission WHERE graph = ?1 AND first + count > ?2 ORDER BY first LIMIT 1")
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

    /// Observers of the graph have not all run.
    private func owesObservers(_ graph: Int64) throws(StoreError) -> Bool {
        let owed = try store.kept("SELECT EXISTS (SELECT 1 FROM graphObserver WHERE graph = ?1 AND told < 2)")
        owed.bind(1, graph)
        defer { owed.reset() }
        return try owed.step() && owed.bool(0)
    }

    private func isBlocked(from start: Int64, to last: Int64, _ bound: Int64) throws(StoreError) -> Bool {
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

    /// Takes up to `limit` operations from the end of a graph. 0: none is left, or the graph was reopened.
    private func remove(_ graph: Int64, _ limit: Int, _ attempts: inout [AttemptID]) throws(StoreError) -> Int {
        let latest = try store.kept("SELECT first, count FROM submission WHERE graph = ?1 ORDER BY first DESC LIMIT 1")
        latest.bind(1, graph)
        guard try latest.step() else {
            try run("DELETE FROM suspendedGraph WHERE graph = ?1", graph)
            try run("DELETE FROM graphObserver WHERE graph = ?1", graph)
            return 0
        }
        let first = latest.int(0)
        let count = latest.int(1)
        latest.reset()
        let last = first + count - 1
        let start = max(first, last - Int64(limit) + 1)
        // It was looked at before, and in several steps where it is large.
        if try isBlocked(from: start, to: last, olderThan ?? .max) { return 0 }
        let gone = try store.kept("SELECT operation, number FROM attempt WHERE operation BETWEEN ?1 AND ?2")
        gone.bind(1, start)
        gone.bind(2, last)
        while try gone.step() { attempts.append(AttemptID(OperationID(gone.int(0)), gone.int32(1))) }
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
        // A stretch from the oldest on: what stays has no gap.
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
        let sweep = if let begun = sweep { begun } else { try Sweep(store) }
        self.sweep = sweep
        if try sweep.step(limit) { return }
        self.sweep = nil
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
    /// Begins housekeeping. The newest `keeping` operations stay whatever their age, when that is all that is given.
    /// `only`: nothing but these graphs, in the order of their ids.
    /// `keepsTexts`: texts that nothing refers to any more stay for a later pruning.
    public func prune(
        olderThan instant: Int64?, keeping: Int? = nil, only: [GraphID]? = nil, keepsTexts: Bool = false
    ) -> Pruning {
        Pruning(self, olderThan: instant, keeping: keeping, only: only, keepsTexts: keepsTexts)
    }
}

/// All submissions, read a few at a time.
private struct SubmissionScan {
    private(set) var operations = 0
    private(set) var oldest = Int64.max
    private var last: Int64 = 0

    /// Submissions are cheaper to read than operations are to remove.
    private static let factor = 10

    /// Reads on; returns whether all have been read.
    mutating func proceed(_ store: Store, _ limit: Int) throws(StoreError) -> Bool {
        let rows = try store.kept("SELECT first, count, at FROM submission WHERE first > ?1 ORDER BY first LIMIT ?2")
        rows.bind(1, last)
        rows.bind(2, limit * Self.factor)
        var count = 0
        while try rows.step() {
            count += 1
            last = rows.int(0)
            operations += Int(rows.int(1))
            oldest = min(oldest, rows.int(2))
        }
        return count < limit * Self.factor
    }
}
