internal import OpsCore

/// Reads records by ranges of ids. Rows that operations share (submission, queue, details, policy, categories) are read
/// once. A reader serves one answer: the next commit may change the rows that it has cached.
struct RecordReader {
    private let history: History
    var readsDependencies = true
    private var submission: SubmissionRow?
    private var queues: [Int64: String] = [:]
    private var details: [Int64: String] = [:]
    private var policies: [Int64: Policy] = [:]
    private var categorySets: [Int64: [CategoryUse]] = [:]

    private struct SubmissionRow {
        var ids: ClosedRange<Int64>
        var graph: GraphID
        var graphName: String?
        var user: String
        var uid: UInt32
        var key: String?
        var producer: OperationID?
        var at: WallInstant
    }

    init(_ history: History) { self.history = history }

    /// Adds the records of those operations from `first` to `last` that exist.
    mutating func read(
        from first: Int64, to last: Int64, into records: inout [OperationRecord]
    ) throws(StoreError) {
        let start = records.count
        let rows = try history.statement(Self.sql)
        rows.bind(1, first)
        rows.bind(2, last)
        while try rows.step() {
            var record = OperationRecord(id: OperationID(rows.int(0)))
            do throws(StoreError) {
                try fill(&record, from: rows)
            } catch {
                rows.reset()
                throw error
            }
            records.append(record)
        }
        if readsDependencies { try readDependencies(from: first, to: last, &records[start...]) }
    }

    private static let sql = """
        SELECT o.id, o.name, o.queue, o.state, o.outcome, o.cause, o.details, o.priority, o.flags, o.attempt, o.run,
            o.frozen, o.parent, o.readyAt,
            -- The start of an earlier attempt, while the job of this one has not started.
            iif(o.state = 2 AND a.slot = \(AttemptWrite.externalSlot) AND a.launchedAt IS NULL, NULL, o.startedAt),
            o.finishedAt, o.notBefore, o.policy, o.categories,
            o.state = 2 AND EXISTS (SELECT 1 FROM ending WHERE operation = o.id), c.body,
            \(ownStatus("a.")), a.progressDone, a.progressTotal, a.status, a.result,
            a.exitedAt, a.userMicroseconds, a.systemMicroseconds, a.maxResidentBytes, o.note, a.job
        FROM operation o
        LEFT JOIN text c ON c.id = o.command
        -- Values of an earlier run are only in its attempts.
        LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt AND a.run = o.run
        WHERE o.id BETWEEN ?1 AND ?2 ORDER BY o.id
        """

    private mutating func fill(_ record: inout OperationRecord, from row: Statement) throws(StoreError) {
        readOperation(row, into: &record)
        if record.attempt > 0 { readAttempt(row, into: &record) }
        record.queue = try queue(row.int(2))
        record.details = try detail(row.int(6))
        if let policy = row.optionalInt(17) { record.policy = try self.policy(policy) }
        if let set = row.optionalInt(18) { record.categories = try categories(set) }
        if !record.categories.isEmpty, record.state == .executing || record.state == .finished {
            record.assigned = try AssignedUnits.read(
                history.statement(AssignedUnits.sql), of: record.id, record.attempt)
        }
        try fillSubmission(&record)
    }

    private func readOperation(_ row: Statement, into record: inout OperationRecord) {
        record.name = row.optionalText(1)
        record.state = OperationState(stored: row.int(3)) ?? .pending
        record.outcome = Outcome(stored: row.optionalInt(4))
        record.cause = row.optionalText(5)
        record.priority = Int8(truncatingIfNeeded: row.int(7))
        record.flags = Draft.Flags(stored: row.int(8))
        record.attempt = row.int32(9)
        record.run = row.int32(10)
        record.isFrozen = row.bool(11)
        record.group = row.optionalInt(12).map { OperationID($0) }
        record.readyAt = row.optionalTime(13)
        record.startedAt = row.optionalTime(14)
        record.finishedAt = row.optionalTime(15)
        record.notBefore = row.optionalTime(16)
        record.isCancelling = row.bool(19)
        record.command = row.optionalText(20)
        record.note = row.optionalText(31)
    }

    private func readAttempt(_ row: Statement, into record: inout OperationRecord) {
        record.exitCode = row.optionalInt32(21)
        record.signal = row.optionalInt32(22)
        record.progressDone = row.optionalInt(23)
        record.progressTotal = row.optionalInt(24)
        record.statusText = row.optionalText(25)
        record.result = row.optionalText(26)
        record.job = row.optionalText(32)
        if !row.isNull(27) { record.usage = History.usage(row, from: 28) }
    }

    // MARK: Shared rows

