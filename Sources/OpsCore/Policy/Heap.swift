/// An entry of a heap.
protocol HeapEntry: Codable {
    /// Positions of entries, for owners that look entries up or remove them from the middle.
    associatedtype Positions = Void
    static var arity: Int { get }
    static func < (a: Self, b: Self) -> Bool
    /// Records the new position of an entry.
    func move(to position: Int, in positions: inout Positions)
}

extension HeapEntry {
    static var arity: Int { 2 }
}

extension HeapEntry where Positions == Void {
    func move(to position: Int, in positions: inout Void) {}
}

/// A heap with the least entry at its root. The children of the entry at `i` are at `arity * i + 1` and after.
struct Heap<Entry: HeapEntry>: Codable {
    private(set) var entries: [Entry] = []

    var first: Entry? { entries.first }
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// True if no entry comes before its parent.
    var isSorted: Bool { entries.indices.dropFirst().allSatisfy { !(entries[$0] < entries[Self.parent(of: $0)]) } }

    private static func parent(of position: Int) -> Int { (position - 1) / Entry.arity }

    mutating func add(_ entry: Entry, positions: inout Entry.Positions) {
        entries.append(entry)
        rise(entries.count - 1, &positions)
    }

    mutating func remove(at position: Int, positions: inout Entry.Positions) {
        let last = entries.removeLast()
        guard position < entries.count else { return }
        replace(at: position, with: last, positions: &positions)
    }

    /// Replaces the entry at a position, and moves the new one to where it belongs.
    mutating func replace(at position: Int, with entry: Entry, positions: inout Entry.Positions) {
        entries[position] = entry
        if position > 0, entry < entries[Self.parent(of: position)] {
            rise(position, &positions)
        } else {
            sink(position, &positions)
        }
    }

    private mutating func rise(_ start: Int, _ positions: inout Entry.Positions) {
        var i = start
        let moving = entries[i]
        while i > 0, moving < entries[Self.parent(of: i)] {
            put(entries[Self.parent(of: i)], at: i, &positions)
            i = Self.parent(of: i)
        }
        put(moving, at: i, &positions)
    }

    private mutating func sink(_ start: Int, _ positions: inout Entry.Positions) {
        var i = start
        let moving = entries[i]
        while Entry.arity * i + 1 < entries.count {
            var least = Entry.arity * i + 1
            for child in (least + 1)..<(least + Entry.arity)
            where child < entries.count && entries[child] < entries[least] {
                least = child
            }
            guard entries[least] < moving else { break }
            put(entries[least], at: i, &positions)
            i = least
        }
        put(moving, at: i, &positions)
    }

    private mutating func put(_ entry: Entry, at position: Int, _ positions: inout Entry.Positions) {
        entries[position] = entry
        entry.move(to: position, in: &positions)
    }
}

extension Heap: Sendable where Entry: Sendable {}

extension Heap where Entry.Positions == Void {
    mutating func add(_ entry: Entry) {
        var none: Void = ()
        add(entry, positions: &none)
    }

    mutating func removeFirst() {
        var none: Void = ()
        remove(at: 0, positions: &none)
    }

    mutating func removeAll(keepingCapacity keeps: Bool = false) { entries.removeAll(keepingCapacity: keeps) }

    /// Keeps the live entries alone.
    mutating func sweep(keeping isLive: (Entry) -> Bool) {
        entries.removeAll { !isLive($0) }
        var none: Void = ()
        for i in stride(from: entries.count / 2, through: 0, by: -1) where i < entries.count { sink(i, &none) }
    }
}
