/// Lanes by the key of their first member, best first. Only the newest entry of a lane is valid; older ones are
/// ignored, and swept out once most entries are old.
typealias LaneHeap = Heap<LaneEntry>

struct LaneEntry: HeapEntry {
    var key: UInt64
    var lane: LaneIndex
    var stamp: UInt32

    static func < (a: LaneEntry, b: LaneEntry) -> Bool { a.key < b.key }
}

extension LaneHeap {
    /// Forgets entries that no longer count once there are more than twice `live`.
    mutating func sweep(live: Int, keeping counts: (LaneEntry) -> Bool) {
        guard count > 64, count > 2 * live else { return }
        sweep(keeping: counts)
    }
}
