/// The instants at which the scheduler looks at an operation again, on both clocks.
///
/// Entries are not removed when they become stale. A stale entry stays until it is first, or until most entries are
/// stale and are swept out.
struct Timers: Sendable, Codable {
    /// A timer of either clock.
    enum Entry: Equatable {
        case monotonic(TimerHeap<MonotonicTimer>.Entry)
        case wall(TimerHeap<WallTimer>.Entry)

        /// Id of the operation.
        var id: Int64 {
            switch self {
            case .monotonic(let entry): entry.id
            case .wall(let entry): entry.id
            }
        }

        /// True if the operation ends when the timer is due.
        var endsOperation: Bool {
            switch self {
            case .monotonic(let entry): entry.kind == .timeout
            case .wall(let entry): entry.kind == .deadline
            }
        }
    }

    private var monotonic = TimerHeap<MonotonicTimer>()
    private var wall = TimerHeap<WallTimer>()

    var isEmpty: Bool { monotonic.first == nil && wall.first == nil }

    /// The earliest instant of each clock.
    var next: Deadlines { Deadlines(monotonic: monotonic.first?.at, wall: wall.first?.at) }

    func isDue(at now: Moment) -> Bool {
        if let first = monotonic.first, first.at <= now.monotonic { return true }
        if let first = wall.first, first.at <= now.wall { return true }
        return false
    }

    mutating func set(_ kind: MonotonicTimer, of operation: Int64, at instant: MonotonicInstant) {
        monotonic.add(TimerHeap.Entry(at: instant, id: operation, kind: kind))
    }

    mutating func set(_ kind: WallTimer, of operation: Int64, at instant: WallInstant) {
        wall.add(TimerHeap.Entry(at: instant, id: operation, kind: kind))
    }

    /// Returns the next timer that is due, those of the monotonic clock first.
    func firstDue(at now: Moment) -> Entry? {
        if let first = monotonic.first, first.at <= now.monotonic { return .monotonic(first) }
        return wall.first.flatMap { $0.at <= now.wall ? .wall($0) : nil }
    }

    /// Removes the first timer of the clock of an entry.
    mutating func removeFirst(_ entry: Entry) {
        switch entry {
        case .monotonic: monotonic.removeFirst()
        case .wall: wall.removeFirst()
        }
    }

    /// Counts one timer of the monotonic clock as stale; returns true when it is time to sweep that clock.
    mutating func noteStale(_: MonotonicTimer) -> Bool { monotonic.markStale() }

    /// Counts one timer of the wall clock as stale; returns true when it is time to sweep that clock.
    mutating func noteStale(_: WallTimer) -> Bool { wall.markStale() }

    /// Forgets the stale timers of the monotonic clock.
    mutating func sweepMonotonic(keeping isLive: (Entry) -> Bool) { monotonic.sweep { isLive(.monotonic($0)) } }

    /// Forgets the stale timers of the wall clock.
    mutating func sweepWall(keeping isLive: (Entry) -> Bool) { wall.sweep { isLive(.wall($0)) } }

    /// Removes stale timers that are first on their clock, so that none of them wakes the daemon.
    mutating func dropStaleFirst(keeping isLive: (Entry) -> Bool) {
        monotonic.dropStaleFirst { isLive(.monotonic($0)) }
        wall.dropStaleFirst { isLive(.wall($0)) }
    }

    var monotonicEntries: [TimerHeap<MonotonicTimer>.Entry] { monotonic.entries }
    var wallEntries: [TimerHeap<WallTimer>.Entry] { wall.entries }

    func checkInvariants() -> [String] {
        monotonic.isSorted && wall.isSorted ? [] : ["timers: a heap is out of order"]
    }
}
