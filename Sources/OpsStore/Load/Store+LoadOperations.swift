internal import OpsCore

extension Store {
    func loadOperations(_ snapshot: inout Snapshot) throws(StoreError) {
        var indices = SharedIndices()
        try loadQueues(&snapshot, &indices)
        let count = try database.integer("SELECT count(*) FROM operation WHERE state < 3")
        // Operations are counted by their submissions, of which there are fewer.
        let all = try database.integer("SELECT ifnull(sum(count), 0) FROM submission")
        snapshot.operations.reserveCapacity(Int(count))
        // If most operations are unfinished, a scan of the table is faster than the index.
        let access = count * 4 > all ? "NOT INDEXED" : "INDEXED BY operationUnfinished"
        let rows = try database.prepare(
            "SELECT \(OperationColumns.list) FROM operation \(access) WHERE state < 3 ORDER BY id")
        let submissions = try SubmissionCursor(database)
        let reader = try SharedReader(database)
        while try rows.step() {
            guard var row = OperationColumns.read(rows) else {
                throw StoreError(.corrupt, "operation \(rows.int(0)) is in no state there is", file: path)
            }
            guard try submissions.advance(to: row.id.rawValue) else {
                throw StoreError(.corrupt, "operation \(row.id.rawValue) belongs to no submission", file: path)
            }
            row.graph = submissions.graph
            row.submittedAt = submissions.at
            row.user = submissions.user
            row.queue = indices.queues[rows.int(OperationColumns.queue)] ?? 0
            if !rows.isNull(OperationColumns.policy) {
                row.policy = try reader.policy(rows.int(OperationColumns.policy), &indices, &snapshot.policies)
            }
            if !rows.isNull(OperationColumns.categories) {
                row.categories = try reader.categories(
                    rows.int(OperationColumns.categories), &indices, &snapshot.categorySets)
            }
            snapshot.operations.append(row)
        }
        finishedWhenLoaded = Int(all) - snapshot.operations.count
    }

    private func loadQueues(_ snapshot: inout Snapshot, _ indices: inout SharedIndices) throws(StoreError) {
        snapshot.queues = []
        let queues = try database.prepare(
            "SELECT id, name, \"limit\", aging, suspended, executor, \"order\", fair FROM queue WHERE NOT removed ORDER BY id"
        )
        while try queues.step() {
            indices.queues[queues.int(0)] = Int32(snapshot.queues.count)
            snapshot.queues.append(
                Snapshot.Queue(
                    name: queues.text(1), limit: queues.optionalInt32(2), aging: queues.optionalTime(3),
                    isSuspended: queues.bool(4),
                    order: QueueOrder(rawValue: UInt8(truncatingIfNeeded: queues.int(6))) ?? .submission))
            snapshot.queues[snapshot.queues.count - 1].executor = queues.optionalText(5)
            snapshot.queues[snapshot.queues.count - 1].isFair = queues.bool(7)
        }
        let slotTimes = try database.prepare("SELECT queue, user, used, at FROM slotTime ORDER BY queue, user")
        while try slotTimes.step() {
            snapshot.slotTimes.append(
                Snapshot.SlotTime(
                    queue: slotTimes.text(0), user: UInt32(truncatingIfNeeded: slotTimes.int(1)),
                    used: slotTimes.time(2), at: slotTimes.time(3)))
        }
    }
}

/// The columns of `operation` that scheduling needs.
enum OperationColumns {
    static let list = """
        id, state, flags, priority, queue, categories, policy, parent, attempt, run, attemptsBefore, readyAt, notBefore,
        frozen, startedAt IS NOT NULL, path
        """
    static let queue: Int32 = 4
    static let categories: Int32 = 5
    static let policy: Int32 = 6

