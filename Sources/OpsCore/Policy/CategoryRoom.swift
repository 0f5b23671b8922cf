/// Capacity of a category, and how much of it is taken. It is a struct of its own because each test for room copies it, and a
/// whole category is large.
struct CategoryRoom: Equatable, Codable {
    var capacity: Int32
    /// Taken shares of units that are not in the capacity.
    var surplus: Int32 = 0
    var usedUnits: Int32 = 0
    var sharedHolders: Int32 = 0
    var exclusiveHolders: Int32 = 0
    /// True for a scope that its group holds shared: it has only shared holders, and any number of them.
    var isSharedScope = false

    init(capacity: Int32) { self.capacity = capacity }

    /// Units that may be acquired. Units that drain are not in the capacity, so their holders use up none of it.
    var freeUnits: Int32 { capacity - usedUnits + surplus }

    var isHeld: Bool { usedUnits > 0 || sharedHolders > 0 || exclusiveHolders > 0 }

    func fits(_ mode: CategoryUse.Mode, _ units: Int32) -> Bool {
        if isSharedScope { return mode == .shared }
        switch mode {
        case .exclusive: return capacity > 0 && usedUnits == 0 && sharedHolders == 0 && exclusiveHolders == 0
        case .shared: return capacity > 0 && usedUnits == 0 && exclusiveHolders == 0
        case .units: return sharedHolders == 0 && exclusiveHolders == 0 && units <= freeUnits
        }
    }

    /// Returns whether a need has room when nothing is held.
    func canFit(_ mode: CategoryUse.Mode, _ units: Int32) -> Bool {
        if isSharedScope { return mode == .shared }
        return mode == .units ? units <= capacity : capacity > 0
    }

    /// Returns whether two needs have room together, beside the present holders.
    func fit(_ a: Need, beside b: Need) -> Bool { share(freeUnits, a, b) }

    /// Returns whether two needs can be held at once when nothing else is.
    func canShare(_ a: Need, _ b: Need) -> Bool { share(capacity, a, b) }

    private func share(_ free: Int32, _ a: Need, _ b: Need) -> Bool {
        switch (a.mode, b.mode) {
        case (.shared, .shared): true
        case (.units, .units): a.units <= free - b.units
        default: false
        }
    }

    mutating func acquire(_ mode: CategoryUse.Mode, units: Int32) {
        switch mode {
        case .exclusive: exclusiveHolders += 1
        case .shared: sharedHolders += 1
        case .units: usedUnits += units
        }
    }

    mutating func release(_ mode: CategoryUse.Mode, units: Int32) {
        switch mode {
        case .exclusive: exclusiveHolders -= 1
        case .shared: sharedHolders -= 1
        case .units: usedUnits -= units
        }
    }
}
