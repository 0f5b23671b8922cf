/// The lanes that name one category, by their first members: the best at the root. Unlike a `LaneHeap` it contains each
/// lane once. The ticket of a lane leads to its position.
struct LaneOrder: Codable {
    struct Entry: HeapEntry {
        var key: UInt64
        let lane: LaneIndex
        /// Position of the category among the needs of the lane.
        let need: Int32
        fileprivate let ticket: LaneTicket

        static func < (a: Entry, b: Entry) -> Bool { a.key < b.key }
        func move(to position: Int, in positions: inout [Int32]) { positions[ticket.offset] = Int32(position) }
    }
    private var heap = Heap<Entry>()
    /// Positions by ticket: an entry that moves is recorded here, not in lanes all over the memory.
    private var positions: [Int32] = []
    private var freeTickets: [LaneTicket] = []

    var entries: [Entry] { heap.entries }

    /// Adds an entry and returns its ticket.
    mutating func add(_ key: UInt64, lane: LaneIndex, need: Int32) -> LaneTicket {
        let ticket = freeTickets.popLast() ?? LaneTicket(rawValue: Int32(positions.count))
        if ticket.offset == positions.count { positions.append(Int32(heap.count)) }
        heap.add(Entry(key: key, lane: lane, need: need, ticket: ticket), positions: &positions)
        return ticket
    }

    mutating func remove(_ ticket: LaneTicket) {
        freeTickets.append(ticket)
        heap.remove(at: Int(positions[ticket.offset]), positions: &positions)
    }

    mutating func update(_ ticket: LaneTicket, key: UInt64) {
        let position = Int(positions[ticket.offset])
        var entry = heap.entries[position]
        entry.key = key
        heap.replace(at: position, with: entry, positions: &positions)
    }

    /// Calls `body` with the lanes whose first member comes before `bound`, each before those below it in the heap.
    /// Where `body` returns false, the lanes below are left out.
    func forEach(below bound: UInt64, _ body: (Entry) -> Bool) {
        var i = 0
        while true {
            if i < entries.count, entries[i].key < bound, body(entries[i]) {
                i = 2 * i + 1
                continue
            }
            // Continues beside this entry, or beside the nearest one above it that is a left child.
            while i > 0, i.isMultiple(of: 2) { i = (i - 1) / 2 }
            if i == 0 { return }
            i += 1
        }
    }
}
