public import OpsCore

extension History {
    /// Returns the facts that the core needs to retry these operations. Unfinished and unknown operations are left out.
    /// `owner`: the user whose operations `downstream` may reach; nil means every user.
    public func revival(
        of ids: [OperationID], downstream: Bool, of owner: UInt32? = nil
    ) throws(StoreError) -> Revival {
        var reader = RevivalReader(ids, downstream: downstream, of: owner)
        while true { if let revival = try reader.proceed(self) { return revival } }
    }
}

/// Reads a revival in steps.
public struct RevivalReader: Sendable {
    private var closure: RetryClosure
    private var indices = SharedIndices()
    private var revival = Revival()
    /// Reopened operations in the order of ids; nil while some are still unknown.
    private var sorted: [Int64]?
    private var count = 0
    /// Operations in one step.
    private static let step = 100

    public init(_ ids: [OperationID], downstream: Bool, of owner: UInt32? = nil) {
        closure = RetryClosure(ids, downstream: downstream, of: owner)
    }

    /// Bytes of the results so far.
    public var heldBytes: Int { closure.heldBytes + (sorted?.count ?? 0) * 8 + revival.heldBytes }

    /// Reads a part. Returns nil if there is more to read.
    public mutating func proceed(_ history: History) throws(StoreError) -> Revival? {
        guard let sorted else {
            for _ in 0..<Self.step {
                if try closure.step(history) { continue }
                self.sorted = closure.chosen.sorted()
                break
            }
            return nil
        }
        let next = sorted[count...].prefix(Self.step)
        try history.reviveRows(next, &indices, &revival)
        try history.reviveEdges(next, closure.chosen, &revival)
        count += next.count
        guard count == sorted.count else { return nil }
        try history.reviveChildren(closure.chosen, &revival)
        return revival
    }
}

extension Revival {
    /// Bytes of the operations and edges, which are by far the largest part.
    public var heldBytes: Int {
        operations.count * MemoryLayout<Snapshot.Row>.stride + edges.count * MemoryLayout<Snapshot.Edge>.stride
            + finished.count * 2 * (MemoryLayout<FinishedFact>.stride + 8)
    }

    /// The operations on whose state the revival depends.
    public var foundations: Set<OperationID> {
        var all = Set(operations.map(\.id))
        all.formUnion(edges.lazy.map(\.on))
        all.formUnion(operations.lazy.map(\.parent).filter { $0.rawValue != 0 })
        return all
    }
}

extension History {
    /// Returns true if any of these events is about one of the operations or a child of one.
    public func concern(_ events: [Report], _ operations: Set<OperationID>) throws(StoreError) -> Bool {
        let parent = try statement("SELECT parent FROM operation WHERE id = ?1 AND parent IS NOT NULL")
        for event in events {
            guard let id = event.operation else { continue }
            if operations.contains(id) { return true }
            parent.bind(1, id.rawValue)
            guard try parent.step() else { continue }
            defer { parent.reset() }
            if operations.contains(OperationID(parent.int(0))) { return true }
        }
        return false
    }

    /// Returns the number of the newest event.
    public func lastSequence() throws(StoreError) -> Int64 {
        let row = try statement(
            "SELECT max(lastSequence, ifnull((SELECT max(seq) FROM event), 0)) FROM meta")
        defer { row.reset() }
        return try row.step() ? row.int(0) : 0
    }

    fileprivate func reviveRows(
        _ ids: ArraySlice<Int64>, _ indices: inout SharedIndices, _ revival: inout Revival
    ) throws(StoreError) {
        let rows = try statement("SELECT \(OperationColumns.list) FROM operation WHERE id = ?1")
        let queueName = try statement("SELECT name FROM queue WHERE id = ?1")
        let submissions = try SubmissionCursor(database)
        let reader = try SharedReader(database)
        for id in ids {
            rows.bind(1, id)
            guard try rows.step() else { continue }
            defer { rows.reset() }
            guard var row = OperationColumns.read(rows), try submissions.advance(to: id) else {
                throw StoreError(.corrupt, "operation \(id) cannot be read", file: database.path)
            }
            row.graph = submissions.graph
            row.submittedAt = submissions.at
            row.user = submissions.user
            let queue = rows.int(OperationColumns.queue)
            if indices.queues[queue] == nil {
                queueName.bind(1, queue)
                if try queueName.step() {
                    indices.queues[queue] = Int32(revival.queues.count)
                    revival.queues.append(queueName.text(0))
                    queueName.reset()
                }
            }
            row.queue = indices.queues[queue] ?? 0
            if !rows.isNull(OperationColumns.policy) {
                row.policy = try reader.policy(rows.int(OperationColumns.policy), &indices, &revival.policies)
            }
            if !rows.isNull(OperationColumns.categories) {
                row.categories = try reader.categories(
                    rows.int(OperationColumns.categories), &indices, &revival.categorySets)
            }
            revival.operations.append(row)
        }
    }

    fileprivate func reviveEdges(
        _ ids: ArraySlice<Int64>, _ chosen: Set<Int64>, _ revival: inout Revival
    ) throws(StoreError) {
        for id in ids {
            for edge in try edges(from: OperationID(id), to: OperationID(id)) {
                if !chosen.contains(edge.on.rawValue), revival.finished[edge.on] == nil {
                    let facts = try finishedFacts([edge.on])
                    // An operation that is neither unfinished nor finished was pruned: nothing waits for it.
                    if facts.isEmpty, try !exists(edge.on) { continue }
                    revival.finished.merge(facts) { $1 }
                }
                revival.edges.append(edge)
            }
        }
    }

    /// Counts the children that stay finished below each parent that is reopened or unfinished.
    fileprivate func reviveChildren(_ chosen: Set<Int64>, _ revival: inout Revival) throws(StoreError) {
        var parents = chosen
        for row in revival.operations where row.parent.rawValue != 0 { parents.insert(row.parent.rawValue) }
        let children = try statement(
            """
            SELECT id FROM operation WHERE parent = ?1 AND parent IS NOT NULL AND state = 3 AND outcome NOT IN (0, 6)
            ORDER BY finishedAt, id
            """)
        for parent in parents.sorted() {
            children.bind(1, parent)
            var ended = Snapshot.EndedChildren(
                parent: OperationID(parent), unsuccessful: 0, firstUnsuccessful: OperationID(0))
            while try children.step() {
                if chosen.contains(children.int(0)) { continue }
                if ended.unsuccessful == 0 { ended.firstUnsuccessful = OperationID(children.int(0)) }
                ended.unsuccessful += 1
            }
            // An unfinished parent needs to know if no child is unsuccessful any more.
            if ended.unsuccessful > 0 || !chosen.contains(parent) { revival.endedChildren.append(ended) }
        }
    }

    private func exists(_ id: OperationID) throws(StoreError) -> Bool {
        let row = try statement("SELECT 1 FROM operation WHERE id = ?1")
        row.bind(1, id.rawValue)
        defer { row.reset() }
        return try row.step()
    }
}
