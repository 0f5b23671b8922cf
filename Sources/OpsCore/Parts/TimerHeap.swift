/// The timers of one clock, soonest first.
struct TimerHeap: Sendable, Codable {
    enum Kind: UInt8, Sendable, Codable { case timeout, backoff, recheck, deadline, notBefore, aging }
    struct Entry: HeapEntry, Sendable {
        var at: Int64
        var id: Int64
        var kind: Kind

        static func < (a: Entry, b: Entry) -> Bool {
            if a.at != b.at { return a.at < b.at }
            return a.id != b.id ? a.id < b.id : a.kind.rawValue < b.kind.rawValue
        }
    }

    private var heap = Heap<Entry>()
    /// Number of stale entries. When they are more than half of all, they are swept out.
    private var stale = 0

    var entries: [Entry] { heap.entries }
    var first: Entry? { heap.first }
    var isSorted: Bool { heap.isSorted }

    mutating func add(_ entry: Entry) { heap.add(entry) }

    mutating func removeFirst() { heap.removeFirst() }

    /// Counts one entry as stale; returns true when it is time to `sweep`.
    mutating func markStale() -> Bool {
        stale += 1
        return stale > 64 && stale > heap.count / 2
    }

    mutating func sweep(keeping isLive: (Entry) -> Bool) {
        heap.sweep(keeping: isLive)
        stale = 0
    }
}
