public import OpsCore

extension History {
    /// Returns the records of the operations that exist, in the order of the ids given.
    public func records(of ids: [OperationID]) throws(StoreError) -> [OperationRecord] {
        var records: [OperationRecord] = []
        records.reserveCapacity(ids.count)
        try inOneRead { () throws(StoreError) in
            var reader = RecordReader(self)
            var start = 0
            while start < ids.count {
                var end = start + 1
                // Consecutive ids are read with one scan.
                while end < ids.count, ids[end].rawValue == ids[end - 1].rawValue + 1 { end += 1 }
                try reader.read(from: ids[start].rawValue, to: ids[end - 1].rawValue, into: &records)
                start = end
            }
        }
        return records
    }

    public func record(of id: OperationID) throws(StoreError) -> OperationRecord? { try records(of: [id]).first }

    /// Returns an operation without its dependencies, of which there may be very many.
    public func recordAlone(of id: OperationID) throws(StoreError) -> OperationRecord? {
        var records: [OperationRecord] = []
        try inOneRead { () throws(StoreError) in
            var reader = RecordReader(self)
            reader.readsDependencies = false
            try reader.read(from: id.rawValue, to: id.rawValue, into: &records)
        }
        return records.first
    }

    /// Returns the main process of an executing operation, as long as it is alive.
    public func pid(of record: OperationRecord) throws(StoreError) -> Int32? {
        guard record.state == .executing, record.attempt > 0 else { return nil }
        let row = try statement("SELECT pid FROM attempt WHERE operation = ?1 AND number = ?2 AND exitedAt IS NULL")
        row.bind(1, record.id.rawValue)
        row.bind(2, record.attempt)
        defer { row.reset() }
        return try row.step() ? row.optionalInt32(0) : nil
    }

    /// Returns the first dependency of an operation that has not succeeded. One that was not needed counts as
    /// successful, and one that was removed no longer counts. A resolved `succeeded` edge was met before a retry
    /// reopened its dependency.
    public func unsuccessfulDependency(of id: OperationID) throws(StoreError) -> OperationID? {
        let row = try statement(
            """
            SELECT d.id FROM edge e CROSS JOIN operation d ON d.id = e.dependency
            WHERE e.operation = ?1 AND NOT iif(d.state = 3, d.outcome IN (0, 6), e.resolved AND e."when" = 0) LIMIT 1
            """)
        row.bind(1, id.rawValue)
        defer { row.reset() }
        return try row.step() ? OperationID(row.int(0)) : nil
    }

    public func dependencies(of id: OperationID) throws(StoreError) -> [OperationRecord.Dependency] {
        let rows = try statement(RecordReader.dependencySQL)
        rows.bind(1, id.rawValue)
        rows.bind(2, id.rawValue)
        var dependencies: [OperationRecord.Dependency] = []
        while try rows.step() {
            if let dependency = RecordReader.dependency(rows) { dependencies.append(dependency) }
        }
        return dependencies
    }

    static func usage(_ row: Statement, from first: Int32) -> ProcessUsage {
        ProcessUsage(
            userMicroseconds: row.int(first), systemMicroseconds: row.int(first + 1),
            maxResidentBytes: row.int(first + 2))
    }

    public func attempts(of id: OperationID) throws(StoreError) -> [AttemptRecord] {
        let rows = try statement(
            """
            SELECT number, run, outcome, cause, \(ownStatus()), startedAt, finishedAt, exitedAt,
                userMicroseconds, systemMicroseconds, maxResidentBytes, outputs
            FROM attempt WHERE operation = ?1 ORDER BY number
            """)
        rows.bind(1, id.rawValue)
        var attempts: [AttemptRecord] = []
        while try rows.step() {
            attempts.append(
                AttemptRecord(
                    number: rows.int32(0), run: rows.int32(1), outcome: Outcome(stored: rows.optionalInt(2)),
                    cause: rows.optionalText(3), exitCode: rows.optionalInt32(4), signal: rows.optionalInt32(5),
                    startedAt: rows.time(6), finishedAt: rows.optionalTime(7),
                    usage: rows.isNull(8) ? nil : Self.usage(rows, from: 9), hasOutputs: rows.bool(12)))
        }
        return attempts
    }

    /// Returns the instant at which an attempt started; nil if there is no such attempt.
    public func start(of attempt: AttemptID) throws(StoreError) -> WallInstant? {
        let row = try statement("SELECT startedAt FROM attempt WHERE operation = ?1 AND number = ?2")
        row.bind(1, attempt.operation.rawValue)
        row.bind(2, Int64(attempt.number))
        defer { row.reset() }
        return try row.step() ? row.optionalTime(0) : nil
    }

    /// Returns the first column of the only row with an id.
    func text(_ sql: String, _ id: Int64) throws(StoreError) -> String? {
        let row = try statement(sql)
        row.bind(1, id)
        defer { row.reset() }
        return try row.step() ? row.optionalText(0) : nil
    }

    func policy(_ id: Int64) throws(StoreError) -> Policy {
        let row = try statement(PolicyRow.select)
        row.bind(1, id)
        guard try row.step() else { return Policy() }
        defer { row.reset() }
        return PolicyRow.read(row)
    }

    func categories(_ id: Int64) throws(StoreError) -> [CategoryUse] {
        let rows = try statement("SELECT name, mode, units FROM categoryUse WHERE categorySet = ?1 ORDER BY place")
        rows.bind(1, id)
        var uses: [CategoryUse] = []
        while try rows.step() {
            let mode = CategoryUse.Mode(stored: rows.int(1)) ?? .exclusive
            uses.append(CategoryUse(name: rows.text(0), mode: mode, units: rows.int32(2)))
        }
        return uses
    }
}
