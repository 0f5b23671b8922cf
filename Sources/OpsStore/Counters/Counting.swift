public import OpsCore

/// Updates the counters with the events since the last request for them. Nothing is counted while metrics are not
/// requested, and commits do not become larger: the events exist anyway, and pruning counts them before it removes
/// them. The caller calls `step` repeatedly, a little in each turn.
public final class Counting {
    private let store: Store
    /// True if the counting is for a pruning: then nothing is to be done if metrics were never requested.
    private let isForPruning: Bool
    private var found = Counters()
    /// Last event that the stored counters include at the beginning; nil if metrics were never requested.
    private var start: Int64?
    private var position: Int64?

    init(_ store: Store, isForPruning: Bool) {
        self.store = store
        self.isForPruning = isForPruning
    }

    /// Counts at most `limit` further events. Returns the counters once they are up to date and stored.
    public func step(limit: Int64 = 2000) throws(StoreError) -> Counters? {
        if store.needsRecovery { try store.recover() }
        guard let position else {
            start = try store.countedTo()
            if isForPruning, start == nil { return Counters() }
            position = max(start ?? 0, try store.database.integer("SELECT min(seq) FROM event") - 1)
            return try step(limit: limit)
        }
        let last = max(try store.database.integer("SELECT max(seq) FROM event"), try lastSequence())
        if position < last {
            let end = min(last, position + limit)
            try count(after: position, to: end)
            self.position = end
            if end < last { return nil }
        }
        return try finish(last)
    }

    private func lastSequence() throws(StoreError) -> Int64 {
        try store.database.integer("SELECT lastSequence FROM meta")
    }

    private func count(after first: Int64, to last: Int64) throws(StoreError) {
        // The last attempt that had started when the operation finished: it may have been retried since.
        let rows = try store.kept(
            """
            SELECT o.queue, e.outcome, \(Standing.waitsSince), a.startedAt, ifnull(a.finishedAt, e.at)
            FROM event e JOIN operation o ON o.id = e.operation
            LEFT JOIN attempt a ON a.operation = o.id AND a.number = (
                SELECT max(number) FROM attempt WHERE operation = o.id AND startedAt <= e.at)
            WHERE e.seq > ?1 AND e.seq <= ?2 AND e.kind = ?3 AND e.outcome IS NOT NULL
            """)
        rows.bind(1, first)
        rows.bind(2, last)
        rows.bind(3, Report.Kind.finished.stored)
        while try rows.step() {
            guard let outcome = Outcome(stored: rows.int(1)) else { continue }
            var queue = found.queues[rows.int(0)] ?? Counters.OfQueue()
            queue.finished[Int(outcome.stored)] += 1
            if let started = rows.optionalInt(3) {
                queue.running.add(.nanoseconds(rows.int(4) - started))
                queue.waiting.add(.nanoseconds(started - (rows.optionalInt(2) ?? started)))
            }
            found.queues[rows.int(0)] = queue
        }
    }

    /// Stores the counters, unless another counting has counted the same events meanwhile: then this one begins again.
    private func finish(_ last: Int64) throws(StoreError) -> Counters? {
        found.commits = store.commitTimes
        found.turns = store.turnTimes
        guard start != last || !found.isEmpty else { return try store.counters() }
        var isOvertaken = false
        try store.database.transaction { () throws(StoreError) in
            isOvertaken = try store.countedTo() != start
            if isOvertaken { return }
            for row in found.rows { try store.add(row) }
            let counted = try store.kept("UPDATE meta SET countedTo = ?1")
            counted.bind(1, last)
            try counted.run()
        }
        if isOvertaken {
            (found, position) = (Counters(), nil)
            return nil
        }
        store.commitTimes = .ofTurns
        store.turnTimes = .ofTurns
        return try store.counters()
    }
}

extension Store {
    /// Begins to bring the counters up to date.
    public func count() -> Counting { Counting(self, isForPruning: false) }

    /// Returns the stored counters.
    func counters() throws(StoreError) -> Counters { try Counters.read(kept(Counters.select)) }

    fileprivate func countedTo() throws(StoreError) -> Int64? {
        let row = try kept("SELECT countedTo FROM meta")
        defer { row.reset() }
        return try row.step() ? row.optionalInt(0) : nil
    }

    /// Adds to a stored row. A sum stays at its maximum: SQLite would make a larger one a REAL, which the table
    /// refuses.
    fileprivate func add(_ row: Counters.Row) throws(StoreError) {
        let statement = try kept(
            """
            INSERT INTO counter (family, queue, part, count, sum) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET count = count + excluded.count,
                sum = iif(sum > \(Int64.max) - excluded.sum, \(Int64.max), sum + excluded.sum)
            """)
        statement.bind(1, row.family.rawValue)
        statement.bind(2, row.queue)
        statement.bind(3, row.part)
        statement.bind(4, row.count)
        statement.bind(5, row.sum)
        try statement.run()
    }
}

extension History {
    /// Returns the stored counters.
    public func counters() throws(StoreError) -> Counters { try Counters.read(statement(Counters.select)) }

    /// Returns all present and former queues, in the order in which they were made.
    public func queuesEver() throws(StoreError) -> [(row: Int64, name: String, isRemoved: Bool)] {
        let rows = try statement("SELECT id, name, removed FROM queue ORDER BY id")
        var queues: [(row: Int64, name: String, isRemoved: Bool)] = []
        while try rows.step() { queues.append((rows.int(0), rows.text(1), rows.bool(2))) }
        return queues
    }

    /// Returns for each queue, by its row, the earliest instant since which an operation is ready. Operations that are
    /// held or wait for an instant after `now` do not count.
    public func readySince(now: WallInstant) throws(StoreError) -> [Int64: WallInstant] {
        // The condition on the state is written as in the partial index, so that finished operations are not read.
        let rows = try statement(
            """
            SELECT queue, min(since) FROM (
                SELECT o.queue, \(Standing.waitsSince) AS since FROM operation AS o INDEXED BY operationUnfinished
                WHERE o.state = 1 AND o.state < 3 AND NOT o.flags & 4)
            WHERE since <= ?1 GROUP BY queue
            """)
        rows.bind(1, now)
        var instants: [Int64: WallInstant] = [:]
        while try rows.step() { instants[rows.int(0)] = rows.time(1) }
        return instants
    }

    /// Size of the database, without its write-ahead log.
    public func size() throws(StoreError) -> Int64 {
        try database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size")
    }

    /// Random name of this database, the same for its whole life.
    public func instance() throws(StoreError) -> String {
        let row = try statement("SELECT instance FROM meta")
        defer { row.reset() }
        return try row.step() ? row.text(0) : ""
    }
}
