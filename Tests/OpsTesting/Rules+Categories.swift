import OpsCore

extension Rules {
    /// Named twice, the stricter counts: exclusive before units before shared, more units before fewer.
    func use(_ record: Record, _ name: String) -> CategoryUse? {
        func strictness(_ use: CategoryUse) -> (Int, Int32) {
            switch use.mode {
            case .exclusive: (2, 0)
            case .units: (1, use.units)
            case .shared: (0, 0)
            }
        }
        return record.categories.filter { $0.name == name }.max { strictness($0) < strictness($1) }
    }

    func holds(_ record: Record, _ name: String) -> Bool {
        record.state == .executing && use(record, name) != nil
    }

    /// Within which holding group this operation takes the category; nil: among all.
    func domain(of record: Record, _ name: String) -> OperationID? {
        store.ancestors(of: record).first { holds($0, name) }?.id
    }

    /// Returns the holders of the category in the scope where this operation would take it.
    func holders(for record: Record, _ name: String) -> [Record] {
        let mine = domain(of: record, name)
        return store.records.filter { $0.id != record.id && holds($0, name) && domain(of: $0, name) == mine }
    }

    /// Returns the capacity of the category: all of it, or the share of the group that holds it.
    func capacity(for record: Record, _ name: String) -> Int32 {
        guard let group = domain(of: record, name), let held = use(store[group], name) else {
            return store.capacity(name)
        }
        // A group that holds all of it holds all that the group around it has.
        return held.mode == .units ? held.units : max(1, capacity(for: store[group], name))
    }

    /// A group that reads gives its children nothing to write with.
    private func isHeldShared(around record: Record, _ name: String) -> Bool {
        store.ancestors(of: record).contains { holds($0, name) && use($0, name)?.mode == .shared }
    }

    /// The categories that it cannot have in this instant.
    func shortCategories(of record: Record) -> [String] {
        Set(record.categories.map(\.name)).sorted().filter { name in
            guard let wanted = use(record, name) else { return false }
            if isHeldShared(around: record, name), wanted.mode != .shared { return true }
            let others = holders(for: record, name).compactMap { use($0, name) }
            let capacity = capacity(for: record, name)
            return !fits(wanted, among: others, capacity, store.surplusUnits(for: record, name))
        }
    }

    /// Returns true if it needs more of a category than there is, even when nothing is held: it waits for the capacity,
    /// and not for the holders.
    func exceedsCapacity(_ record: Record) -> Bool {
        Set(record.categories.map(\.name)).contains { name in
            guard let wanted = use(record, name) else { return false }
            if isHeldShared(around: record, name) { return wanted.mode != .shared }
            return !fits(wanted, among: [], capacity(for: record, name), 0)
        }
    }

    /// Returns true if a start of `candidate` leaves `waiting` without room in a category that both take.
    func takes(_ candidate: Record, from waiting: Record) -> Bool {
        Set(waiting.categories.map(\.name)).contains { name in
            guard let taken = use(candidate, name), let wanted = use(waiting, name),
                domain(of: candidate, name) == domain(of: waiting, name)
            else { return false }
            let others = holders(for: waiting, name).filter { $0.id != candidate.id }.compactMap { use($0, name) }
            return !fits(
                wanted, among: others + [taken], capacity(for: waiting, name), store.surplusUnits(for: waiting, name))
        }
    }

    private func fits(_ wanted: CategoryUse, among others: [CategoryUse], _ capacity: Int32, _ surplus: Int64) -> Bool {
        if capacity < 1 { return false }
        return switch wanted.mode {
        case .exclusive: others.isEmpty
        case .shared: others.allSatisfy { $0.mode == .shared }
        case .units:
            others.allSatisfy { $0.mode == .units }
                && others.reduce(Int64(wanted.units)) { $0 + Int64($1.units) } <= Int64(capacity) + surplus
        }
    }

    /// Rule 4 for those that hold `name` now; a capacity lowered since does not count against them.
    func excludes(_ a: CategoryUse, _ b: CategoryUse) -> Bool {
        a.mode == .exclusive || b.mode == .exclusive || a.mode != b.mode
    }
}
