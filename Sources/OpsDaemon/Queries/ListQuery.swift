internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The next rows of a list.
struct ListQuery: Query {
    struct Answer: Sendable {
        var rows: [OperationRow]
        /// From where the list goes on.
        var cursor: SelectionCursor?
        var isLast: Bool
    }

    private var cursor: SelectionCursor?
    private var ids: [OperationID]
    private let count: Int
    private let isReversed: Bool
    private let rows: OperationRows

    /// `isReversed`: what the cursor finds is told the other way round.
    init(_ cursor: SelectionCursor, count: Int, isReversed: Bool = false, rows: OperationRows) {
        self.cursor = cursor
        self.count = count
        self.isReversed = isReversed
        self.rows = rows
        ids = []
    }

    /// Of operations that were found before.
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
        return Answer(
            rows: try rows.rows(isReversed ? ids.reversed() : ids, history), cursor: cursor,
            isLast: cursor?.isAtEnd ?? true)
    }
}

/// The ids of a selection, in the order of its cursor.
struct SelectionQuery: Query {
    private var cursor: SelectionCursor
    private let limit: Int
    private var ids: [OperationID] = []

    init(_ cursor: SelectionCursor, limit: Int = .max) {
        self.cursor = cursor
        self.limit = limit
    }

    mutating func proceed(_ history: History) throws -> [OperationID]? {
        if ids.count < limit, !cursor.isAtEnd { ids += try cursor.next(history, limit: limit - ids.count) }
        return ids.count < limit && !cursor.isAtEnd ? nil : ids
    }
}
