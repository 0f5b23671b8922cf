internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Reads the next rows of a list.
struct ListQuery: Query {
    struct Answer: Sendable {
        var rows: [OperationRow]
        /// Position at which the list continues.
        var cursor: SelectionCursor?
        var isLast: Bool
    }

    private var cursor: SelectionCursor?
    private var ids: [OperationID]
    private let count: Int
    private let isReversed: Bool
    private let rows: OperationRows
    private var made: [OperationRow] = []
    /// Number of ids whose rows are made.
    private var done = 0

    /// Operations whose rows are made in one step: they may have very many dependencies, and commands of some MiB.
    private static let step = 16

    var heldBytes: Int {
        made.reduce(ids.count * 8) {
            $0 + MemoryLayout<OperationRow>.stride + $1.dependencies.count * 2 * MemoryLayout<DependencyRow>.stride
                + $1.bytesOfCommand
        }
    }

    /// `isReversed`: the rows of the cursor are sent in reverse order.
    init(_ cursor: SelectionCursor, count: Int, isReversed: Bool = false, rows: OperationRows) {
        self.cursor = cursor
        self.count = count
        self.isReversed = isReversed
        self.rows = rows
        ids = []
    }

    /// Lists operations that were found before.
    init(_ ids: [OperationID], rows: OperationRows) {
        self.ids = ids
        count = ids.count
        isReversed = false
        self.rows = rows
    }

    mutating func proceed(_ history: History) throws -> Answer? {
        if ids.count < count, cursor?.isAtEnd == false {
            ids += try cursor?.next(history, limit: count - ids.count) ?? []
            if ids.count < count, cursor?.isAtEnd == false { return nil }
        }
        if isReversed, done == 0 { ids.reverse() }
        let next = ids[done...].prefix(Self.step)
        done += next.count
        made += try rows.rows(Array(next), history)
        return done == ids.count ? Answer(rows: made, cursor: cursor, isLast: cursor?.isAtEnd ?? true) : nil
    }
}

/// Reads the ids of a selection, in the order of its cursor.
struct SelectionQuery: Query {
    private var cursor: SelectionCursor
    private let limit: Int
    private var ids: [OperationID] = []

    var heldBytes: Int { ids.count * MemoryLayout<OperationID>.stride }

    init(_ cursor: SelectionCursor, limit: Int = .max) {
        self.cursor = cursor
        self.limit = limit
    }

    mutating func proceed(_ history: History) throws -> [OperationID]? {
        if ids.count < limit, !cursor.isAtEnd { ids += try cursor.next(history, limit: limit - ids.count) }
        return ids.count < limit && !cursor.isAtEnd ? nil : ids
    }
}
