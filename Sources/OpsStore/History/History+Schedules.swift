public import OpsCore

/// A record of a schedule with the state of its run.
public struct ScheduleRun: Equatable, Sendable {
    public var instant: ScheduleInstant
    /// `succeeded`, or an outcome of an operation of the run that did not succeed; nil while an operation is unfinished,
    /// and without a run that is still stored.
    public var outcome: Outcome?
    /// Number of operations that have not finished.
    public var unfinished: Int
    /// End of its last operation, once all have finished.
    public var finishedAt: WallInstant?
    public var isUnfinished: Bool { unfinished > 0 }

    public init(instant: ScheduleInstant, outcome: Outcome?, unfinished: Int) {
        self.instant = instant
        self.outcome = outcome
        self.unfinished = unfinished
    }
}

extension History {
    /// Returns all schedules in the order of their names.
    public func schedules() throws(StoreError) -> [StoredSchedule] {
        let row = try statement(
            """
            SELECT id, uid, user, gid, name, definition, addedAt, accounted, runs, isPaused, pausedThrough, boot
            FROM schedule ORDER BY name, uid
            """)
        var found: [StoredSchedule] = []
        while try row.step() {
            var schedule = StoredSchedule(
                uid: UInt32(truncatingIfNeeded: row.int(1)), user: row.text(2),
                gid: UInt32(truncatingIfNeeded: row.int(3)), name: row.text(4), definition: row.text(5),
                addedAt: row.time(6))
            schedule.id = row.int(0)
            schedule.position.accounted = row.int(7)
            schedule.position.runs = Int(row.int(8))
            schedule.position.isPaused = row.bool(9)
            schedule.position.pausedThrough = row.optionalInt(10)
            schedule.position.boot = row.optionalText(11)
            found.append(schedule)
        }
        return found
    }

    /// Returns the newest records of a schedule, the newest first: of one result, or of any.
    public func instants(
        of schedule: Int64, _ result: ScheduleInstant.Result? = nil, limit: Int
    ) throws(StoreError) -> [ScheduleInstant] {
        let row = try statement(
            """
            SELECT \(Self.instantColumns) FROM scheduleInstant
            WHERE schedule = ?1 AND (?2 IS NULL OR result = ?2)
            ORDER BY nominal DESC, origin, number DESC LIMIT ?3
            """)
        row.bind(1, schedule)
        row.bind(2, result?.rawValue)
        row.bind(3, limit)
        return try instants(row)
    }

    /// Returns the records of the calendar that reach behind an instant.
    public func instants(of schedule: Int64, behind instant: Int64) throws(StoreError) -> [ScheduleInstant] {
        // A record of several instants may begin before the instant. Only the last one before it can contain it, for
        // records do not overlap.
        let row = try statement(
            """
            SELECT \(Self.instantColumns) FROM scheduleInstant
            WHERE schedule = ?1 AND origin = 0 AND through > ?2 AND nominal >= coalesce((
                SELECT max(nominal) FROM scheduleInstant
                WHERE schedule = ?1 AND origin = 0 AND nominal <= ?2 AND result <> 0), ?2)
            """)
        row.bind(1, schedule)
        row.bind(2, instant)
        return try instants(row)
    }

    /// Returns the record of instants that did not run, if one contains this instant of the calendar.
    public func stretch(containing nominal: Int64, of schedule: Int64) throws(StoreError) -> ScheduleInstant? {
        // Records do not overlap, so only the last one that begins before the instant, or at it, can contain it.
        let row = try statement(
            """
            SELECT \(Self.instantColumns) FROM scheduleInstant
            WHERE schedule = ?1 AND origin = 0 AND nominal <= ?2 ORDER BY nominal DESC LIMIT 1
            """)
        row.bind(1, schedule)
        row.bind(2, nominal)
        return try instants(row).first { $0.result != .run && $0.through >= nominal }
    }