    private mutating func fillSubmission(_ record: inout OperationRecord) throws(StoreError) {
        let id = record.id.rawValue
        if submission?.ids.contains(id) != true { submission = try submission(of: id) }
        guard let submission else {
            throw StoreError(.corrupt, "operation \(id) belongs to no submission", file: history.database.path)
        }
        record.graph = submission.graph
        record.graphName = submission.graphName
        record.user = submission.user
        record.uid = submission.uid
        record.key = submission.key
        record.producer = submission.producer
        record.submittedAt = submission.at
    }

    private func submission(of id: Int64) throws(StoreError) -> SubmissionRow? {
        let row = try history.statement(
            """
            SELECT s.first, s.first + s.count - 1, s.graph, s.user, s.uid, s.key, s.producer, s.at,
                (SELECT name FROM submission WHERE graph = s.graph AND isNew)
            FROM submission s WHERE s.first = (SELECT max(first) FROM submission WHERE first <= ?1)
            """)
        row.bind(1, id)
        guard try row.step() else { return nil }
        defer { row.reset() }
        guard row.int(1) >= id else { return nil }
        return SubmissionRow(
            ids: row.int(0)...row.int(1), graph: GraphID(row.int(2)), graphName: row.optionalText(8), user: row.text(3),
            uid: UInt32(truncatingIfNeeded: row.int(4)), key: row.optionalText(5),
            producer: row.optionalInt(6).map { OperationID($0) }, at: row.time(7))
    }

    private mutating func queue(_ id: Int64) throws(StoreError) -> String {
        if let known = queues[id] { return known }
        let name = try history.text("SELECT name FROM queue WHERE id = ?1", id) ?? ""
        queues[id] = name
        return name
    }

    private mutating func detail(_ id: Int64) throws(StoreError) -> String {
        if let known = details[id] { return known }
        let text = try history.text("SELECT body FROM text WHERE id = ?1", id) ?? "{}"
        details[id] = text
        return text
    }

    private mutating func policy(_ id: Int64) throws(StoreError) -> Policy {
        if let known = policies[id] { return known }
        let policy = try history.policy(id)
        policies[id] = policy
        return policy
    }

    private mutating func categories(_ id: Int64) throws(StoreError) -> [CategoryUse] {
        if let known = categorySets[id] { return known }
        let uses = try history.categories(id)
        categorySets[id] = uses
        return uses
    }

    // MARK: Dependencies

    /// Reads the dependencies of records. Both are in the order of ids.
    private func readDependencies(
        from first: Int64, to last: Int64, _ records: inout ArraySlice<OperationRecord>
    ) throws(StoreError) {
        let rows = try history.statement(Self.dependencySQL)
        rows.bind(1, first)
        rows.bind(2, last)
        var position = records.startIndex
        while try rows.step() {
            let id = rows.int(6)
            while position < records.endIndex, records[position].id.rawValue < id { position += 1 }
            guard position < records.endIndex, records[position].id.rawValue == id else { continue }
            if let dependency = Self.dependency(rows) { records[position].dependencies.append(dependency) }
        }
    }

    static let dependencySQL = """
        SELECT e.dependency, e."when", d.state, d.outcome, d.startedAt, e.resolved, e.operation FROM edge e
        LEFT JOIN operation d ON d.id = e.dependency WHERE e.operation BETWEEN ?1 AND ?2 ORDER BY e.operation
        """

    static func dependency(_ rows: Statement) -> OperationRecord.Dependency? {
        guard let when = EdgeCondition(stored: rows.int(1)) else { return nil }
        return OperationRecord.Dependency(
            id: OperationID(rows.int(0)), when: when, isSatisfied: isSatisfied(when, rows))
    }

    private static func isSatisfied(_ when: EdgeCondition, _ rows: Statement) -> Bool {
        // The dependency was met before a retry reopened its operation.
        if rows.bool(5) { return true }
        // The operation was pruned, so it had finished, and no unfinished operation waited for it.
        guard let state = rows.optionalInt(2) else { return true }
        let outcome = Outcome(stored: rows.optionalInt(3))
        switch when {
        case .succeeded: return outcome == .succeeded
        case .finished: return state == OperationState.finished.stored
        case .failed: return outcome != nil && outcome != .succeeded
        case .started: return !rows.isNull(4)
        }
    }
}

/// Returns the columns of exit code and signal. A status that an operation has reported by itself (`X_OPS_FINISHED=3`)
/// replaces that of its process.
func ownStatus(_ prefix: String = "") -> String {
    """
    iif(\(prefix)causeKind = 19, \(prefix)causeNumber, \(prefix)exitCode),
    iif(\(prefix)causeKind = 19, NULL, \(prefix)signal)
    """
}
