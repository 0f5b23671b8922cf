/// The lanes that name one category, by their first members: the best at the root. Unlike a `LaneHeap` it holds
/// each lane once, exactly; a lane knows its position here.
struct LaneOrder {
    struct Entry {
        var key: UInt64
        var lane: Int32
        /// Which of the lane's needs this category is.
        var need: Int32
    }
    private(set) var entries: [Entry] = []

    mutating func add(_ entry: Entry, _ lanes: inout Pool<Lane>) {
        entries.append(entry)
        rise(entries.count - 1, &lanes)
    }

    mutating func remove(at position: Int32, _ lanes: inout Pool<Lane>) {
        let position = Int(position)
        let last = entries.removeLast()
        guard position < entries.count else { return }
        entries[position] = last
        lanes[last.lane].positions[Int(last.need)] = Int32(position)
        settle(position, &lanes)
    }

    mutating func update(at position: Int32, key: UInt64, _ lanes: inout Pool<Lane>) {
        entries[Int(position)].key = key
        settle(Int(position), &lanes)
    }

    /// Calls with every lane whose first member comes before `bound`, in no order but that a lane comes before what is
    /// below it, which is left out when the answer is false.
    func forEach(below bound: UInt64, _ body: (Entry) -> Bool) {
        guard let root = entries.first, root.key < bound else { return }
        var open = [0]
        while let i = open.popLast() {
            guard body(entries[i]) else { continue }
            for child in [2 * i + 1, 2 * i + 2] where child < entries.count && entries[child].key < bound {
                open.append(child)
            }
        }
    }

    private mutating func settle(_ position: Int, _ lanes: inout Pool<Lane>) {
        if position > 0, entries[position].key < entries[(position - 1) / 2].key {
            rise(position, &lanes)
        } else {
            sink(position, &lanes)
        }
    }

    private mutating func rise(_ start: Int, _ lanes: inout Pool<Lane>) {
        var i = start
        let moving = entries[i]
        while i > 0, moving.key < entries[(i - 1) / 2].key {
            put(entries[(i - 1) / 2], at: i, &lanes)
            i = (i - 1) / 2
        }
        put(moving, at: i, &lanes)
    }

    private mutating func sink(_ start: Int, _ lanes: inout Pool<Lane>) {
        var i = start
        let moving = entries[i]
        while 2 * i + 1 < entries.count {
            var child = 2 * i + 1
            if child + 1 < entries.count, entries[child + 1].key < entries[child].key { child += 1 }
            guard entries[child].key < moving.key else { break }
            put(entries[child], at: i, &lanes)
            i = child
        }
        put(moving, at: i, &lanes)
    }

    private mutating func put(_ entry: Entry, at position: Int, _ lanes: inout Pool<Lane>) {
        entries[position] = entry
        lanes[entry.lane].positions[Int(entry.need)] = Int32(position)
    }
}
