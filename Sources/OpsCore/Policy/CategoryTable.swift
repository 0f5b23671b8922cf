/// What an operation takes of one category while it executes.
struct Need: Equatable {
    var category: Int32
    var mode: CategoryUse.Mode
    var units: Int32
}

/// A category as it stands: how much there is and how much is taken. What a group holds is a category of its
/// own to its children, as large as the group's share (its `scope`).
struct Category {
    var name: String
    var capacity: Int32
    /// Someone set its capacity: it stays although nobody uses it.
    var isSet = false
    /// Category sets that name it.
    var users: Int32 = 0
    /// For a scope: the category that users know.
    var base: Int32 = -1
    /// A scope that its group holds shared: only shared holders, and any number of them.
    var isSharedScope = false
    var usedUnits: Int32 = 0
    var sharedHolders: Int32 = 0
    var exclusiveHolders: Int32 = 0
    /// Lanes that wait here, by what they need.
    var parked: [Parking] = []
    var parkedCount = 0
    /// Lanes with members that name it.
    var lanes = LaneOrder()
    /// Groups and producers that hold it.
    var familyHolders: [Int32] = []
    /// The highest effective priority of what is ready and has no room in it; counted while groups hold it.
    var claim = Int8.min
    var isClaimInDoubt = false
    /// Operations whose place in it is kept.
    var reservations: [Int32] = []

    struct Parking {
        /// Groups wait apart: they start when the pool is full, past others that would be next.
        var isGroup: Bool
        var mode: CategoryUse.Mode
        var units: Int32
        var heap = LaneHeap()
    }

    func fits(_ mode: CategoryUse.Mode, _ units: Int32) -> Bool {
        if isSharedScope { return mode == .shared }
        switch mode {
        case .exclusive: return capacity > 0 && usedUnits == 0 && sharedHolders == 0 && exclusiveHolders == 0
        case .shared: return capacity > 0 && usedUnits == 0 && exclusiveHolders == 0
        case .units: return sharedHolders == 0 && exclusiveHolders == 0 && units <= capacity - usedUnits
        }
    }

    mutating func take(_ mode: CategoryUse.Mode, _ units: Int32) {
        switch mode {
        case .exclusive: exclusiveHolders += 1
        case .shared: sharedHolders += 1
        case .units: usedUnits += units
        }
    }

    mutating func release(_ mode: CategoryUse.Mode, _ units: Int32) {
        switch mode {
        case .exclusive: exclusiveHolders -= 1
        case .shared: sharedHolders -= 1
        case .units: usedUnits -= units
        }
    }
}

/// All categories, and what each set of them comes to.
struct CategoryTable {
    private(set) var pool = Pool<Category>()
    private var index: [String: Int32] = [:]
    private var sets = Interned<[CategoryUse]>()
    private var needs: [[Need]] = []

    subscript(category: Int32) -> Category {
        _read { yield pool[category] }
        _modify { yield &pool[category] }
    }

    func place(of name: String) -> Int32? { index[name] }
    func capacity(of name: String) -> Int32 { place(of: name).map { pool[$0].capacity } ?? 1 }
    func uses(of set: Int32) -> [CategoryUse] { set < 0 ? [] : sets[set] }
    func needs(of set: Int32) -> [Need] { set < 0 ? [] : needs[Int(set)] }

    /// The set of these uses, with one user more; -1 for none.
    mutating func retain(_ uses: [CategoryUse]) -> Int32 {
        guard !uses.isEmpty else { return -1 }
        let uses = CategoryUse.strictest(uses)
        let (set, isNew) = sets.retain(uses)
        guard isNew else { return set }
        let list = uses.map { Need(category: named($0.name), mode: $0.mode, units: $0.units) }
        for need in list { pool[need.category].users += 1 }
        if Int(set) == needs.count { needs.append(list) } else { needs[Int(set)] = list }
        return set
    }

    mutating func retain(_ set: Int32) { if set >= 0 { sets.retain(set) } }

    mutating func release(_ set: Int32) {
        guard set >= 0, sets.release(set) else { return }
        for need in needs[Int(set)] {
            pool[need.category].users -= 1
            forgetIfUnused(need.category)
        }
        needs[Int(set)] = []
    }

    mutating func setCapacity(_ name: String, _ capacity: Int32) -> Int32 {
        let category = named(name)
        pool[category].capacity = capacity
        pool[category].isSet = true
        return category
    }

    /// What `need` is to the children of the group that holds it.
    mutating func addScope(of need: Need, base: Int32) -> Int32 {
        var scope = Category(name: pool[base].name, capacity: need.units)
        scope.base = base
        scope.isSharedScope = need.mode == .shared || pool[need.category].isSharedScope
        if need.mode == .exclusive { scope.capacity = max(1, pool[need.category].capacity) }
        return pool.insert(scope)
    }

    mutating func removeScope(_ scope: Int32) { pool.remove(scope) }

    private mutating func named(_ name: String) -> Int32 {
        if let category = index[name] { return category }
        let category = pool.insert(Category(name: name, capacity: 1))
        index[name] = category
        return category
    }

    private mutating func forgetIfUnused(_ category: Int32) {
        guard pool[category].users == 0, !pool[category].isSet else { return }
        index[pool[category].name] = nil
        pool.remove(category)
    }
}
