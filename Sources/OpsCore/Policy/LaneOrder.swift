/// The lanes that name one category, by their first members: the best at the root. Unlike a `LaneHeap` it holds
/// each lane once, exactly; a lane has a ticket here, by which it is found wherever it stands.
struct LaneOrder {
    struct Entry {
        var key: UInt64
        let lane: LaneIndex
        /// Which of the lane's needs this category is.
        let need: Int32
        fileprivate let ticket: LaneTicket
    }
    private(set) var entries: [Entry] = []
    /// By ticket: what moves is written down here, not in lanes all over the memory.
    private var positions: [Int32] = []
    private var freeTickets: [LaneTicket] = []

    /// The ticket of the new entry.
    mutating func add(_ key: UInt64, lane: LaneIndex, need: Int32) -> LaneTicket {
        let ticket = freeTickets.popLast() ?? LaneTicket(rawValue: Int32(positions.count))
        if ticket.offset == positions.count { positions.append(Int32(entries.count)) }
        entries.append(Entry(key: key, lane: lane, need: need, ticket: ticket))
        rise(entries.count - 1)
        return ticket
    }

    mutating func remove(_ ticket: LaneTicket) {
        let position = Int(positions[ticket.offset])
        freeTickets.append(ticket)
        let last = entries.removeLast()
        guard position < entries.count else { return }
        entries[position] = last
        settle(position)
    }

    mutating func update(_ ticket: LaneTicket, key: UInt64) {
        let position = Int(positions[ticket.offset])
        entries[position].key = key
        settle(position)
    }

    /// Calls with every lane whose first member comes before `bound`, in no order but that a lane comes before what is
    /// below it, which is left out when the answer is false.
    func forEach(below bound: UInt64, _ body: (Entry) -> Bool) {
        var i = 0
        while true {
            if i < entries.count, entries[i].key < bound, body(entries[i]) {
                i = 2 * i + 1
                continue
            }
            // Past what is below it: to the right, from the nearest that stands on the left.
            while i > 0, i.isMultiple(of: 2) { i = (i - 1) / 2 }
            if i == 0 { return }
            i += 1
        }
    }

    private mutating func settle(_ position: Int) {
        if position > 0, entries[position].key < entries[(position - 1) / 2].key {
            rise(position)
        } else {
            sink(position)
        }
    }

    private mutating func rise(_ start: Int) {
        var i = start
        let moving = entries[i]
        while i > 0, moving.key < entries[(i - 1) / 2].key {
            put(entries[(i - 1) / 2], at: i)
            i = (i - 1) / 2
        }
        put(moving, at: i)
    }

    private mutating func sink(_ start: Int) {
        var i = start
        let moving = entries[i]
        while 2 * i + 1 < entries.count {
            var child = 2 * i + 1
            if child + 1 < entries.count, entries[child + 1].key < entries[child].key { child += 1 }
            guard entries[child].key < moving.key else { break }
            put(entries[child], at: i)
            i = child
        }
        put(moving, at: i)
    }

    private mutating func put(_ entry: Entry, at position: Int) {
        entries[position] = entry
        positions[entry.ticket.offset] = Int32(position)
    }
}
