/// The timers of one clock, soonest first.
struct TimerHeap: Sendable {
    enum Kind: UInt8, Sendable { case timeout, backoff, recheck, deadline, notBefore, aging }
    struct Entry: Sendable {
        var at: Int64
        var id: Int64
        var kind: Kind

        static func < (a: Entry, b: Entry) -> Bool {
            if a.at != b.at { return a.at < b.at }
            return a.id != b.id ? a.id < b.id : a.kind.rawValue < b.kind.rawValue
        }
    }

    private(set) var entries: [Entry] = []
    /// Number of entries that have lost their meaning; past half of all they are swept out.
    private var stale = 0

    var first: Entry? { entries.first }

    mutating func add(_ entry: Entry) {
        entries.append(entry)
        rise(entries.count - 1)
    }

    mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        sink(0)
    }

    /// True when no entry comes before the one above it.
    var isSorted: Bool { entries.indices.dropFirst().allSatisfy { !(entries[$0] < entries[($0 - 1) / 2]) } }

    /// Counts one entry as stale; true when it is time to `sweep`.
    mutating func markStale() -> Bool {
        stale += 1
        return stale > 64 && stale > entries.count / 2
    }

    mutating func sweep(keeping isLive: (Entry) -> Bool) {
        entries.removeAll { !isLive($0) }
        stale = 0
        for i in stride(from: entries.count / 2, through: 0, by: -1) where i < entries.count { sink(i) }
    }

    private mutating func rise(_ start: Int) {
        var i = start
        while i > 0, entries[i] < entries[(i - 1) / 2] {
            entries.swapAt(i, (i - 1) / 2)
            i = (i - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var i = start
        while true {
            var least = i
            if 2 * i + 1 < entries.count, entries[2 * i + 1] < entries[least] { least = 2 * i + 1 }
            if 2 * i + 2 < entries.count, entries[2 * i + 2] < entries[least] { least = 2 * i + 2 }
            if least == i { return }
            entries.swapAt(i, least)
            i = least
        }
    }
}
