/// The share of one category that an operation takes while it executes.
struct Need: Equatable, Codable {
    var category: CategoryIndex
    var mode: CategoryUse.Mode
    var units: Int32
}

/// A category with its capacity and its holders. For the children of a group, the share of a category that the group
/// holds is a category of its own (a *scope*).
struct Category: Codable {
    var name: String
    var room: CategoryRoom
    /// Its named units, also those that drain; nil for a category that only counts.
    var units: UnitTable? { didSet { room.surplus = units?.surplus ?? 0 } }
    /// Second variable that names the assigned units to a process.
    var export: String?
    /// Its latest starts, if a rate limits them.
    var rate: RateWindow?
    /// Lanes that wait for the rate.
    var parkedAtRate = ParkedLanes()
    var parkedAtRateCount = 0
    /// True if its capacity was set: it stays even if it is unused.
    var isSet = false
    /// Category sets that name it.
    var users: Int32 = 0
    /// For a scope: the category that users know.
    var base: CategoryIndex?
    /// Lanes that wait here, by what they need.
    var parked: [Parking] = []
    var parkedCount = 0
    /// Lanes with members that name it.
    var lanes = LaneOrder()
    /// Groups and producers that hold it.
    var longHolders: [OperationIndex] = []
    /// The highest effective priority of ready operations without room in it. It is counted while groups hold it.
    var claim = Int8.min
    var mustRecountClaim = false
    /// Operations whose position in the category is reserved.
    var reservations: [OperationIndex] = []

    struct Parking: Codable {
        var mode: CategoryUse.Mode
        var units: Int32
        var lanes = ParkedLanes()
    }

    init(name: String, capacity: Int32) {
        self.name = name
        room = CategoryRoom(capacity: capacity)
    }

    var settings: CategorySettings {
        let named = units.flatMap { $0.isNamed ? $0 : nil }
        return CategorySettings(
            name: name, capacity: room.capacity, units: named?.names ?? [], share: named?.share ?? 1, export: export,
            rate: rate?.rate)
    }
}

extension Category {
    mutating func setUnits(_ names: [String], share: Int32) {
        guard !names.isEmpty || units != nil else { return }
        if units == nil { units = UnitTable() }
        units?.setList(names, share: share)
        // Units that drain are remembered after their names have gone: they may be named again.
        if names.isEmpty, units?.hasHolders == false { units = nil }
        if !names.isEmpty { room.capacity = units?.capacity ?? room.capacity }
    }

    /// Assigns units to an operation that acquires its share; nil if they have no names.
    mutating func assign(_ need: Need) -> Assignment? {
        guard units?.isNamed == true, let names = units?.names else { return nil }
        guard need.mode == .units, let taken = units?.assign(need.units) else {
            return Assignment(category: need.category, names: names, taken: [])
        }
        return Assignment(
            category: need.category, names: taken.compactMap { units?.name(of: $0) }, taken: taken)
    }

    /// Assigns the units that a holder had before a restart; none if the stored ones are not as many as it needs. Those
    /// are of an earlier run of a group: with them, operations would start for which no unit is free.
    mutating func restore(_ names: [String], _ need: Need) -> Assignment {
        guard need.mode != .units || names.count == Int(need.units) else {
            return Assignment(category: need.category, names: [], taken: [])
        }
        // Others take no shares: without a list they leave nothing to drain.
        if units == nil, need.mode == .units { units = UnitTable() }
        let taken = need.mode == .units ? units?.restore(names) ?? [] : []
        return Assignment(category: need.category, names: names, taken: taken)
    }

    mutating func release(_ assignment: Assignment) {
        units?.release(assignment.taken)
        if units?.isNamed == false, units?.hasHolders == false { units = nil }
    }
}

/// A category set that operations of an ordinary user have.
struct SetOfUser: Hashable, Codable {
    var set: CategorySetIndex
    var user: UInt32
}

/// All categories, and the needs that each set of uses stands for.
struct CategoryTable: Codable {
    private(set) var pool = Pool<Category, CategoryIndex>()
    private var index: [String: CategoryIndex] = [:]
    private var sets = Interned<[CategoryUse], CategorySetIndex>()
    private var needs: [[Need]] = []
    /// Number of unfinished operations of each ordinary user with each set.
    private var operationsOfUsers: [SetOfUser: Int32] = [:]
    /// Number of categories in the different sets of each ordinary user.
    private var categoriesOfUsers: [UInt32: Int] = [:]
    /// Categories that have a rate.
    private(set) var rated: [CategoryIndex] = []

    subscript(category: CategoryIndex) -> Category {
        // Not `_read`: with a coroutine that is not inlined, Swift 6.3 tests an optional field after the frame was freed.
        @inline(__always) get { pool[category] }
        @inline(__always) _modify { yield &pool[category] }
    }

    func find(_ name: String) -> CategoryIndex? { index[name] }
    func capacity(of name: String) -> Int32 { find(name).map { pool[$0].room.capacity } ?? 1 }
    func uses(of set: CategorySetIndex?) -> [CategoryUse] { set.map { sets[$0] } ?? [] }
    func needs(of set: CategorySetIndex?) -> [Need] { set.map { needs[$0.offset] } ?? [] }

