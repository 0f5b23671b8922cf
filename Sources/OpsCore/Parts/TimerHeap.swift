/// A kind of timer. All timers of its type run on one clock.
protocol TimerKind: RawRepresentable<UInt8>, Hashable, Sendable, Codable {
    associatedtype Instant: ClockInstant
}

/// Timers that count from a start. Records of turns contain their numbers.
enum MonotonicTimer: UInt8, TimerKind {
    typealias Instant = MonotonicInstant
    case timeout = 0
    case backoff = 1
    case recheck = 2
}

/// Timers at instants that users name, and of ageing. Records of turns contain their numbers.
enum WallTimer: UInt8, TimerKind {
    typealias Instant = WallInstant
    case deadline = 3
    case notBefore = 4
    case aging = 5
}

/// The timers of one clock, soonest first.
struct TimerHeap<Kind: TimerKind>: Sendable, Codable {
    struct Entry: HeapEntry, Hashable, Sendable {
        var at: Kind.Instant
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
        // A timer that was set again at the same instant is there twice.
        var kept: Set<Entry> = []
        heap.sweep { isLive($0) && kept.insert($0).inserted }
        stale = 0
    }

    /// Removes stale entries that are first.
    mutating func dropStaleFirst(keeping isLive: (Entry) -> Bool) {
        while let first, !isLive(first) { removeFirst() }
    }
}
