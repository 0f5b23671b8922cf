internal import OpsCore
internal import OpsStore

/// A query that may read much of the database. It is answered in small steps, in the loop or outside it.
protocol Query: Sendable {
    associatedtype Answer: Sendable

    /// Reads for about a millisecond. Returns nil if there is more to read.
    mutating func proceed(_ history: History) throws -> Answer?

    /// Bytes of the results so far, with which the budget of the user is charged; about 0 if they are bounded.
    var heldBytes: Int { get }
}

extension Query {
    var heldBytes: Int { 0 }
}

/// A query that is answered in one step. It reads a bounded amount, or one that grows with a single operation.
struct SingleStep<Answer: Sendable>: Query {
    let read: @Sendable (History) throws -> Answer

    init(_ read: @escaping @Sendable (History) throws -> Answer) { self.read = read }

    func proceed(_ history: History) throws -> Answer? { try read(history) }
}

/// Time limits of one query.
struct QueryLimits: Sendable {
    /// Maximum length of one slice, after which queries of other users have their turn.
    var slice = TimeSpan.milliseconds(10)
    /// Maximum time of a query in all; a longer one is refused.
    var total = TimeSpan.seconds(10)
    /// Maximum time of all queries in one turn of the loop; further ones are answered outside it.
    var inLoop = TimeSpan.milliseconds(4)
}

/// A query took longer than its limit.
struct QueryTooLong: Error {
    let limit: TimeSpan

    var message: String {
        "this query takes more than \(limit.seconds) s; name fewer operations: a graph, a state, a range of ids"
    }
}
