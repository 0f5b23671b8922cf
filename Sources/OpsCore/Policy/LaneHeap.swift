/// Lanes by the key of their first member, best first. An entry counts while it is its lane's newest;
/// older ones are passed over, and swept out once they are the most part.
struct LaneHeap {
    struct Entry {
        var key: UInt64
        var lane: LaneIndex
        var stamp: UInt32
    }
    private(set) var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func add(_ entry: Entry) {
        entries.append(entry)
        var i = entries.count - 1
        while i > 0, entry.key < entries[(i - 1) / 2].key {
            entries[i] = entries[(i - 1) / 2]
            i = (i - 1) / 2
        }
        entries[i] = entry
    }

    mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        sink(0)
    }

    /// When it has grown past twice `live`, forgets what no longer counts.
    mutating func sweep(live: Int, keeping counts: (Entry) -> Bool) {
        guard entries.count > 64, entries.count > 2 * live else { return }
        entries.removeAll { !counts($0) }
        for i in stride(from: entries.count / 2, through: 0, by: -1) where i < entries.count { sink(i) }
    }

    private mutating func sink(_ start: Int) {
        var i = start
        let moving = entries[i]
        while 2 * i + 1 < entries.count {
            var child = 2 * i + 1
            if child + 1 < entries.count, entries[child + 1].key < entries[child].key { child += 1 }
            guard entries[child].key < moving.key else { break }
            entries[i] = entries[child]
            i = child
        }
        entries[i] = moving
    }
}
