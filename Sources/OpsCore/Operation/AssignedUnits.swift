/// The named units that an operation holds of one category.
public struct AssignedUnits: Hashable, Sendable, Codable {
    public var category: String
    /// Names in the order of assignment. A unit of which the operation holds several shares is named as many times.
    public var units: [String]
    public init(category: String, units: [String]) {
        self.category = category
        self.units = units
    }

    /// Names of the units, each once.
    public var distinct: [String] {
        var seen: Set<String> = []
        return units.filter { seen.insert($0).inserted }
    }
}

/// The settings of a category that users have given.
public struct CategorySettings: Hashable, Sendable, Codable {
    public var name: String
    /// With named units: their number times their share; `Limits.noCapacity` for no limit.
    public var capacity: Int32
    /// Names of its units; empty for a category that only counts.
    public var units: [String]
    /// Number of operations that may hold one unit at once.
    public var share: Int32
    /// Second variable that names the assigned units to a process.
    public var export: String?
    /// Limit of starts within an interval.
    public var rate: Rate?
    public init(
        name: String, capacity: Int32 = 1, units: [String] = [], share: Int32 = 1, export: String? = nil,
        rate: Rate? = nil
    ) {
        self.rate = rate
        self.name = name
        self.capacity = capacity
        self.units = units
        self.share = share
        self.export = export
    }
}

/// An edit of the settings of a category.
public struct CategoryEdit: Hashable, Sendable, Codable {
    /// New size, which makes it a category that only counts.
    public var capacity: Int32?
    /// Names of its units, which make it a category of named units.
    public var units: [String]?
    public var share: Int32?
    public var export: Setting<String>
    public var rate: Setting<Rate>
    public init(
        capacity: Int32? = nil, units: [String]? = nil, share: Int32? = nil, export: Setting<String> = .keep,
        rate: Setting<Rate> = .keep
    ) {
        self.rate = rate
        self.capacity = capacity
        self.units = units
        self.share = share
        self.export = export
    }
}

extension Event {
    /// Sets the capacity of a category that only counts.
    public static func setCategory(_ name: String, capacity: Int32) -> Event {
        .setCategory(name, CategoryEdit(capacity: capacity))
    }
}

/// Units of one category that an execution holds.
struct Assignment: Codable {
    let category: CategoryIndex
    let names: [String]
    /// Shares that it has taken; empty for holders of the whole category.
    let taken: [UnitIndex]
}

/// The units of one category as a process is given them.
public struct UnitVariable: Equatable, Sendable {
    public var category: String
    /// Their names with commas between them.
    public var value: String
    /// Second variable with the same value.
    public var export: String?

    public init(category: String, value: String, export: String?) {
        (self.category, self.value, self.export) = (category, value, export)
    }
}
