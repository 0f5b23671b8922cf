/// Lanes by the key of their first member, best first. Only the newest entry of a lane is valid; older ones are
/// ignored, and swept out once most entries are old.
typealias LaneHeap = Heap<LaneEntry>

struct LaneEntry: HeapEntry {
    var key: UInt64
    var lane: LaneIndex
    var stamp: UInt32

    static func < (a: LaneEntry, b: LaneEntry) -> Bool { a.key < b.key }
}

/// Lanes that wait for one resource. Those that need no slot (groups, operations of other executors) wait apart: they start
/// when the pool is full, past lanes that would be next.
struct ParkedLanes: Codable {
    private var processes = LaneHeap()
    private var slotless = LaneHeap()

    subscript(needsSlot needsSlot: Bool) -> LaneHeap {
        get { needsSlot ? processes : slotless }
        _modify { if needsSlot { yield &processes } else { yield &slotless } }
    }
}

extension LaneHeap {
    /// Forgets entries that no longer count once there are more than twice `live`.
    mutating func sweep(live: Int, keeping counts: (LaneEntry) -> Bool) {
        guard count > 64, count > 2 * live else { return }
        sweep(keeping: counts)
    }
}
