/// Named units: which ones an operation holds, from its start to its end.
extension Scheduler {
    /// Assigns the units of an execution that has just started.
    mutating func assignUnits(to index: ExecutionIndex) {
        let needs = executions[index].holding
        guard needs.contains(where: { categories[$0.category].units != nil }) else { return }
        let assigned = needs.compactMap { categories[$0.category].assign($0) }
        guard !assigned.isEmpty else { return }
        executions[index].assigned = assigned
        record(
            .unitsAssigned(
                table[executions[index].operation].operationID, attempt: executions[index].attempt,
                assigned.map { AssignedUnits(category: categories[$0.category].name, units: $0.names) }))
    }

    /// Restores the units that an execution held when opsd ended.
    mutating func restoreUnits(_ stored: [AssignedUnits], of needs: [Need]) -> [Assignment] {
        stored.compactMap { stored in
            let need = needs.first { categories[$0.category].name == stored.category }
            return need.map { categories[$0.category].restore(stored.units, $0) }
        }
    }

    /// Returns the units that an executing operation holds.
    public func assignedUnits(of id: OperationID) -> [AssignedUnits] {
        guard let index = unfinished(id).flatMap({ execution(of: $0) }) else { return [] }
        return executions[index].assigned.map {
            AssignedUnits(category: categories[$0.category].name, units: $0.names)
        }
    }

    /// Returns the variables that name the units of an operation to its process.
    public func unitVariables(of id: OperationID) -> [UnitVariable] {
        assignedUnits(of: id).map { assigned in
            let export = categories.find(assigned.category).flatMap { categories[$0].export }
            return UnitVariable(
                category: assigned.category, value: assigned.distinct.joined(separator: ","), export: export)
        }
    }

    /// Returns the settings of a category; nil for one without any.
    public func categorySettings(of name: String) -> CategorySettings? {
        categories.find(name).flatMap { categories[$0].isSet ? categories[$0].settings : nil }
    }

    public struct UnitStanding: Equatable, Sendable {
        public var name: String
        /// Operations that hold it; the first ones of more than `Limits.named`.
        public var holders: [OperationID]
        /// True if it has left the list: no other operation gets it.
        public var isDraining: Bool
    }

    /// Returns the units of a category in the order of their list, then those that drain by name.
    func unitStandings(of category: CategoryIndex) -> [UnitStanding] {
        guard let units = categories[category].units else { return [] }
        var holders: [String: [OperationID]] = [:]
        for index in executions.indices {
            for assignment in executions[index].assigned where assignment.category == category {
                for name in Set(assignment.names) {
                    holders[name, default: []].append(table[executions[index].operation].operationID)
                }
            }
        }
        let listed = Set(units.names)
        let draining = holders.keys.filter { !listed.contains($0) }.sorted()
        return (units.names.map { ($0, false) } + draining.map { ($0, true) }).map { name, isDraining in
            UnitStanding(
                name: name, holders: Array((holders[name] ?? []).sorted().prefix(Limits.named)), isDraining: isDraining)
        }
    }
}
