/// What the core keeps of every unfinished operation. Anything that few have lives in tables beside this one.
struct OperationRow {
    var id: Int64
    var graph: Int64
    /// Wall instant at which it became ready, what ageing counts from.
    var readyAt: Int64 = 0
    /// Place of the group or producer that holds it, or -1.
    var parent: Int32 = -1
    /// Place of its `Family`, or -1 for what has no children and is no group.
    var family: Int32 = -1
    var queue: Int32
    var categories: Int32
    var policy: Int32
    /// Heads of its lists of edges: those that wait for it, and those that it waits for.
    var firstDependent: Int32 = -1
    var firstDependency: Int32 = -1
    /// How many things keep it pending: unmet edges, its group's start, a barrier.
    var waiting: Int32 = 0
    /// Its lane while eligible, its `Execution` while executing, its `Ending` once finished; else -1.
    var place: Int32 = -1
    /// Attempts so far, over all runs.
    var attempt: Int32 = 0
    var traits: Traits
    var priority: Int8
    var effective: Int8
    var state: OperationState = .pending
    /// Starts that have passed it while only categories kept it back.
    var overtaken: UInt8 = 0

    /// Sorts as operations start: highest effective priority first, then the lowest id.
    var key: UInt64 { Self.key(effective: effective, id: id) }

    static func key(effective: Int8, id: Int64) -> UInt64 {
        UInt64(127 - Int64(effective)) << 56 | UInt64(id)
    }
    static func effective(ofKey key: UInt64) -> Int8 { Int8(127 - Int64(key >> 56)) }

    var isGroup: Bool { traits.contains(.group) }
    var operationID: OperationID { OperationID(id) }
}

/// Single-bit facts about an operation.
struct Traits: OptionSet {
    let rawValue: UInt32
    init(rawValue: UInt32) { self.rawValue = rawValue }
    private init(bit: UInt32) { rawValue = 1 << bit }

    static let group = Traits(bit: 0)
    static let barrier = Traits(bit: 1)
    static let held = Traits(bit: 2)
    static let provided = Traits(bit: 3)
    static let graphSuspended = Traits(bit: 4)
    /// Its `notBefore` lies ahead.
    static let delayed = Traits(bit: 5)
    static let backingOff = Traits(bit: 6)
    static let hasConditions = Traits(bit: 7)
    /// Counted in `waiting`: a barrier before it, what a barrier itself waits for, its group's start.
    static let behindBarrier = Traits(bit: 8)
    static let gathering = Traits(bit: 9)
    static let groupNotStarted = Traits(bit: 10)
    /// Its end is decided and comes in this very step.
    static let ending = Traits(bit: 11)
    /// It has started in this run.
    static let hasStarted = Traits(bit: 12)
    /// Some edge waits for its start.
    static let startIsAwaited = Traits(bit: 13)
    /// Its place is kept: it was overtaken as often as may be.
    static let reserving = Traits(bit: 14)
    /// Scratch for walks that must not visit twice; clear outside of them.
    static let visited = Traits(bit: 15)
    /// Its lower bound on priority may have fallen; looked at before anything starts.
    static let priorityInDoubt = Traits(bit: 16)
    static let frozenItself = Traits(bit: 17)
    static let frozenByQueue = Traits(bit: 18)
    static let frozenByGraph = Traits(bit: 19)
    static let frozenByDaemon = Traits(bit: 20)
    /// The store has given it a second life: run and attempts are in `lives`.
    static let hasLife = Traits(bit: 21)
    static let hasObservers = Traits(bit: 22)

    /// The runner may begin it at any moment.
    static let inHand = Traits(bit: 23)

    static let frozen: Traits = [.frozenItself, .frozenByQueue, .frozenByGraph, .frozenByDaemon]
    /// Any of these keeps a ready operation out of the lanes.
    static let ineligible: Traits = [.held, .graphSuspended, .delayed, .backingOff, .ending, .inHand]
}
