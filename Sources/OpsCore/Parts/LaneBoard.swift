/// All lanes, and which of them are to be considered next.
///
/// A lane with members is a candidate, or parked at the resource that blocks it, or in the list of lanes that a rule
/// blocks. Entries in heaps are not removed when a lane changes: only the one with its newest stamp is valid.
struct LaneBoard: Codable {
    private var pool = Pool<Lane, LaneIndex>()
    private var known: [Lane.Key: LaneIndex] = [:]
    private var stamps: UInt32 = 0
    private var candidates = LaneHeap()
    /// Candidates that need no slot: groups, and operations of other executors.
    private var slotlessCandidates = LaneHeap()
    private var blocked: [LaneEntry] = []
    /// Lanes of processes in fair queues.
    private var ofFairQueues: [QueueIndex: Set<LaneIndex>] = [:]

    subscript(lane: LaneIndex) -> Lane {
        @inline(__always) _read { yield pool[lane] }
        @inline(__always) _modify { yield &pool[lane] }
    }

    var count: Int { pool.count }
    var indices: some Sequence<LaneIndex> { pool.indices }
    func contains(_ lane: LaneIndex) -> Bool { pool.contains(lane) }
    func find(_ key: Lane.Key) -> LaneIndex? { known[key] }

    mutating func add(_ lane: Lane) -> LaneIndex {
        let index = pool.insert(lane)
        known[lane.key] = index
        if lane.key.account != nil { ofFairQueues[lane.key.queue, default: []].insert(index) }
        return index
    }

    mutating func remove(_ lane: LaneIndex) {
        let key = pool[lane].key
        known[key] = nil
        if key.account != nil {
            ofFairQueues[key.queue]?.remove(lane)
            if ofFairQueues[key.queue]?.isEmpty == true { ofFairQueues[key.queue] = nil }
        }
        pool.remove(lane)
    }

    /// Lanes of processes in a fair queue, in no order.
    func ofFairQueue(_ queue: QueueIndex) -> Set<LaneIndex> { ofFairQueues[queue] ?? [] }

    // MARK: Entries in heaps

    /// Makes a new entry of a lane, which makes older ones invalid.
    mutating func newEntry(_ lane: LaneIndex) -> LaneEntry {
        stamps &+= 1
        pool[lane].stamp = stamps
        return LaneEntry(key: pool[lane].top, lane: lane, stamp: stamps)
    }

    /// Returns whether an entry is the newest of a lane that has members.
    func counts(_ entry: LaneEntry) -> Bool { Self.counts(entry, pool) }

    private static func counts(_ entry: LaneEntry, _ pool: Pool<Lane, LaneIndex>) -> Bool {
        pool.contains(entry.lane) && pool[entry.lane].stamp == entry.stamp && pool[entry.lane].live > 0
    }

    /// Adds an entry to a heap of lanes, and sweeps out invalid entries if they are many: those below a first entry
    /// that stays would accumulate.
    func add(_ entry: LaneEntry, to heap: inout LaneHeap) { Self.add(entry, to: &heap, pool) }

    private static func add(_ entry: LaneEntry, to heap: inout LaneHeap, _ pool: Pool<Lane, LaneIndex>) {
        heap.add(entry)
        heap.sweep(live: pool.count) { counts($0, pool) }
    }

    /// Removes and returns the best lane that is parked at `resource`.
    func popBest(from heap: inout LaneHeap, at resource: Resource) -> LaneIndex? {
        guard firstKey(of: &heap, at: resource) != nil, let first = heap.first else { return nil }
        heap.removeFirst()
        return first.lane
    }

    /// Returns the key of the best lane that is parked at `resource`, and drops the entries before it.
    func firstKey(of heap: inout LaneHeap, at resource: Resource) -> UInt64? {
        while let first = heap.first {
            let isCurrent = pool.contains(first.lane) && pool[first.lane].stamp == first.stamp
            guard isCurrent, pool[first.lane].status == .parked(resource) else {
                heap.removeFirst()
                continue
            }
            let top = pool[first.lane].top
            if top == first.key { return top }
            // Its first member has left since: the lane has its position by the next one.
            heap.removeFirst()
            heap.add(LaneEntry(key: top, lane: first.lane, stamp: first.stamp))
        }
        return nil
    }

    // MARK: Candidates

