/// One reason why an unfinished operation waits. Every operation that it names exists.
public struct Reason: Equatable, Sendable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case dependency, category, queue, pool, suspended, held, notBefore, backoff, condition, barrier, group, storage,
            executor, rate
    }
    public var kind: Kind
    /// Operations that it waits for; the first ones of more than `Limits.named`.
    public var ids: [OperationID]
    /// Number of operations that it waits for.
    public var count: Int
    public var detail: Detail
    /// The estimate that decides the position in line among operations of equal priority.
    public var path: EstimatedPath?
    public enum Detail: Equatable, Sendable {
        case dependency(EdgeCondition)
        /// `wanted` of `capacity`, and the position in line (1 is next).
        case category(name: String, wanted: CategoryUse, capacity: Int32, position: Int)
        /// The position is reserved for the operation in `ids`, which was overtaken often enough.
        case reserved(category: String)
        /// The instant at which the rate permits the next start.
        case rate(category: String, Rate, next: WallInstant)
        /// The group yields to the operations in `ids`: it waits for them, and they need what it would hold.
        case yields(category: String)
        /// The operations in `ids` wait for one another because of a category.
        case deadlocked(category: String)
        case queue(name: String, limit: Int32, position: Int)
        case pool(workers: Int32, position: Int)
        case suspended(Level)
        case held
        /// Groups or producers around it, which have started, are held.
        case groupHeld
        case instant(WallInstant)
        /// A condition that is being evaluated, or that was false and is evaluated again at `again`.
        case condition(index: Int32, again: WallInstant?)
        /// Its conditions wait until an evaluation is free: at most `Limits.evaluationsAtOnce` run at once.
        case conditionsInLine
        case barrier
        /// The group that has not started, or whose limit is reached.
        case groupNotStarted
        case groupLimit(Int32, position: Int)
        /// An executing operation waits for its process; the cases after this one name other things that it may wait for.
        case process
        /// Its main process has ended, and processes that it has left behind have not.
        case leftovers
        /// Its processes are being ended and are not gone yet.
        case ending
        case children
        /// Its executor is not connected.
        case executorAway(name: String)
        /// Its executor has as many attempts in flight as its window allows.
        case executorWindow(name: String, window: Int32, position: Int)
        /// It waits for its job in the engine of its executor; nil: not submitted yet.
        case job(executor: String, id: String?, state: EngineState? = nil)
        /// Its job has started in the engine of its executor; nil: the executor names no jobs.
        case startedJob(executor: String, id: String?, state: EngineState? = nil)
        case finishMessage
        case runner
        /// The daemon is stopping and starts nothing.
        case stopping

        /// True if it contains a position in line.
        var hasPosition: Bool {
            switch self {
            case .category, .queue, .pool, .groupLimit, .executorWindow: true
            case .dependency, .reserved, .rate, .yields, .deadlocked, .suspended, .held, .groupHeld, .instant,
                .condition, .conditionsInLine, .barrier, .groupNotStarted, .process, .leftovers, .ending, .children,
                .executorAway, .job, .startedJob, .finishMessage, .runner, .stopping:
                false
            }
        }
    }
    public init(kind: Kind, ids: [OperationID] = [], detail: Detail) {
        self.kind = kind
        self.ids = Array(ids.prefix(Limits.named))
        count = ids.count
        self.detail = detail
    }
}
