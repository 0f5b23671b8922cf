public import OpsCore

extension Store {
    /// Returns everything unfinished, without its texts, for a scheduler that starts now.
    public func load() throws(StoreError) -> Snapshot {
        let snapshot = try read()
        // Everything that could be refused has been read.
        database.setCheckpointOnClose(true)
        // The pages of the scan are no longer needed, and the scheduler needs the memory.
        try forgetPages()
        return snapshot
    }

    private func read() throws(StoreError) -> Snapshot {
        // One read transaction, so that the parts are consistent; a new one, for an open one may be from before a
        // failure of the disk.
        endReading()
        try database.execute("BEGIN")
        defer { database.rollBack() }
        var snapshot = Snapshot()
        snapshot.boot = boot
        try loadSettings(&snapshot)
        try loadOperations(&snapshot)
        try loadEdges(&snapshot)
        try loadRunning(&snapshot)
        try loadStagedLaunches(&snapshot)
        try loadMissedEdges(&snapshot)
        try loadAssignedUnits(&snapshot)
        try loadEndedChildren(&snapshot)
        let owed = try database.prepare("SELECT operation, run FROM owedObserver")
        while try owed.step() { snapshot.owedObservers.append(.init(OperationID(owed.int(0)), run: owed.int32(1))) }
        return snapshot
    }

    private func loadSettings(_ snapshot: inout Snapshot) throws(StoreError) {
        guard try database.integer("SELECT count(*) FROM meta") == 1 else {
            throw StoreError(.corrupt, "the row of meta is missing", file: path)
        }
        // `meta` includes pruned rows; the tables contain the newer ones.
        snapshot.nextOperation = try database.integer(
            "SELECT max(nextOperation, ifnull((SELECT max(id) FROM operation), 0) + 1) FROM meta")
        snapshot.nextGraph = try database.integer(
            "SELECT max(nextGraph, ifnull((SELECT max(graph) FROM submission), 0) + 1) FROM meta")
        snapshot.lastSequence = try database.integer(
            "SELECT max(lastSequence, ifnull((SELECT max(seq) FROM event), 0)) FROM meta")
        snapshot.isSuspended = try database.integer("SELECT suspended FROM meta") != 0
        let workers = try database.prepare("SELECT workers, workersInsteadOf FROM meta WHERE workers IS NOT NULL")
        while try workers.step() { snapshot.workers = .init(count: workers.int32(0), insteadOf: workers.int32(1)) }
        let graphs = try database.prepare("SELECT graph FROM suspendedGraph")
        while try graphs.step() { snapshot.suspendedGraphs.append(GraphID(graphs.int(0))) }
        try loadCategories(&snapshot)
        try loadRatedStarts(&snapshot)
    }

    private func loadRunning(_ snapshot: inout Snapshot) throws(StoreError) {
        let rows = try RunningRows(database)
        for row in snapshot.operations where row.state == .executing {
            if let running = try rows.running(row, snapshot.policies) { snapshot.running.append(running) }
        }
    }

    private func loadStagedLaunches(_ snapshot: inout Snapshot) throws(StoreError) {
        let launches = try database.prepare(
            """
            SELECT l.operation, l.attempt, r.name, r.boot, o.startedAt IS NOT NULL
            FROM stagedLaunches l JOIN runner r ON r.id = l.runner JOIN operation o ON o.id = l.operation ORDER BY 1
            """)
        while try launches.step() {
            snapshot.staged.append(
                Snapshot.StagedLaunch(
                    attempt: AttemptID(OperationID(launches.int(0)), launches.int32(1)), runner: launches.text(2),
                    boot: launches.text(3), hasStarted: launches.bool(4)))
        }
    }

    /// Loads the edges of staged launches on dependencies that failed while the start was assumed. Such an operation is
    /// skipped if it has not started. A staged launch waits only for successes.
    private func loadMissedEdges(_ snapshot: inout Snapshot) throws(StoreError) {
        let edges = try database.prepare(
            """
            SELECT d.id FROM edge e CROSS JOIN operation d ON d.id = e.dependency
            WHERE e.operation = ?1 AND e."when" = 0 AND NOT e.resolved AND d.state = 3 AND d.outcome <> 0
            """)
        var failed: [OperationID] = []
        for staged in snapshot.staged {
            let from = staged.attempt.operation
            edges.bind(1, from.rawValue)
            while try edges.step() {
                failed.append(OperationID(edges.int(0)))
                snapshot.edges.append(Snapshot.Edge(from: from, on: OperationID(edges.int(0)), when: .succeeded))
            }
        }
        snapshot.finished = try FinishedFact.read(failed) { (sql) throws(StoreError) in try database.prepare(sql) }
    }

    private func loadEndedChildren(_ snapshot: inout Snapshot) throws(StoreError) {
        let children = try EndedChildrenRows(database)
        // Only groups, and operations that have started and so may have produced others, have children.
        for row in snapshot.operations where row.flags.contains(.group) || row.attempt > 0 {
            if let ended = try children.ended(below: row.id) { snapshot.endedChildren.append(ended) }
        }
    }

    private func loadEdges(_ snapshot: inout Snapshot) throws(StoreError) {
        guard let first = snapshot.operations.first?.id.rawValue, let last = snapshot.operations.last?.id.rawValue
        else { return }
        var unfinished = BitSet(first...last)
        for row in snapshot.operations { unfinished.insert(row.id.rawValue) }
        let rows = try database.prepare(
            "SELECT operation, dependency, \"when\" FROM edge WHERE operation BETWEEN ?1 AND ?2 AND NOT resolved")
        let started = try database.prepare("SELECT startedAt IS NOT NULL FROM operation WHERE id = ?1")
        for range in runs(snapshot.operations) {
            rows.bind(1, range.lowerBound)
            rows.bind(2, range.upperBound)
            while try rows.step() {
                let from = rows.int(0)
                let on = rows.int(1)
                guard unfinished.contains(from), unfinished.contains(on) else { continue }
                guard let when = EdgeCondition(stored: rows.int(2)) else {
                    throw StoreError(.corrupt, "operation \(from) waits for \(on) in an unknown way", file: path)
                }
                if when == .started {
                    // The first start meets the edge for good, even if another attempt follows.
                    started.bind(1, on)
                    defer { started.reset() }
                    if try started.step(), started.bool(0) { continue }
                }
                snapshot.edges.append(Snapshot.Edge(from: OperationID(from), on: OperationID(on), when: when))
            }
        }
    }

    /// Returns ranges of ids with few finished operations, for which one scan is faster than looking up each member.
    private func runs(_ rows: [Snapshot.Row]) -> [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        var start = rows[0].id.rawValue
        var end = start
        for row in rows {
            if row.id.rawValue - end > 64 {
                ranges.append(start...end)
                start = row.id.rawValue
            }
            end = row.id.rawValue
        }
        ranges.append(start...end)
        return ranges
    }
}

/// A set of integers from a range, one bit each.
struct BitSet {
    private let range: ClosedRange<Int64>
    private var words: [UInt64]

    init(_ range: ClosedRange<Int64>) {
        self.range = range
        words = [UInt64](repeating: 0, count: Int((range.upperBound - range.lowerBound) / 64) + 1)
    }

    mutating func insert(_ number: Int64) {
        let position = number - range.lowerBound
        words[Int(position / 64)] |= 1 << UInt64(position % 64)
    }

    func contains(_ number: Int64) -> Bool {
        guard range.contains(number) else { return false }
        let position = number - range.lowerBound
        return words[Int(position / 64)] & (1 << UInt64(position % 64)) != 0
    }
}
