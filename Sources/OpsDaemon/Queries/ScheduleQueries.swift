internal import OpsStore
internal import OpsWire

/// Schedules with their last runs, a few at a time.
struct ScheduleListQuery: Query {
    /// The state of a schedule at the time of the query.
    struct Listed: Sendable {
        let id: Int64
        let row: ScheduleRow
        let latest: ScheduleInstant?

        init(_ schedule: Schedule) {
            id = schedule.id
            row = ScheduleRow(schedule, missed: 0, last: nil)
            latest = schedule.latest
        }
    }

    private let listed: [Listed]
    private var rows: [ScheduleRow] = []

    var heldBytes: Int { (listed.count + rows.count) * 300 }

    init(_ listed: [Listed]) { self.listed = listed }

    mutating func proceed(_ history: History) throws -> [ScheduleRow]? {
        guard rows.count < listed.count else { return rows }
        let next = listed[rows.count]
        var row = next.row
        row.missed = try history.missedInstants(of: next.id)
        if let run = next.latest { row.setLast(try history.run(of: run)) }
        rows.append(row)
        return nil
    }
}

/// The newest records of a schedule with the states of their runs, a few at a time.
struct ScheduleRunsQuery: Query {
    private let id: Int64
    private let name: String
    private let limit: Int
    private var instants: [ScheduleInstant]?
    private var rows: [ScheduleRunRow] = []

    var heldBytes: Int { (instants?.count ?? 0) * 100 + rows.count * 300 }

    init(_ schedule: Schedule, limit: Int) {
        id = schedule.id
        name = schedule.name
        self.limit = limit
    }

    mutating func proceed(_ history: History) throws -> [ScheduleRunRow]? {
        guard let instants else {
            instants = try history.instants(of: id, limit: limit)
            return nil
        }
        guard rows.count < instants.count else { return rows }
        rows.append(ScheduleRunRow(try history.run(of: instants[rows.count]), of: name))
        return nil
    }
}
