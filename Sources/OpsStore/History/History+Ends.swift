public import OpsCore

/// Finish of an operation, as far as a waiting client needs it.
public struct OperationEnd: Equatable, Sendable {
    public let id: OperationID
    public let name: String?
    public let outcome: Outcome
    public let cause: String?
    public let exitCode: Int32?
    public let signal: Int32?
}

extension History {
    /// Returns the outcomes of the finished operations among the ids.
    public func outcomes(of ids: [OperationID]) throws(StoreError) -> [OperationID: Outcome] {
        let row = try statement("SELECT outcome FROM operation WHERE id = ?1")
        return try inOneRead { () throws(StoreError) in
            var outcomes: [OperationID: Outcome] = [:]
            for id in ids {
                row.bind(1, id.rawValue)
                guard try row.step() else { continue }
                outcomes[id] = Outcome(stored: row.optionalInt(0))
                row.reset()
            }
            return outcomes
        }
    }

    /// Returns the ends of the finished operations among the ids, in the order given.
    public func ends(of ids: [OperationID]) throws(StoreError) -> [OperationEnd] {
        let row = try statement(
            """
            SELECT o.name, o.outcome, o.cause, \(ownStatus("a.")) FROM operation o
            LEFT JOIN attempt a ON a.operation = o.id AND a.number = o.attempt AND a.run = o.run
            WHERE o.id = ?1
            """)
        var ends: [OperationEnd] = []
        ends.reserveCapacity(ids.count)
        try inOneRead { () throws(StoreError) in
            for id in ids {
                row.bind(1, id.rawValue)
                guard try row.step() else { continue }
                defer { row.reset() }
                guard let outcome = Outcome(stored: row.optionalInt(1)) else { continue }
                ends.append(
                    OperationEnd(
                        id: id, name: row.optionalText(0), outcome: outcome, cause: row.optionalText(2),
                        exitCode: row.optionalInt32(3), signal: row.optionalInt32(4)))
            }
        }
        return ends
    }
}
