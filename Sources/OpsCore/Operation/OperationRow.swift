/// The state of an unfinished operation. State that few operations have is kept in tables beside this one.
struct OperationRow: Codable {
    /// Order of operations of equal priority: the id in the lower 40 bits; above them the estimated path, negated so
    /// that a longer one gives a lower number. Without an estimate it is the id, so an estimate never overtakes others.
    private var rank: UInt64
    var origin: OperationOrigin
    /// Instant at which it became ready. Ageing counts from it.
    var readyAt = WallInstant.zero
    /// The group or producer around it.
    @Packed var parent: OperationIndex? = nil
    /// Its `Group`; nil for an operation that has no children and is no group.
    @Packed var group: GroupIndex? = nil
    var queue: QueueIndex
    @Packed var categories: CategorySetIndex?
    /// Nil: `Policy()`.
    @Packed var policy: PolicyIndex?
    /// Heads of its lists of edges: those that wait for it, and those that it waits for.
    @Packed var firstDependent: EdgeIndex? = nil
    @Packed var firstDependency: EdgeIndex? = nil
    /// Number of reasons to be pending: unmet edges, its group's start, a barrier.
    var waiting: Int32 = 0
    /// One of `lane`, `execution` and `finished`, by its state.
    @Packed private var link: Link? = nil
    /// Attempts so far, over all runs.
    var attempt: Int32 = 0
    var traits: Traits
    var priority: Int8
    var effective: Int8
    var state: OperationState = .pending
    /// Number of starts that have overtaken it while it waited for categories alone.
    var overtaken: UInt8 = 0

    private struct Link: Handle { let rawValue: Int32 }

    init(
        id: Int64, origin: OperationOrigin, parent: OperationIndex?, queue: QueueIndex, categories: CategorySetIndex?,
        policy: PolicyIndex?, traits: Traits, priority: Int8, path: EstimatedPath? = nil
    ) {
        rank = Self.rank(id: id, path: path)
        self.origin = origin
        self.queue = queue
        self.traits = traits
        self.priority = priority
        effective = priority
        _categories = Packed(wrappedValue: categories)
        _policy = Packed(wrappedValue: policy)
        self.parent = parent
    }

    /// Highest id that a row can have.
    static let lastID: Int64 = 1 << idBits - 1
    private static let idBits: UInt64 = 40

    private static func rank(id: Int64, path: EstimatedPath?) -> UInt64 {
        UInt64(0 &- (path?.code ?? 0)) << idBits | UInt64(id)
    }

    var id: Int64 {
        get { Int64(rank & UInt64(Self.lastID)) }
        set { rank = rank & ~UInt64(Self.lastID) | UInt64(newValue) }
    }

    /// Nil: it starts in the order of submission.
    var path: EstimatedPath? {
        let code = 0 &- UInt16(rank >> Self.idBits)
        return code == 0 ? nil : EstimatedPath(code: code)
    }

    /// Sorts as operations start: highest effective priority first, then those without an estimate, then the longest
    /// estimated path; the lowest id among equals.
    var key: UInt64 { Self.firstKey(effective: effective) | rank }

    /// Returns the key before those of all operations of an effective priority.
    static func firstKey(effective: Int8) -> UInt64 { UInt64(127 - Int64(effective)) << 56 }

    static func id(ofKey key: UInt64) -> OperationID { OperationID(Int64(key & UInt64(lastID))) }
    static func effective(ofKey key: UInt64) -> Int8 { Int8(127 - Int64(key >> 56)) }

    /// Its lane while it is eligible.
    var lane: LaneIndex? { state == .ready ? link(as: LaneIndex.self) : nil }
    /// Its execution while it executes.
    var execution: ExecutionIndex? { state == .executing ? link(as: ExecutionIndex.self) : nil }
    /// Its end, in the turn in which it has finished.
    var finished: FinishedIndex? { state == .finished ? link(as: FinishedIndex.self) : nil }
    var isLinked: Bool { link != nil }

    mutating func link(to lane: LaneIndex) { link = Link(rawValue: lane.rawValue) }
    mutating func link(to execution: ExecutionIndex) { link = Link(rawValue: execution.rawValue) }
    mutating func link(to finished: FinishedIndex) { link = Link(rawValue: finished.rawValue) }
    mutating func unlink() { link = nil }

    private func link<Index: Handle>(as: Index.Type) -> Index? { link.map { Index(rawValue: $0.rawValue) } }

    var graph: Int64 { origin.graph }
    var partition: PartitionIndex? { origin.partition }
    var isGroup: Bool { traits.contains(.group) }
    var operationID: OperationID { OperationID(id) }
}

/// Single-bit facts about an operation.
struct Traits: OptionSet, Codable {
    let rawValue: UInt32
    init(rawValue: UInt32) { self.rawValue = rawValue }
    private init(bit: UInt32) { rawValue = 1 << bit }

    static let group = Traits(bit: 0)
    static let barrier = Traits(bit: 1)
    static let held = Traits(bit: 2)
    static let provided = Traits(bit: 3)
    static let graphSuspended = Traits(bit: 4)
    /// Its `notBefore` is in the future.
    static let delayed = Traits(bit: 5)
    static let backingOff = Traits(bit: 6)
    static let hasConditions = Traits(bit: 7)
    /// Counted in `waiting`: a barrier before it, operations before a barrier, the start of its group.
    static let behindBarrier = Traits(bit: 8)
    static let gathering = Traits(bit: 9)
    static let groupNotStarted = Traits(bit: 10)
    /// Its finish is decided, and is recorded before the present event is handled completely.
    static let finishPending = Traits(bit: 11)
    /// It has started in this run.
    static let hasStarted = Traits(bit: 12)
    /// Some edge waits for its start.
    static let startIsAwaited = Traits(bit: 13)
    /// The position of the operation in its categories is reserved: it was overtaken as often as is allowed.
    static let reserving = Traits(bit: 14)
    /// Scratch for walks that must not visit twice; clear outside of them.
    static let visited = Traits(bit: 15)
    /// Its effective priority may be too high; it is recounted before anything starts.
    static let priorityInvalid = Traits(bit: 16)
    static let frozenItself = Traits(bit: 17)
    static let frozenByQueue = Traits(bit: 18)
    static let frozenByGraph = Traits(bit: 19)
    static let frozenByDaemon = Traits(bit: 20)
    /// It is in a later run or has had attempts: see `runs`.
    static let hasRun = Traits(bit: 21)
    static let hasObservers = Traits(bit: 22)

    /// Its launch is staged: the runner may start it at any moment.
    static let staged = Traits(bit: 23)

    /// An executor other than the runner runs it.
    static let external = Traits(bit: 24)

    /// A group or a producer around it is held: nothing below that starts.
    static let groupHeld = Traits(bit: 25)

    static let frozen: Traits = [.frozenItself, .frozenByQueue, .frozenByGraph, .frozenByDaemon]
    /// Any of these keeps a ready operation out of the lanes.
    static let ineligible: Traits = [
        .held, .groupHeld, .graphSuspended, .delayed, .backingOff, .finishPending, .staged,
    ]
}

extension Traits {
    /// The traits that follow from a policy.
    init(_ policy: Policy) {
        self = []
        if !policy.conditions.isEmpty { insert(.hasConditions) }
        if !policy.observers.isEmpty { insert(.hasObservers) }
        if policy.executor != nil { insert(.external) }
    }
}