    /// Returns the records of runs of all schedules whose outcome is not stored. Few of them have finished.
    public func runsWithoutOutcome() throws(StoreError) -> [ScheduleInstant] {
        try instants(
            statement(
                """
                SELECT \(Self.instantColumns) FROM scheduleInstant
                WHERE graph IS NOT NULL AND outcome IS NULL ORDER BY graph
                """))
    }

    /// Returns the record of a graph that is the run of a schedule.
    public func instant(of graph: GraphID) throws(StoreError) -> ScheduleInstant? {
        let row = try statement(
            """
            SELECT \(Self.instantColumns) FROM scheduleInstant
            WHERE graph = ?1 AND schedule IN (
                SELECT own.id FROM submission s CROSS JOIN schedule own ON own.uid = s.uid AND own.name = s.name
                WHERE s.graph = ?1)
            """)
        row.bind(1, graph.rawValue)
        return try instants(row).first
    }

    /// Returns the graphs of a schedule's finished runs that are still stored, the oldest first.
    public func keptGraphs(of schedule: Int64) throws(StoreError) -> [GraphID] {
        let row = try statement(
            """
            SELECT i.graph FROM scheduleInstant i
            WHERE i.schedule = ?1 AND i.graph IS NOT NULL AND i.outcome IS NOT NULL
                AND EXISTS (SELECT 1 FROM submission s WHERE s.graph = i.graph)
            ORDER BY i.graph
            """)
        row.bind(1, schedule)
        var found: [GraphID] = []
        while try row.step() { found.append(GraphID(row.int(0))) }
        return found
    }

    /// Returns the keys that are not stored with their identity, up to a number of them.
    public func newKeys(
        among keys: [TriggerKey], of schedule: Int64, limit: Int
    ) throws(StoreError) -> [TriggerKey] {
        let row = try statement("SELECT identity FROM triggerKey WHERE schedule = ?1 AND key = ?2")
        var found: [TriggerKey] = []
        for key in keys where found.count < limit {
            row.bind(1, schedule)
            row.bind(2, key.key)
            let isKnown = try row.step() && row.text(0) == key.identity
            row.reset()
            if !isKnown { found.append(key) }
        }
        return found
    }

    /// Returns the oldest stored keys that are not among the present ones, beyond a number that is kept, up to a limit.
    public func goneKeys(
        of schedule: Int64, present: Set<String>, beyond count: Int, limit: Int
    ) throws(StoreError) -> [String] {
        let number = try statement("SELECT count(*) FROM triggerKey WHERE schedule = ?1")
        number.bind(1, schedule)
        var stored = 0
        while try number.step() { stored = Int(number.int(0)) }
        guard stored > count else { return [] }
        let row = try statement("SELECT key FROM triggerKey WHERE schedule = ?1 ORDER BY at, key")
        row.bind(1, schedule)
        var gone: [String] = []
        while try row.step() { if !present.contains(row.text(0)) { gone.append(row.text(0)) } }
        return Array(gone.dropLast(count).prefix(limit))
    }

    /// Returns whether an instant of the calendar has a record of its own.
    public func hasRecord(at nominal: Int64, of schedule: Int64) throws(StoreError) -> Bool {
        try nextNumber(at: nominal, .calendar, of: schedule) > 0
    }

    /// Returns whether an instant of the calendar has run, at its time or later.
    public func hasRun(at nominal: Int64, of schedule: Int64) throws(StoreError) -> Bool {
        let row = try statement(
            """
            SELECT 1 FROM scheduleInstant
            WHERE schedule = ?1 AND nominal = ?2 AND origin IN (0, 2) AND result = 0
            """)
        row.bind(1, schedule)
        row.bind(2, nominal)
        defer { row.reset() }
        return try row.step()
    }

    /// Returns the last instant of the calendar whose record was removed, because there were too many.
    public func lastRemovedInstant(of schedule: Int64) throws(StoreError) -> Int64? {
        let row = try statement("SELECT removedThrough FROM schedule WHERE id = ?1")
        row.bind(1, schedule)
        defer { row.reset() }
        return try row.step() ? row.optionalInt(0) : nil
    }

