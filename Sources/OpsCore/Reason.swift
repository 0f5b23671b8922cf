/// One thing that an unfinished operation waits for; all that are named exist.
public struct Reason: Equatable, Sendable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case dependency, category, queue, pool, suspended, held, notBefore, backoff, condition, barrier, group, storage
    }
    public var kind: Kind
    /// Whom it waits for: of more than `Limits.named` the first.
    public var ids: [OperationID]
    /// How many they are.
    public var count: Int
    public var detail: Detail
    public enum Detail: Equatable, Sendable {
        case dependency(When)
        /// `wanted` of `capacity`, `place` in line (1 is next).
        case category(name: String, wanted: CategoryUse, capacity: Int32, position: Int)
        /// Its place is kept for the operation in `ids`, which was overtaken often enough.
        case reserved(category: String)
        /// The operations in `ids` go first: it, or what is below it, waits for them, and they want what it would hold.
        case yields(category: String)
        /// The operations in `ids` wait for one another because of what they take of a category.
        case deadlocked(category: String)
        case queue(name: String, limit: Int32, position: Int)
        case pool(workers: Int32, position: Int)
        case suspended(Level)
        case held
        case instant(Int64)
        /// Evaluating now, or false and to be asked again then.
        case condition(index: Int32, again: Int64?)
        case barrier
        /// The group that has not started, or whose limit is reached.
        case groupNotStarted
        case groupLimit(Int32, position: Int)
        /// Executing: what an executing operation waits for (its process, children, `finish`, the runner).
        case process
        /// It was told to end, and its processes are not gone yet.
        case ending
        case children
        case finishMessage
        case runner
    }
    public init(kind: Kind, ids: [OperationID] = [], detail: Detail) {
        self.kind = kind
        self.ids = Array(ids.prefix(Limits.named))
        count = ids.count
        self.detail = detail
    }
}
