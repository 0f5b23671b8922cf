internal import OpsCalendar
internal import OpsCore
internal import OpsStore

/// Runs that events cause.
extension Schedules {
    /// Finds the events of a schedule since its last record, when the daemon starts.
    func loadEvents(_ schedule: Schedule, _ now: UnixTime) throws {
        if schedule.definition.runsAtBoot, schedule.boot != boot { schedule.events.boot = now }
        let records = try history.instants(of: schedule.id, limit: Self.recordsWithEvents)
        let latest = records.filter { $0.origin == .calendar && $0.result != .run }.map(\.through).max()
        if let latest { schedule.events.base = min(UnixTime(seconds: latest), now) }
        if let run = records.first(where: { $0.result == .run && $0.graph != nil }) {
            let state = try history.run(of: run)
            // The graph was removed, and its end with it.
            if !state.isUnfinished { schedule.ended(at: state.finishedAt ?? run.at, now: now) }
        }
    }

    /// Number of records that are searched for the last run and the last other instant.
    private static let recordsWithEvents = 100

    /// Processes the instant that an event has caused, if it is due.
    func decideEvents(_ schedule: Schedule, at now: UnixTime) throws {
        // The second may have a record already: the clock may have been turned back.
        while let event = schedule.nextEvent, try history.hasRecord(at: event.nominal.seconds, of: schedule.id) {
            schedule.delay(event)
        }
        guard let event = schedule.nextEvent, schedule.ledger.start(of: event.nominal) <= now else { return }
        let result = schedule.decision(on: event, at: now)
        guard result != .run else {
            _ = try start(schedule, at: event)
            return
        }
        try store(schedule.record(result, of: event, at: now), of: schedule, event, note: nil)
    }

    /// Submits the run of an event.
    /// - Returns: True if a commit is under way; false if the run was refused, which has been recorded.
    private func start(_ schedule: Schedule, at event: Schedule.EventInstant) throws -> Bool {
        let (write, after) = schedule.accounting(InstantRecord(.run, at: event.nominal), of: event)
        let cancelled = schedule.definition.policy.overlap == .cancel ? schedule.unfinished : []
        return try start(schedule, write, cancelling: cancelled) {
            schedule.adopt(after, isRun: true)
        } refused: { [unowned self] reason in
            try self.store(InstantRecord(.refused, at: event.nominal), of: schedule, event, note: reason)
        }
    }

    /// Stores the record of an event that does not run.
    private func store(
        _ record: InstantRecord, of schedule: Schedule, _ event: Schedule.EventInstant, note: String?
    ) throws {
        var (write, after) = schedule.accounting(record, of: event)
        write.instant.note = note
        guard try store(write, of: schedule, from: record.nominal, count: record.count) else { return }
        schedule.adopt(after, isRun: false)
    }
}