    /// Returns the number of the next record of an instant.
    public func nextNumber(
        at nominal: Int64, _ origin: ScheduleInstant.Origin, of schedule: Int64
    ) throws(StoreError) -> Int64 {
        let row = try statement(
            "SELECT max(number) FROM scheduleInstant WHERE schedule = ?1 AND nominal = ?2 AND origin = ?3")
        row.bind(1, schedule)
        row.bind(2, nominal)
        row.bind(3, origin.rawValue)
        defer { row.reset() }
        return try row.step() ? row.optionalInt(0).map { $0 + 1 } ?? 0 : 0
    }

    private static let instantColumns =
        "schedule, nominal, origin, number, through, count, result, graph, at, note, key, outcome"

    private func instants(_ row: Statement) throws(StoreError) -> [ScheduleInstant] {
        var found: [ScheduleInstant] = []
        while try row.step() {
            guard let result = ScheduleInstant.Result(rawValue: row.int(6)),
                let origin = ScheduleInstant.Origin(rawValue: row.int(2))
            else { continue }
            var instant = ScheduleInstant(
                schedule: row.int(0), nominal: row.int(1), through: row.int(4), count: Int(row.int(5)), result: result)
            instant.origin = origin
            instant.number = row.int(3)
            instant.graph = row.optionalInt(7)
            instant.at = row.time(8)
            instant.note = row.optionalText(9)
            instant.key = row.optionalText(10)
            instant.outcome = row.optionalInt(11).flatMap(Outcome.init(stored:))
            found.append(instant)
        }
        return found
    }

    /// Returns a record with the state of its run.
    public func run(of instant: ScheduleInstant) throws(StoreError) -> ScheduleRun {
        var run = ScheduleRun(instant: instant, outcome: instant.outcome, unfinished: 0)
        guard let graph = instant.graph else { return run }
        run.unfinished = try unfinishedCount(of: GraphID(graph))
        if run.isUnfinished {
            run.outcome = nil
            return run
        }
        // A graph may be pruned before its record, which then has the outcome.
        let row = try statement(
            """
            SELECT count(*), min(CASE WHEN o.outcome NOT IN (0, 6) THEN o.outcome END), max(o.finishedAt)
            FROM submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1
            """)
        row.bind(1, graph)
        defer { row.reset() }
        guard try row.step(), row.int(0) > 0 else { return run }
        run.outcome = row.optionalInt(1).flatMap(Outcome.init(stored:)) ?? .succeeded
        run.finishedAt = row.optionalTime(2)
        return run
    }

    /// Returns the operations of a run that have not finished.
    public func unfinishedOperations(of instant: ScheduleInstant) throws(StoreError) -> [OperationID] {
        guard let graph = instant.graph else { return [] }
        let row = try statement(
            """
            SELECT o.id FROM submission s CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1
            WHERE s.graph = ?1 AND o.state < 3 ORDER BY o.id
            """)
        row.bind(1, graph)
        var found: [OperationID] = []
        while try row.step() { found.append(OperationID(row.int(0))) }
        return found
    }

    /// Returns the start of the last run that succeeded, and the number of missed instants.
    public func numbers(of schedule: Int64) throws(StoreError) -> (lastSuccess: WallInstant?, missed: Int) {
        let row = try statement("SELECT max(at) FROM scheduleInstant WHERE schedule = ?1 AND outcome = ?2")
        row.bind(1, schedule)
        row.bind(2, Outcome.succeeded.stored)
        defer { row.reset() }
        let lastSuccess: WallInstant? = try row.step() ? row.optionalTime(0) : nil
        return (lastSuccess, try missedInstants(of: schedule))
    }

    /// Returns the number of instants of a schedule that were missed.
    public func missedInstants(of schedule: Int64) throws(StoreError) -> Int {
        let row = try statement("SELECT sum(count) FROM scheduleInstant WHERE schedule = ?1 AND result = 2")
        row.bind(1, schedule)
        defer { row.reset() }
        return try row.step() ? Int(row.int(0)) : 0
    }
}
