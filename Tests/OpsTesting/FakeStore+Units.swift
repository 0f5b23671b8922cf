import OpsCore

/// An independent implementation of named units: how many holders each unit may have.
extension FakeStore {
    /// Returns the closest group around an operation that holds the category.
    private func domain(of record: Record, _ name: String) -> Record? {
        ancestors(of: record).first { $0.state == .executing && use($0, name) != nil }
    }

    private func use(_ record: Record, _ name: String) -> CategoryUse? {
        CategoryUse.strictest(record.categories).first { $0.name == name }
    }

    /// Returns how many holders each unit may have that the operation could get.
    func allowedUnits(for record: Record, _ name: String) -> [String: Int32] {
        guard let group = domain(of: record, name) else {
            guard let settings = categorySettings[name] else { return [:] }
            return Dictionary(uniqueKeysWithValues: settings.units.map { ($0, settings.share) })
        }
        // A group that holds all of the category follows its list; the others have the units that they were given.
        return use(group, name)?.mode == .exclusive ? allowedUnits(for: group, name) : taken(by: group, name)
    }

    /// Returns how many shares of each unit other operations hold in the scope of this one.
    func takenUnits(besides record: Record, _ name: String) -> [String: Int32] {
        let mine = domain(of: record, name)?.id
        var taken: [String: Int32] = [:]
        for other in records where other.id != record.id && other.state == .executing {
            guard use(other, name)?.mode == .units, domain(of: other, name)?.id == mine else { continue }
            taken.merge(self.taken(by: other, name), uniquingKeysWith: +)
        }
        return taken
    }

    /// Returns the held shares of units that have been removed.
    func surplusUnits(for record: Record, _ name: String) -> Int64 {
        let allowed = allowedUnits(for: record, name)
        if allowed.isEmpty { return 0 }
        return takenUnits(besides: record, name).reduce(0) { $0 + Int64(max(0, $1.value - (allowed[$1.key] ?? 0))) }
    }

    func namedCategories(of record: Record) -> Set<String> {
        Set(record.categories.map(\.name).filter { !allowedUnits(for: record, $0).isEmpty })
    }

    private func taken(by record: Record, _ name: String) -> [String: Int32] {
        let units = record.assigned.first { $0.category == name }?.units ?? []
        return Dictionary(units.map { ($0, 1) }, uniquingKeysWith: +)
    }

    mutating func assign(_ assigned: [AssignedUnits], to id: OperationID, _ attempt: Int32) throws(Violation) {
        try require(self[id].state == .executing && self[id].attempt == attempt, .lawfulSteps, "units of \(id)")
        for category in assigned {
            let name = category.category
            guard let use = use(self[id], name) else { throw Violation(.exclusion, "\(id) does not use \(name)") }
            let allowed = allowedUnits(for: self[id], name)
            let given = Dictionary(category.units.map { ($0, Int32(1)) }, uniquingKeysWith: +)
            if use.mode == .units {
                try require(category.units.count == Int(use.units), .exclusion, "\(id) has \(category)")
                let others = takenUnits(besides: self[id], name)
                for (unit, count) in given {
                    try require(
                        count + (others[unit] ?? 0) <= allowed[unit] ?? 0, .exclusion,
                        "unit \(unit) of \(name) has more holders than its share with \(id)")
                }
            } else {
                try require(Set(given.keys) == Set(allowed.keys), .exclusion, "\(id) has not all of \(name)")
            }
            self[id].unassigned.remove(name)
        }
        self[id].assigned = assigned
    }
}
