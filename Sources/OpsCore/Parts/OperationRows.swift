/// Rows of unfinished operations: those of the table, or as a proposed request would change them.
protocol OperationRows {
    associatedtype Indices: Sequence<OperationIndex>
    subscript(operation: OperationIndex) -> OperationRow { get }
    var indices: Indices { get }
    /// Number of rows.
    var count: Int { get }
    func index(of id: OperationID) -> OperationIndex?
}

extension OperationRows {
    /// Returns the groups and producers around an operation, the nearest first.
    func enclosing(_ operation: OperationIndex) -> UnfoldSequence<OperationIndex, OperationIndex?> {
        sequence(state: self[operation].parent) { upcoming in
            guard let present = upcoming else { return nil }
            upcoming = self[present].parent
            return present
        }
    }

    func isAncestor(_ ancestor: OperationIndex, of operation: OperationIndex) -> Bool {
        var upcoming = self[operation].parent
        while let present = upcoming {
            if present == ancestor { return true }
            upcoming = self[present].parent
        }
        return false
    }

    func unfinished(_ id: OperationID) -> OperationIndex? {
        guard let operation = index(of: id), self[operation].state != .finished else { return nil }
        return operation
    }
}

extension OperationTable: OperationRows {}
