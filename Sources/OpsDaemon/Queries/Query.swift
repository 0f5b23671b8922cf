internal import OpsCore
internal import OpsStore

/// A question for which much of the database may have to be read: answered a little at a time, in the loop or outside it.
protocol Query: Sendable {
    associatedtype Answer: Sendable

    /// Reads on, for about a millisecond; nil: there is more to read.
    mutating func proceed(_ history: History) throws -> Answer?

    /// Bytes of what was found so far, which its user's budget is charged with; about 0 where that is bounded.
    var heldBytes: Int { get }
}

extension Query {
    var heldBytes: Int { 0 }
}

/// A question that is answered in one step. What it reads is bounded, or grows with one operation alone.
struct SingleStep<Answer: Sendable>: Query {
    let read: @Sendable (History) throws -> Answer

    init(_ read: @escaping @Sendable (History) throws -> Answer) { self.read = read }

    func proceed(_ history: History) throws -> Answer? { try read(history) }
}

/// Time limits of one query, in nanoseconds.
struct QueryLimits: Sendable {
    /// Before queries of others have their turn.
    var slice: Int64 = 10_000_000
    /// All in all. What takes longer is refused.
    var total: Int64 = 10_000_000_000
    /// In one turn of the loop, for all queries together; beyond that they are answered outside it.
    var inLoop: Int64 = 4_000_000
}

/// A query had to be given up.
struct QueryTooLong: Error {
    let limit: Int64

    var message: String {
        "to find this out takes more than \(limit / 1_000_000_000) s; name fewer operations: a graph, a state, a range of ids"
    }
}