    /// Returns the set of these uses and counts one more user; nil for no uses.
    mutating func retain(_ uses: [CategoryUse]) -> CategorySetIndex? {
        guard !uses.isEmpty else { return nil }
        let uses = CategoryUse.strictest(uses)
        let (set, isNew) = sets.retain(uses)
        guard isNew else { return set }
        let list = uses.map { Need(category: named($0.name), mode: $0.mode, units: $0.units) }
        for need in list { pool[need.category].users += 1 }
        if set.offset == needs.count { needs.append(list) } else { needs[set.offset] = list }
        return set
    }

    mutating func retain(_ set: CategorySetIndex?) { if let set { sets.retain(set) } }

    mutating func release(_ set: CategorySetIndex?) {
        guard let set, sets.release(set) else { return }
        for need in needs[set.offset] {
            pool[need.category].users -= 1
            forgetIfUnused(need.category)
        }
        needs[set.offset] = []
    }

    /// Returns the number of categories in the different sets of an ordinary user's unfinished operations.
    func count(ofUser user: UInt32) -> Int { categoriesOfUsers[user] ?? 0 }

    /// Returns the number of categories in those of the sets that no unfinished operation of an ordinary user has.
    func newCategories(in added: some Sequence<[CategoryUse]>, of user: UInt32) -> Int {
        var new: Set<[CategoryUse]> = []
        for uses in added {
            let uses = CategoryUse.strictest(uses)
            let isHeld = sets.find(uses).map { operationsOfUsers[SetOfUser(set: $0, user: user)] != nil } ?? false
            if !isHeld { new.insert(uses) }
        }
        return new.reduce(0) { $0 + $1.count }
    }

    /// Counts one unfinished operation of an ordinary user with a set more or less.
    mutating func countOperation(with set: CategorySetIndex, of user: UInt32, _ step: Int32) {
        let key = SetOfUser(set: set, user: user)
        let old = operationsOfUsers[key] ?? 0
        let new = old + step
        operationsOfUsers[key] = new == 0 ? nil : new
        guard old == 0 || new == 0 else { return }
        let left = count(ofUser: user) + (old == 0 ? needs[set.offset].count : -needs[set.offset].count)
        categoriesOfUsers[user] = left == 0 ? nil : left
    }

    mutating func set(_ settings: CategorySettings) -> CategoryIndex {
        let category = named(settings.name)
        pool[category].room.capacity = settings.capacity
        pool[category].export = settings.export
        pool[category].setUnits(settings.units, share: settings.share)
        pool[category].isSet = true
        setRate(of: category, settings.rate)
        return category
    }

    private mutating func setRate(of category: CategoryIndex, _ rate: Rate?) {
        guard let rate else {
            guard pool[category].rate != nil else { return }
            pool[category].rate = nil
            rated.removeAll { $0 == category }
            return
        }
        guard pool[category].rate == nil else {
            pool[category].rate?.change(rate)
            return
        }
        pool[category].rate = RateWindow(rate)
        rated.append(category)
    }

    /// Adds the scope that the children of a group see instead of the category that the group holds.
    mutating func addScope(of need: Need, _ assignment: Assignment?, base: CategoryIndex) -> CategoryIndex {
        var scope = Category(name: pool[base].name, capacity: need.units)
        scope.base = base
        scope.room.isSharedScope = need.mode == .shared || pool[need.category].room.isSharedScope
        if need.mode == .exclusive {
            scope.room.capacity = max(1, pool[need.category].room.capacity)
            scope.units = pool[need.category].units.map { UnitTable($0.names, share: $0.share) }
        } else {
            scope.units = assignment.map { UnitTable($0.names) }
        }
        return pool.insert(scope)
    }

    mutating func removeScope(_ scope: CategoryIndex) { pool.remove(scope) }

    /// `counted`: the users of each set. `operations`: the operations of each ordinary user with each set.
    func checkInvariants(users counted: [CategorySetIndex: Int32], operations: [SetOfUser: Int32]) -> [String] {
        var broken = sets.checkInvariants(users: counted)
        if operationsOfUsers != operations { broken.append("categories: the operations of users with each set") }
        var ofUsers: [UInt32: Int] = [:]
        for held in operations.keys { ofUsers[held.user, default: 0] += needs[held.set.offset].count }
        if categoriesOfUsers != ofUsers {
            broken.append("categories: users count \(categoriesOfUsers), not \(ofUsers)")
        }
        var users: [CategoryIndex: Int32] = [:]
        for set in counted.keys { for need in needs[set.offset] { users[need.category, default: 0] += 1 } }
        for category in pool.indices where pool[category].base == nil {
            let now = pool[category]
            if index[now.name] != category { broken.append("categories: \(now.name) is not found by its name") }
            if now.users != users[category] ?? 0 { broken.append("categories: \(now.name) has \(now.users) users") }
            if now.users == 0, !now.isSet { broken.append("categories: \(now.name) stays although nobody uses it") }
        }
        if rated.sorted() != pool.indices.filter({ pool[$0].rate != nil }) { broken.append("categories: other rates") }
        return broken
    }

    private mutating func named(_ name: String) -> CategoryIndex {
        if let category = index[name] { return category }
        let category = pool.insert(Category(name: name, capacity: 1))
        index[name] = category
        return category
    }

    private mutating func forgetIfUnused(_ category: CategoryIndex) {
        guard pool[category].users == 0, !pool[category].isSet else { return }
        index[pool[category].name] = nil
        pool.remove(category)
    }
}
