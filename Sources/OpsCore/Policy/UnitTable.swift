/// A unit of one category, from its naming until it has no holder any more.
struct UnitIndex: Hashable, Codable {
    fileprivate let offset: Int32
}

/// The named units of a category: their list, and the number of shares of each that are taken. A unit that has left the
/// list stays here until its holders have released it.
struct UnitTable: Codable {
    fileprivate struct Unit: Codable {
        var name: String
        var taken: Int32 = 0
        /// Position in the list; nil for a unit that drains.
        var position: Int32?
    }

    private var units: [Unit] = []
    /// Free entries of `units`: their name is empty.
    private var vacant: [UnitIndex] = []
    private var index: [String: UnitIndex] = [:]
    private var list: [UnitIndex] = []
    /// Names of the units in the order of the list.
    private(set) var names: [String] = []
    /// Largest number of holders of one unit.
    private(set) var share: Int32
    /// Positions of units by the number of their taken shares. Units without a free share are on no level.
    private var levels: [PositionSet] = []
    /// Shares that are taken beyond what the list allows: of units that drain, or from a time when `share` was larger.
    private var excess: Int32 = 0

    init(_ names: [String] = [], share: Int32 = 1) {
        self.share = share
        self.names = names
        units = names.map { Unit(name: $0) }
        list = names.indices.map { UnitIndex(offset: Int32($0)) }
        index = Dictionary(zip(names, list)) { first, _ in first }
        rebuild()
    }

    var capacity: Int32 { Int32(clamping: Int64(names.count) * Int64(share)) }
    /// Taken shares that are not in the capacity.
    var surplus: Int32 { names.isEmpty ? 0 : excess }
    var isNamed: Bool { !names.isEmpty }
    var hasHolders: Bool { units.contains { $0.taken > 0 } }

    /// Replaces the list. Units that are held and not in it drain.
    mutating func setList(_ names: [String], share: Int32) {
        for index in list { units[index].position = nil }
        self.names = names
        self.share = share
        list = names.map { index[$0] ?? insert(Unit(name: $0)) }
        rebuild()
        for unit in units.indices where units[unit].position == nil && units[unit].taken == 0 {
            forget(UnitIndex(offset: Int32(unit)))
        }
    }

    /// Assigns this number of shares, each of the least used unit, and among equals of the first in the list.
    mutating func assign(_ count: Int32) -> [UnitIndex] {
        var assigned: [UnitIndex] = []
        assigned.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let level = levels.firstIndex(where: { !$0.isEmpty }), let position = levels[level].first else {
                preconditionFailure("units are assigned only where they fit")
            }
            let index = list[Int(position)]
            acquireShare(of: index)
            assigned.append(index)
        }
        return assigned
    }

    /// Assigns shares that were assigned before a restart. A unit that is no longer listed drains.
    mutating func restore(_ names: [String]) -> [UnitIndex] {
        names.map { name in
            let unit = entry(of: name)
            acquireShare(of: unit)
            return unit
        }
    }

    /// Returns the entry of a name: of several, as groups have them that hold several shares of a unit, the least used.
    private mutating func entry(of name: String) -> UnitIndex {
        guard let first = index[name] else { return insert(Unit(name: name)) }
        guard units[first].taken >= allowed(units[first]) else { return first }
        let same = units.indices.filter { units[$0].name == name }.min { units[$0].taken < units[$1].taken }
        return same.map { UnitIndex(offset: Int32($0)) } ?? first
    }

    mutating func release(_ assigned: [UnitIndex]) {
        for index in assigned {
            let unit = units[index]
            if unit.taken > allowed(unit) { excess -= 1 }
            move(unit.position, from: unit.taken, to: unit.taken - 1)
            units[index].taken -= 1
            if unit.position == nil, unit.taken == 1 { forget(index) }
        }
    }

    func name(of index: UnitIndex) -> String { units[index].name }

    private func allowed(_ unit: Unit) -> Int32 { unit.position == nil ? 0 : share }

    private mutating func acquireShare(of index: UnitIndex) {
        let unit = units[index]
        move(unit.position, from: unit.taken, to: unit.taken + 1)
        units[index].taken += 1
        if unit.taken >= allowed(unit) { excess += 1 }
    }

    private mutating func move(_ position: Int32?, from old: Int32, to new: Int32) {
        guard let position else { return }
        if old < share { levels[Int(old)].remove(position) }
        guard new < share else { return }
        while levels.count <= Int(new) { levels.append(PositionSet(count: list.count)) }
        levels[Int(new)].insert(position)
    }

    private mutating func insert(_ unit: Unit) -> UnitIndex {
        let entry = vacant.popLast() ?? UnitIndex(offset: Int32(units.count))
        if Int(entry.offset) == units.count { units.append(unit) } else { units[entry] = unit }
        index[unit.name] = entry
        return entry
    }

    private mutating func forget(_ unit: UnitIndex) {
        guard !units[unit].name.isEmpty else { return }
        if index[units[unit].name] == unit { index[units[unit].name] = nil }
        units[unit].name = ""
        vacant.append(unit)
    }

    /// Computes positions, levels and surplus from the list and the taken shares.
    private mutating func rebuild() {
        levels = []
        for (position, index) in list.enumerated() {
            units[index].position = Int32(position)
            move(Int32(position), from: share, to: units[index].taken)
        }
        excess = units.reduce(0) { $0 + max(0, $1.taken - allowed($1)) }
    }

    /// Returns broken invariants, given the number of held shares of each unit.
    func checkInvariants(held: [UnitIndex: Int32]) -> [String] {
        var broken: [String] = []
        for (offset, unit) in units.enumerated() {
            let count = held[UnitIndex(offset: Int32(offset))] ?? 0
            if unit.taken != count { broken.append("3: unit \(unit.name) counts \(unit.taken) holders, not \(count)") }
            guard let position = unit.position else { continue }
            for (level, positions) in levels.enumerated() where positions.contains(position) != (level == unit.taken) {
                broken.append("3: unit \(unit.name) is on the wrong level")
            }
        }
        let beyond = units.reduce(0) { $0 + max(0, $1.taken - allowed($1)) }
        if excess != beyond { broken.append("3: an excess of \(excess) units, not \(beyond)") }
        return broken
    }
}

extension [UnitTable.Unit] {
    fileprivate subscript(index: UnitIndex) -> UnitTable.Unit {
        get { self[Int(index.offset)] }
        set { self[Int(index.offset)] = newValue }
    }
}

/// A set of positions in a list, one bit each: the first one is found 64 at a time.
struct PositionSet: Codable {
    private var words: [UInt64]
    private var members: Int32 = 0

    init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

    var isEmpty: Bool { members == 0 }

    var first: Int32? {
        guard members > 0, let word = words.firstIndex(where: { $0 != 0 }) else { return nil }
        return Int32(word * 64 + words[word].trailingZeroBitCount)
    }

    func contains(_ position: Int32) -> Bool { words[Int(position / 64)] & (1 << UInt64(position % 64)) != 0 }

    mutating func insert(_ position: Int32) {
        words[Int(position / 64)] |= 1 << UInt64(position % 64)
        members += 1
    }

    mutating func remove(_ position: Int32) {
        words[Int(position / 64)] &= ~(1 << UInt64(position % 64))
        members -= 1
    }
}
