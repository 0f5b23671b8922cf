/// All unfinished operations in one flat array; the rows of those that leave are used again.
struct OperationTable: Codable {
    private(set) var rows: [OperationRow] = []
    private var free: [OperationIndex] = []
    private var ids = IDTable()

    /// Number of operations.
    var count: Int { rows.count - free.count }

    /// Returns the row of an operation, or nil when the core does not hold it.
    func index(of id: OperationID) -> OperationIndex? { ids.index(of: id.rawValue) }

    subscript(operation: OperationIndex) -> OperationRow {
        // Not `_read`: a coroutine that the optimizer does not inline allocates its frame. A row holds no references.
        get { rows[operation.offset] }
        _modify { yield &rows[operation.offset] }
    }

    // Functions of the table, not of what contains it: a call on a large struct copies the struct. They read one field
    // before they look whether it is nil: `if let x = table[operation].x` keeps the access to the row open over the branch,
    // and then the optimizer copies the row.

    func parent(of operation: OperationIndex) -> OperationIndex? {
        let parent = rows[operation.offset].parent
        return parent
    }

    /// Returns the group of an operation that has children or is a group.
    func group(of operation: OperationIndex) -> GroupIndex? {
        let group = rows[operation.offset].group
        return group
    }

    func execution(of operation: OperationIndex) -> ExecutionIndex? {
        let execution = rows[operation.offset].execution
        return execution
    }

    func lane(of operation: OperationIndex) -> LaneIndex? {
        let lane = rows[operation.offset].lane
        return lane
    }

    func policy(of operation: OperationIndex) -> PolicyIndex? {
        let policy = rows[operation.offset].policy
        return policy
    }

    /// Grows by a quarter at a time: doubling would leave half of a large table unused.
    mutating func reserve(_ more: Int) {
        let needed = rows.count + max(0, more - free.count)
        if needed > rows.capacity { rows.reserveCapacity(max(needed, rows.count + rows.count / 4)) }
    }

    mutating func insert(_ row: OperationRow) -> OperationIndex {
        let index: OperationIndex
        if let reused = free.popLast() {
            rows[reused.offset] = row
            index = reused
        } else {
            if rows.count == rows.capacity { rows.reserveCapacity(max(64, rows.count + rows.count / 4)) }
            index = OperationIndex(rawValue: Int32(rows.count))
            rows.append(row)
        }
        ids.insert(row.id, at: index)
        return index
    }

    mutating func remove(_ operation: OperationIndex) {
        ids.remove(rows[operation.offset].id)
        rows[operation.offset].id = 0
        rows[operation.offset].unlink()
        free.append(operation)
        if free.count == rows.count {
            rows = []
            free = []
        }
    }

    /// Rows in use, in no particular order.
    var indices: some Sequence<OperationIndex> {
        rows.indices.lazy.filter { rows[$0].id != 0 }.map { OperationIndex(rawValue: Int32($0)) }
    }

    /// Rows in use in the order of their ids.
    var indicesByID: [OperationIndex] { indices.sorted { self[$0].id < self[$1].id } }

    /// Returns the groups and producers around an operation, the nearest first.
    func ancestors(of operation: OperationIndex) -> Ancestors {
        Ancestors(rows: rows, upcoming: self[operation].parent)
    }

    /// Returns an operation, and the groups and producers around it, the nearest first.
    func chain(from operation: OperationIndex) -> Ancestors { Ancestors(rows: rows, upcoming: operation) }

    struct Ancestors: Sequence, IteratorProtocol {
        fileprivate let rows: [OperationRow]
        fileprivate var upcoming: OperationIndex?

        mutating func next() -> OperationIndex? {
            guard let present = upcoming else { return nil }
            upcoming = rows[present.offset].parent
            return present
        }
    }
}
