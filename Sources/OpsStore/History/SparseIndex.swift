internal import OpsCore

/// Indexes that hold all operations of a selection, and few others.
///
/// A cursor finds the next selected operation there, without examining a million others before it.
enum SparseIndex: Hashable, Sendable {
    case unfinished(OperationState)
    case unsuccessful(Outcome)

    /// Returns the indexes for a selection; nil if it may contain operations that are in none.
    static func all(for selection: Selection) -> Set<SparseIndex>? {
        if let state = selection.state { return state == .finished ? outcomes(of: selection) : [.unfinished(state)] }
        if !selection.standings.isEmpty {
            var indexes: Set<SparseIndex> = []
            for standing in selection.standings {
                if case .outcome(let outcome) = standing {
                    guard let index = SparseIndex(outcome) else { return outcomes(of: selection) }
                    indexes.insert(index)
                } else {
                    if standing.states.contains(.finished) { return outcomes(of: selection) }
                    indexes.formUnion(standing.states.map { .unfinished($0) })
                }
            }
            return indexes
        }
        return outcomes(of: selection)
    }

    private static func outcomes(of selection: Selection) -> Set<SparseIndex>? {
        let outcomes = selection.outcome.map { [$0] } ?? selection.outcomes
        let indexes = outcomes.compactMap { SparseIndex($0) }
        return indexes.isEmpty || indexes.count < outcomes.count ? nil : Set(indexes)
    }

    private init?(_ outcome: Outcome) {
        switch outcome {
        case .failed, .timedOut, .interrupted: self = .unsuccessful(outcome)
        case .succeeded, .cancelled, .skipped, .notNeeded: return nil
        }
    }

    /// Query of the next operation in the index from ?1 on. SQLite must see that the condition of the partial index holds:
    /// an outcome is one of its terms, but a state needs it word for word.
    func sql(_ order: SelectionCursor.Order) -> String {
        let index: String
        switch self {
        case .unfinished(let state): index = "operationUnfinished WHERE state = \(state.stored) AND state < 3"
        case .unsuccessful(let outcome): index = "operationUnsuccessful WHERE outcome = \(outcome.stored)"
        }
        let end = order == .oldestFirst ? "id >= ?1 ORDER BY id" : "id <= ?1 ORDER BY id DESC"
        return "SELECT id FROM operation INDEXED BY \(index) AND \(end) LIMIT 1"
    }
}

extension History {
    /// Returns the next operation that is in one of the indexes, from `id` on; `nil`: there is none.
    func next(in indexes: Set<SparseIndex>, _ order: SelectionCursor.Order, from id: Int64) throws(StoreError) -> Int64?
    {
        var found: Int64?
        for index in indexes {
            let row = try statement(index.sql(order))
            row.bind(1, id)
            defer { row.reset() }
            guard try row.step() else { continue }
            let next = row.int(0)
            found = order == .oldestFirst ? min(found ?? next, next) : max(found ?? next, next)
        }
        return found
    }
}
