/// The instants at which the scheduler looks at an operation again, on both clocks.
///
/// Entries are not removed when they become stale. A stale entry stays until it is first, or until most entries are
/// stale and are swept out.
struct Timers: Sendable, Codable {
    private var monotonic = TimerHeap()
    private var wall = TimerHeap()

    var isEmpty: Bool { monotonic.first == nil && wall.first == nil }

    /// The earliest instant of each clock.
    var next: Deadlines { Deadlines(monotonic: monotonic.first?.at, wall: wall.first?.at) }

    func isDue(at now: Moment) -> Bool {
        if let first = monotonic.first, first.at <= now.monotonic { return true }
        if let first = wall.first, first.at <= now.wall { return true }
        return false
    }

    /// Sets a timer, on the clock of its kind.
    mutating func set(_ kind: TimerHeap.Kind, of operation: Int64, at instant: Int64) {
        let entry = TimerHeap.Entry(at: instant, id: operation, kind: kind)
        if kind.isMonotonic { monotonic.add(entry) } else { wall.add(entry) }
    }

    /// The next entry whose instant has come, the monotonic clock's first.
    func firstDue(at now: Moment) -> TimerHeap.Entry? {
        if let first = monotonic.first, first.at <= now.monotonic { return first }
        return wall.first.flatMap { $0.at <= now.wall ? $0 : nil }
    }

    /// Removes the first entry of the clock of `kind`.
    mutating func removeFirst(_ kind: TimerHeap.Kind) {
        if kind.isMonotonic { monotonic.removeFirst() } else { wall.removeFirst() }
    }

    /// Counts one entry of the clock of `kind` as stale; true when it is time to `sweep` that clock.
    mutating func noteStale(_ kind: TimerHeap.Kind) -> Bool {
        kind.isMonotonic ? monotonic.markStale() : wall.markStale()
    }

    /// Forgets the stale entries of the clock of `kind`.
    mutating func sweep(_ kind: TimerHeap.Kind, keeping isLive: (TimerHeap.Entry) -> Bool) {
        if kind.isMonotonic { monotonic.sweep(keeping: isLive) } else { wall.sweep(keeping: isLive) }
    }

    /// Removes stale entries that are first on their clock, so that none of them wakes the daemon.
    mutating func dropStaleFirst(keeping isLive: (TimerHeap.Entry) -> Bool) {
        while let first = monotonic.first, !isLive(first) { monotonic.removeFirst() }
        while let first = wall.first, !isLive(first) { wall.removeFirst() }
    }

    var entries: [TimerHeap.Entry] { monotonic.entries + wall.entries }

    func checkInvariants() -> [String] {
        let misplaced =
            monotonic.entries.contains { !$0.kind.isMonotonic } || wall.entries.contains { $0.kind.isMonotonic }
        let isSorted = monotonic.isSorted && wall.isSorted
        return (misplaced ? ["timers: an entry is on the other clock"] : [])
            + (isSorted ? [] : ["timers: a heap is out of order"])
    }
}

extension TimerHeap.Kind {
    /// Timers that count from a start run on the monotonic clock, instants that users name on the wall clock.
    var isMonotonic: Bool {
        switch self {
        case .timeout, .backoff, .recheck: true
        case .deadline, .notBefore, .aging: false
        }
    }
}
