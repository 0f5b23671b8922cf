/// Numbers of the categories, for monitoring: without the names of their holders.
extension Scheduler {
    public struct CategoryLoad: Equatable, Sendable {
        public var name: String
        public var capacity: Int32
        /// Units in use: all of them where an exclusive holder has the category, at least one where shared holders have it.
        public var used: Int32
        /// Ready operations without room in it.
        public var waiting: Int
    }

    /// Categories in the order of their names; if they are very many, those that were set and then those that are held.
    public var categoryLoads: [CategoryLoad] {
        listedCategories.map { index in
            let category = categories[index]
            let whole = max(category.room.capacity, 1)
            return CategoryLoad(
                name: category.name, capacity: category.room.capacity,
                used: category.room.exclusiveHolders > 0
                    ? whole : max(category.room.usedUnits, min(1, category.room.sharedHolders)),
                waiting: waitingCount(for: index))
        }.sorted { $0.name < $1.name }
    }

    /// At most `Limits.named` categories: those that were set, then those that are held, then others.
    var listedCategories: ArraySlice<CategoryIndex> {
        var (set, held, others) = ([CategoryIndex](), [CategoryIndex](), [CategoryIndex]())
        for category in categories.pool.indices where categories.pool[category].base == nil {
            if categories.pool[category].isSet {
                set.append(category)
            } else if categories.pool[category].room.isHeld {
                held.append(category)
            } else if others.count < Limits.named {
                others.append(category)
            }
        }
        return (set + held + others).prefix(Limits.named)
    }

    private func waitingCount(for category: CategoryIndex) -> Int {
        categories[category].lanes.entries.reduce(0) { count, entry in
            let need = lanes[entry.lane].needs[Int(entry.need)]
            return categories[category].room.fits(need.mode, need.units)
                ? count : count + members(of: entry.lane, below: .max).count
        }
    }
}
