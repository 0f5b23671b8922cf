internal import OpsCore

/// Named units as rows: names are joined by commas, which no name contains.
extension Store {
    func put(_ settings: CategorySettings) throws(StoreError) {
        let statement = statements.setting.putCategory
        statement.bind(1, settings.name)
        statement.bind(2, settings.capacity)
        statement.bind(3, settings.units.isEmpty ? nil : settings.units.joined(separator: ","))
        statement.bind(4, settings.share)
        statement.bind(5, settings.export)
        statement.bind(6, settings.rate.map { Int64($0.count) })
        statement.bind(7, settings.rate?.interval)
        try statement.run()
        if settings.rate == nil { try forgetStarts(of: settings.name) }
    }

    func store(_ assigned: [AssignedUnits], of id: OperationID, _ attempt: Int32) throws(StoreError) {
        let statement = statements.setting.assignUnits
        for category in assigned {
            statement.bind(1, id.rawValue)
            statement.bind(2, attempt)
            statement.bind(3, category.category)
            statement.bind(4, category.units.joined(separator: ","))
            try statement.run()
        }
    }

    func loadCategories(_ snapshot: inout Snapshot) throws(StoreError) {
        let rows = try database.prepare(
            "SELECT name, capacity, units, share, export, rateCount, rateInterval FROM category")
        while try rows.step() {
            snapshot.categorySettings.append(
                CategorySettings(
                    name: rows.text(0), capacity: rows.int32(1), units: unitNames(rows.optionalText(2) ?? ""),
                    share: rows.int32(3), export: rows.optionalText(4),
                    rate: rows.optionalTime(6).map { Rate(count: rows.int32(5), interval: $0) }))
        }
    }

    func loadAssignedUnits(_ snapshot: inout Snapshot) throws(StoreError) {
        let rows = try database.prepare(AssignedUnits.sql)
        for row in snapshot.operations where row.state == .executing && row.categories != nil {
            let assigned = try AssignedUnits.read(rows, of: row.id, row.flags.contains(.group) ? 0 : row.attempt)
            if !assigned.isEmpty { snapshot.assigned[row.id] = assigned }
        }
    }
}

extension AssignedUnits {
    static let sql = """
        SELECT category, units FROM assignedUnit WHERE operation = ?1 AND attempt = ?2 ORDER BY category
        """

    static func read(
        _ rows: Statement, of id: OperationID, _ attempt: Int32
    ) throws(StoreError) -> [AssignedUnits] {
        rows.bind(1, id.rawValue)
        rows.bind(2, attempt)
        var assigned: [AssignedUnits] = []
        while try rows.step() { assigned.append(AssignedUnits(category: rows.text(0), units: unitNames(rows.text(1)))) }
        return assigned
    }
}

private func unitNames(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }
