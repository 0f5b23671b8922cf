/// A read-only view of the waits between operations: as they are, or as a request would leave them.
///
/// A view shares the registry's storage. Only the rows, edges, children and barriers that the proposed request touches are
/// copied: no more than the request itself would write.
struct WaitView {
    let registry: Registry
    private(set) var rows: ProposedRows
    private var barriers: BarrierBook
    /// Proposed edges, by the operation that waits.
    private var dependencies: [OperationIndex: [WaitNode]] = [:]
    /// Proposed children of operations.
    private var children: [OperationIndex: [OperationIndex]] = [:]
    private var newPartitions: [Partition.Key: PartitionIndex] = [:]
    /// First id of a proposed submission.
    var firstSubmitted: OperationID?
    /// An operation that is supposed to have just started.
    var started: OperationIndex?
    /// A supposed edge: `from` waits for `node` too.
    var edge: (from: OperationIndex, node: WaitNode)?

    init(_ registry: Registry) {
        self.registry = registry
        rows = ProposedRows(registry.table)
        barriers = registry.barriers
    }

    // MARK: Reading

    func waits(of node: WaitNode) -> [WaitNode] {
        let operation = node.operation
        guard rows.isChanged(operation) || children[operation] != nil else { return registry.waits(of: node) }
        let row = rows[operation]
        var result: [WaitNode] = []
        if node.isEnd {
            if row.state != .executing { result.append(.start(operation)) }
            for child in unfinishedChildren(of: operation) { result.append(.end(child)) }
            return result
        }
        guard row.state != .executing else { return [] }
        let graph = registry.graph
        for edge in graph.dependencies(of: row) {
            if let on = graph[edge].on { result.append(graph[edge].when.node(of: on)) }
        }
        result += dependencies[operation] ?? []
        if let parent = row.parent, rows[parent].state != .executing { result.append(.start(parent)) }
        return result + barriers.waits(of: operation, in: rows).map { .end($0) }
    }

    private func unfinishedChildren(of operation: OperationIndex) -> [OperationIndex] {
        let present = rows[operation].group.map { registry.groups[$0].children.map { OperationID($0) } } ?? []
        return present.compactMap { registry.unfinished($0) } + (children[operation] ?? [])
    }

    /// Returns whether an operation holds, or once started will hold, its categories until its children have finished.
    func holdsUntilChildrenFinish(_ operation: OperationIndex) -> Bool {
        let row = rows[operation]
        guard row.categories != nil, row.state != .finished else { return false }
        if row.isGroup || children[operation] != nil { return true }
        return row.group.map { registry.groups[$0].unfinished > 0 } ?? false
    }

    func needs(of operation: OperationIndex) -> [Need] { registry.categories.needs(of: rows[operation].categories) }

    /// Returns the needs of an operation with each category that a group above it holds replaced by that group's share.
    func resolvedNeeds(of operation: OperationIndex) -> [Need] {
        registry.resolve(needs(of: operation), under: rows[operation].parent, in: rows)
    }

    /// Returns the operations with children that hold a category, those included that the proposed request gives their
    /// first child.
    func holders(of category: CategoryIndex) -> [OperationIndex] {
        var result = registry.categories[category].longHolders
        for parent in children.keys where !rows.isProposed(parent) && rows[parent].group == nil {
            guard let execution = rows[parent].execution, !result.contains(parent) else { continue }
            if registry.executions[execution].holding.contains(where: { $0.category == category }) {
                result.append(parent)
            }
        }
        return result
    }

    // MARK: Proposing

    /// Adds an operation after its parent.
    mutating func add(_ row: OperationRow) -> OperationIndex {
        let operation = rows.add(row)
        if let parent = row.parent { children[parent, default: []].append(operation) }
        return operation
    }

    /// Adds an edge, unless it is met already.
    mutating func addEdge(from: OperationIndex, on: OperationIndex, when: EdgeCondition) {
        if when == .started, rows[on].traits.contains(.hasStarted) { return }
        dependencies[from, default: []].append(when.node(of: on))
        rows.change(from) { _ in }
    }

    /// Puts proposed operations, the latest of all, behind the barriers before them.
    mutating func joinBarriers(_ operations: [OperationIndex]) {
        guard
            operations.contains(where: {
                rows[$0].traits.contains(.barrier) || barriers.hasBarriers(in: rows[$0].queue)
            })
        else { return }
        for operation in operations {
            let traits = barriers.join(operation, in: rows)
            rows.change(operation) { $0.traits.formUnion(traits) }
        }
    }

    /// Counts the barriers of these queues again.
    mutating func rebuildBarriers(of queues: Set<QueueIndex>) {
        for queue in queues.sorted() {
            for standing in barriers.rebuild(queue, in: rows, registry.partitions) {
                rows.change(standing.operation) {
                    $0.traits.subtract([.behindBarrier, .gathering])
                    if standing.isBehind { $0.traits.insert(.behindBarrier) }
                    if standing.isGathering { $0.traits.insert(.gathering) }
                }
            }
        }
    }

    func hasBarriers(in queue: QueueIndex) -> Bool { barriers.hasBarriers(in: queue) }

    mutating func setCategories(_ set: CategorySetIndex?, of operation: OperationIndex) {
        rows.change(operation) { $0.categories = set }
    }

    mutating func move(_ operation: OperationIndex, to queue: QueueIndex) {
        let user = rows[operation].partition.map { registry.partitions[$0].key.user }
        let partition = user.map { self.partition(in: queue, of: $0) }
        rows.change(operation) {
            $0.queue = queue
            $0.origin.partition = partition
        }
    }

    /// Returns the partition of an ordinary user in a queue, a proposed one where there is none.
    mutating func partition(in queue: QueueIndex, of user: UInt32) -> PartitionIndex {
        let key = Partition.Key(queue: queue, user: user)
        if let known = registry.partitions.find(queue, user) ?? newPartitions[key] { return known }
        let new = PartitionIndex(rawValue: Int32(registry.partitions.pool.elements.count + newPartitions.count))
        newPartitions[key] = new
        return new
    }
}

/// The rows of the table with the changes of a proposed request laid over them.
struct ProposedRows: OperationRows {
    private let table: OperationTable
    private var changed: [OperationIndex: OperationRow] = [:]
    private var added: [OperationIndex] = []
    private var ids: [Int64: OperationIndex] = [:]

    init(_ table: OperationTable) { self.table = table }

    subscript(operation: OperationIndex) -> OperationRow {
        changed.isEmpty ? table[operation] : changed[operation] ?? table[operation]
    }

    var indices: [OperationIndex] { Array(table.indices) + added }
    var count: Int { table.count + added.count }

    func index(of id: OperationID) -> OperationIndex? { table.index(of: id) ?? ids[id.rawValue] }

    func isChanged(_ operation: OperationIndex) -> Bool { !changed.isEmpty && changed[operation] != nil }
    func isProposed(_ operation: OperationIndex) -> Bool { operation.offset >= table.rows.count }
    func index(ofProposed offset: Int) -> OperationIndex { OperationIndex(rawValue: Int32(table.rows.count + offset)) }

    mutating func add(_ row: OperationRow) -> OperationIndex {
        let operation = index(ofProposed: added.count)
        changed[operation] = row
        added.append(operation)
        ids[row.id] = operation
        return operation
    }

    mutating func change(_ operation: OperationIndex, _ body: (inout OperationRow) -> Void) {
        var row = self[operation]
        body(&row)
        changed[operation] = row
    }
}