    mutating func makeCandidate(_ lane: LaneIndex) {
        pool[lane].status = .candidate
        let entry = newEntry(lane)
        if pool[lane].key.needsSlot {
            Self.add(entry, to: &candidates, pool)
        } else {
            Self.add(entry, to: &slotlessCandidates, pool)
        }
    }

    /// Returns the best candidate among lanes of processes.
    mutating func firstProcess() -> LaneEntry? {
        Self.dropStale(&candidates, pool)
        return candidates.first
    }

    mutating func removeFirstProcess() { candidates.removeFirst() }

    /// Returns whether there is a lane to consider: without a free slot, one that needs none.
    mutating func hasCandidate(hasFreeSlot: Bool) -> Bool {
        Self.dropStale(&candidates, pool)
        Self.dropStale(&slotlessCandidates, pool)
        return slotlessCandidates.first != nil || hasFreeSlot && candidates.first != nil
    }

    /// True if a lane of processes is a candidate, without dropping stale entries.
    var hasProcess: Bool { candidates.entries.contains(where: counts) }

    /// Removes and returns the best lane to consider.
    mutating func popCandidate(hasFreeSlot: Bool) -> LaneEntry? {
        guard hasCandidate(hasFreeSlot: hasFreeSlot) else { return nil }
        let process = hasFreeSlot ? candidates.first : nil
        if let slotless = slotlessCandidates.first, slotless.key < process?.key ?? .max {
            slotlessCandidates.removeFirst()
            return slotless
        }
        guard let process else { return nil }
        candidates.removeFirst()
        return process
    }

    /// Makes a lane the next one to consider, apart from the candidates.
    mutating func choose(_ lane: LaneIndex) -> LaneEntry {
        pool[lane].status = .candidate
        return newEntry(lane)
    }

    private static func dropStale(_ heap: inout LaneHeap, _ pool: Pool<Lane, LaneIndex>) {
        while let first = heap.first, !counts(first, pool) { heap.removeFirst() }
    }

    // MARK: Lanes that a rule blocks

    var hasBlocked: Bool { !blocked.isEmpty }

    /// Adds a lane to the list of blocked ones, which are reviewed after starts and ends.
    mutating func block(_ entry: LaneEntry) { blocked.append(entry) }

    /// Empties the list and returns the entries in it that count.
    mutating func popAllBlocked() -> [LaneEntry] {
        let all = blocked
        blocked = []
        return all.filter { counts($0) && pool[$0.lane].status.isBlocked }
    }

    /// Entries of lanes that a rule blocks.
    var blockedEntries: [LaneEntry] { blocked }

    func checkInvariants() -> [String] {
        var broken: [String] = []
        let fair = pool.indices.count { pool[$0].key.account != nil }
        if ofFairQueues.values.reduce(0, { $0 + $1.count }) != fair {
            broken.append("5: lanes of fair queues are lost")
        }
        for lane in pool.indices {
            let isFair = pool[lane].key.account != nil
            if isFair != ofFairQueue(pool[lane].key.queue).contains(lane) { broken.append("5: a lane is fair or not") }
            if pool[lane].live == 0, !pool[lane].key.isPlain { broken.append("5: lane \(lane.rawValue) stays empty") }
            if known[pool[lane].key] != lane { broken.append("5: lane \(lane.rawValue) is not found by its key") }
            if (pool[lane].live == 0) != (pool[lane].top == .max) {
                broken.append("5: lane \(lane.rawValue) of \(pool[lane].live) members has a first one, or none")
            }
            guard pool[lane].live > 0 else { continue }
            let heap = pool[lane].key.needsSlot ? candidates : slotlessCandidates
            let isThere = { (entry: LaneEntry) in entry.lane == lane && entry.stamp == pool[lane].stamp }
            if pool[lane].status == .candidate, !heap.entries.contains(where: isThere) {
                broken.append("5: lane \(lane.rawValue) is a candidate that nobody will consider")
            }
            if pool[lane].status.isBlocked, !blocked.contains(where: isThere) {
                broken.append("5: lane \(lane.rawValue) is blocked and will not be looked at again")
            }
        }
        return broken
    }
}

extension Lane.Status {
    /// True if a rule blocks the lane that has no queue of its own.
    var isBlocked: Bool { self == .parked(.reservations) || self == .parked(.yielding) }
}