    /// Reads a row without its graph, submission instant and shared values. Returns nil for an invalid state.
    static func read(_ rows: Statement) -> Snapshot.Row? {
        guard let state = OperationState(stored: rows.int(1)) else { return nil }
        let attempt = rows.int32(8)
        return Snapshot.Row(
            id: OperationID(rows.int(0)), graph: GraphID(0), parent: OperationID(rows.int(7)),
            priority: Int8(truncatingIfNeeded: rows.int(3)), state: state, flags: Draft.Flags(stored: rows.int(2)),
            frozenBy: FreezingLevels(stored: rows.int(13)), attempt: attempt, run: rows.int32(9),
            attemptsInRun: attempt - rows.int32(10), hasStarted: rows.bool(14), readyAt: rows.time(11),
            notBefore: rows.time(12),
            path: rows.isNull(15) ? nil : EstimatedPath(milliseconds: rows.int(15)))
    }
}

/// Offsets of stored rows in the arrays of a snapshot.
struct SharedIndices: Sendable {
    var queues: [Int64: Int32] = [:]
    var policies: [Int64: Int32] = [:]
    var categorySets: [Int64: Int32] = [:]
}

/// Reads a shared value with the first operation that has it.
struct SharedReader {
    private let policies: Statement
    private let uses: Statement
    private let path: String

    init(_ database: Database) throws(StoreError) {
        path = database.path
        policies = try database.prepare(PolicyRow.select)
        uses = try database.prepare("SELECT name, mode, units FROM categoryUse WHERE categorySet = ?1 ORDER BY place")
    }

    func policy(_ id: Int64, _ indices: inout SharedIndices, _ all: inout [Policy]) throws(StoreError) -> Int32 {
        if let known = indices.policies[id] { return known }
        guard let policy = try policy(id) else {
            throw StoreError(.corrupt, "policy \(id) of an operation is missing", file: path)
        }
        indices.policies[id] = Int32(all.count)
        all.append(policy)
        return Int32(all.count - 1)
    }

    private func policy(_ id: Int64) throws(StoreError) -> Policy? {
        policies.bind(1, id)
        guard try policies.step() else { return nil }
        defer { policies.reset() }
        return PolicyRow.read(policies)
    }

    func categories(
        _ id: Int64, _ indices: inout SharedIndices, _ all: inout [[CategoryUse]]
    ) throws(StoreError) -> Int32 {
        if let known = indices.categorySets[id] { return known }
        let uses = try categories(id)
        // The empty set is not stored.
        if uses.isEmpty { throw StoreError(.corrupt, "category set \(id) of an operation is missing", file: path) }
        indices.categorySets[id] = Int32(all.count)
        all.append(uses)
        return Int32(all.count - 1)
    }

    private func categories(_ id: Int64) throws(StoreError) -> [CategoryUse] {
        uses.bind(1, id)
        var set: [CategoryUse] = []
        while try uses.step() {
            set.append(
                CategoryUse(
                    name: uses.text(0), mode: CategoryUse.Mode(stored: uses.int(1)) ?? .exclusive,
                    units: uses.int32(2)))
        }
        return set
    }
}

/// Steps through the submissions in parallel with their operations, both in the order of ids.
final class SubmissionCursor {
    private let rows: Statement
    private var first: Int64 = 0
    private var count: Int64 = 0
    private var isOpen = false
    private(set) var graph = GraphID(0)
    private(set) var at = WallInstant.zero
    private(set) var user: UInt32 = 0

    init(_ database: Database) throws(StoreError) {
        rows = try database.prepare(
            """
            SELECT first, count, graph, at, uid FROM submission
            WHERE first >= ifnull((SELECT max(first) FROM submission WHERE first <= ?1), 0) ORDER BY first
            """)
    }

    /// Advances to the submission of an operation. Returns false if it belongs to none.
    func advance(to id: Int64) throws(StoreError) -> Bool {
        // Long runs of finished operations are skipped.
        var patience = 32
        while id >= first + count {
            if !isOpen || patience == 0 {
                rows.reset()
                rows.bind(1, id)
                isOpen = true
                patience = 32
            }
            patience -= 1
            isOpen = try rows.step()
            guard isOpen else { return false }
            first = rows.int(0)
            count = rows.int(1)
            graph = GraphID(rows.int(2))
            at = rows.time(3)
            user = UInt32(truncatingIfNeeded: rows.int(4))
            if id < first { return false }
        }
        return id >= first
    }
}
