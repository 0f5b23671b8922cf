public import OpsCore

extension History {
    /// Those of the ids that exist, in the order given.
    public func records(of ids: [OperationID]) throws(StoreError) -> [OperationRecord] {
        var records: [OperationRecord] = []
        records.reserveCapacity(ids.count)
        for id in ids {
            if let record = try record(of: id) { records.append(record) }
        }
        return records
    }

    public func record(of id: OperationID) throws(StoreError) -> OperationRecord? {
        let row = try statement(Self.recordSQL)
        row.bind(1, id.rawValue)
        guard try row.step() else { return nil }
        var record = OperationRecord(id: id)
        do {
            defer { row.reset() }
            readOperation(row, into: &record)
            readSubmission(row, into: &record)
            readAttempt(row, into: &record)
            if let policy = row.optionalInt(37) { record.policy = try self.policy(policy) }
            if let set = row.optionalInt(38) { record.categories = try categories(set) }
        }
        record.dependencies = try dependencies(of: id)
        return record
    }

    public func dependencies(of id: OperationID) throws(StoreError) -> [OperationRecord.Dependency] {
        let rows = try statement(
            """
            SELECT e.dependency, e."when", d.state, d.outcome, d.startedAt, e.settled FROM edge e
            LEFT JOIN operation d ON d.id = e.dependency WHERE e.operation = ?1
            """)
        rows.bind(1, id.rawValue)
        var dependencies: [OperationRecord.Dependency] = []
        while try rows.step() {
            guard let when = When(stored: rows.int(1)) else { continue }
            dependencies.append(
                OperationRecord.Dependency(
                    id: OperationID(rows.int(0)), when: when, isSatisfied: isSatisfied(when, rows)))
        }
        return dependencies
    }

    private func isSatisfied(_ when: When, _ rows: Statement) -> Bool {
        // Granted before a retry brought it back.
        if rows.bool(5) { return true }
        // Pruned: only what has finished is, and only when nothing unfinished still asks.
        guard let state = rows.optionalInt(2) else { return true }
        let outcome = Outcome(stored: rows.optionalInt(3))
        switch when {
        case .succeeded: return outcome == .succeeded
        case .finished: return state == OperationState.finished.stored
        case .failed: return outcome != nil && outcome != .succeeded
        case .started: return !rows.isNull(4)
        }
    }

    private static let recordSQL = """
        SELECT o.name, s.graph, (SELECT name FROM submission WHERE graph = s.graph AND isNew), q.name, o.state,
            o.outcome, o.cause, c.body, d.body, o.priority, o.flags, o.attempt, o.run, o.frozen, o.parent, o.readyAt,
            o.startedAt, o.finishedAt, o.notBefore, (SELECT 1 FROM ending WHERE operation = o.id),
            s.user, s.uid, s.gid, s.key, s.producer, s.at,
            a.exitCode, a.signal, a.slot, a.progressDone, a.progressTotal, a.status, a.result,
            a.exitedAt, a.userMicroseconds, a.systemMicroseconds, a.maxResidentBytes,
            o.policy, o.categories
        FROM operation o
        JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
        JOIN queue q ON q.id = o.queue
        LEFT JOIN text c ON c.id = o.command
        LEFT JOIN text d ON d.id = o.details
        LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt
        WHERE o.id = ?1
        """

    private func readOperation(_ row: Statement, into record: inout OperationRecord) {
        record.name = row.optionalText(0)
        record.graph = GraphID(row.int(1))
        record.graphName = row.optionalText(2)
        record.queue = row.text(3)
        record.state = OperationState(stored: row.int(4)) ?? .pending
        record.outcome = Outcome(stored: row.optionalInt(5))
        record.cause = row.optionalText(6)
        record.command = row.optionalText(7)
        record.details = row.optionalText(8) ?? "{}"
        record.priority = Int8(truncatingIfNeeded: row.int(9))
        record.flags = Draft.Flags(stored: row.int(10))
        record.attempt = row.int32(11)
        record.run = row.int32(12)
        record.isFrozen = row.bool(13)
        record.group = row.optionalInt(14).map { OperationID($0) }
        record.readyAt = row.optionalInt(15)
        record.startedAt = row.optionalInt(16)
        record.finishedAt = row.optionalInt(17)
        record.notBefore = row.optionalInt(18)
        record.isCancelling = !row.isNull(19)
    }

    private func readSubmission(_ row: Statement, into record: inout OperationRecord) {
        record.user = row.text(20)
        record.uid = UInt32(truncatingIfNeeded: row.int(21))
        record.gid = UInt32(truncatingIfNeeded: row.int(22))
        record.key = row.optionalText(23)
        record.producer = row.optionalInt(24).map { OperationID($0) }
        record.submittedAt = row.int(25)
    }

    private func readAttempt(_ row: Statement, into record: inout OperationRecord) {
        record.exitCode = row.optionalInt32(26)
        record.signal = row.optionalInt32(27)
        record.slot = row.optionalInt32(28)
        record.progressDone = row.optionalInt(29)
        record.progressTotal = row.optionalInt(30)
        record.statusText = row.optionalText(31)
        record.result = row.optionalText(32)
        if !row.isNull(33) { record.usage = Self.usage(row, from: 34) }
    }

    static func usage(_ row: Statement, from first: Int32) -> Usage {
        Usage(
            userMicroseconds: row.int(first), systemMicroseconds: row.int(first + 1),
            maxResidentBytes: row.int(first + 2))
    }

    public func attempts(of id: OperationID) throws(StoreError) -> [AttemptRecord] {
        let rows = try statement(
            """
            SELECT number, run, slot, pid, outcome, cause, exitCode, signal, startedAt, finishedAt, exitedAt,
                userMicroseconds, systemMicroseconds, maxResidentBytes
            FROM attempt WHERE operation = ?1 ORDER BY number
            """)
        rows.bind(1, id.rawValue)
        var attempts: [AttemptRecord] = []
        while try rows.step() {
            attempts.append(
                AttemptRecord(
                    number: rows.int32(0), run: rows.int32(1), slot: rows.int32(2), pid: rows.optionalInt32(3),
                    outcome: Outcome(stored: rows.optionalInt(4)), cause: rows.optionalText(5),
                    exitCode: rows.optionalInt32(6), signal: rows.optionalInt32(7), startedAt: rows.int(8),
                    finishedAt: rows.optionalInt(9), usage: rows.isNull(10) ? nil : Self.usage(rows, from: 11)))
        }
        return attempts
    }

    func policy(_ id: Int64) throws(StoreError) -> Policy {
        let row = try statement(PolicyRow.select)
        row.bind(1, id)
        guard try row.step() else { return Policy() }
        defer { row.reset() }
        return PolicyRow.read(row)
    }

    func categories(_ id: Int64) throws(StoreError) -> [CategoryUse] {
        let rows = try statement("SELECT name, mode, units FROM categoryUse WHERE categorySet = ?1 ORDER BY place")
        rows.bind(1, id)
        var uses: [CategoryUse] = []
        while try rows.step() {
            let mode = CategoryUse.Mode(stored: rows.int(1)) ?? .exclusive
            uses.append(CategoryUse(name: rows.text(0), mode: mode, units: rows.int32(2)))
        }
        return uses
    }
}
