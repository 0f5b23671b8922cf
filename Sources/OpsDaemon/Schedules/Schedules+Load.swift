internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// State while stored schedules are loaded. The daemon works while thousands of them are read, a few at a time.
struct ScheduleLoading {
    /// Schedules that are still to be read, the last of which is next.
    var rest: [StoredSchedule]
    /// Start of the daemon. Only instants before it may have been missed.
    let arrival: UnixTime
    let zones = ZoneReader()
    /// Requests about schedules, which wait until all are loaded.
    var waiting: [() -> Void] = []
}

extension Schedules {
    /// Time for which schedules are read in one turn.
    private static let slice = TimeSpan.milliseconds(5)

    /// Begins to load the stored schedules when the daemon starts.
    func load() throws {
        boot = try Boot.identifier()
        let arrival = UnixTime(flooring: Moment.now().wall)
        loading = ScheduleLoading(rest: try history.schedules().reversed(), arrival: arrival)
        try loadSome()
    }

    /// Continues to load schedules.
    func loadOn() {
        guard loading != nil, turns.outage == nil, turns.longTurn == nil else { return }
        turns.commitBeforeReading()
        guard turns.outage == nil, turns.longTurn == nil else { return }
        do {
            try loadSome()
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch {
            log.error("schedules: \(error)")
        }
    }

    private func loadSome() throws {
        guard let (arrival, zones) = loading.map({ ($0.arrival, $0.zones) }) else { return }
        let end = Clock.read().monotonic + Self.slice
        while let stored = loading?.rest.last {
            let schedule = try loaded(stored, ScheduleDefinition(stored, zones), arrival)
            if let problem = schedule.problem {
                log.error("schedule \(stored.name) of \(stored.user) does not run: \(problem)")
            }
            insert(schedule)
            loading?.rest.removeLast()
            if Clock.read().monotonic > end, loading?.rest.isEmpty == false { return nextLoad.schedule() }
        }
        try finish.load()
        for schedule in all where schedule.hasEvents { try loadEvents(schedule, arrival) }
        triggers.removeLeftovers()
        for schedule in all where schedule.definition.trigger != nil { triggers.update(schedule) }
        scheduleRepair()
        let waiting = loading?.waiting ?? []
        loading = nil
        refresh()
        for request in waiting { request() }
    }

    /// Returns a schedule that could not run before `arrival`.
    private func loaded(
        _ stored: StoredSchedule, _ definition: ScheduleDefinition, _ arrival: UnixTime
    ) throws -> Schedule {
        let schedule = try open(stored, definition)
        try turnBack(schedule, to: arrival)
        schedule.returned(at: arrival)
        return schedule
    }

    /// Loads schedules with problems again, for example because the file of their time zone was missing.
    func repair(at now: UnixTime) throws {
        let zones = ZoneReader()
        for schedule in all where schedule.problem != nil {
            var stored = schedule.stored
            stored.position = schedule.position(schedule.ledger)
            let definition = ScheduleDefinition(stored, zones)
            guard definition.problems.isEmpty else { continue }
            let repaired = try loaded(stored, definition, now)
            replace(schedule, with: repaired)
            if repaired.hasEvents { try loadEvents(repaired, now) }
            log.notice("schedule \(stored.name) of \(stored.user) runs again")
        }
        scheduleRepair()
    }

    func scheduleRepair() {
        if all.contains(where: { $0.problem != nil }) { repairs.set(after: Self.absence) }
    }

    /// Puts a request off until all schedules are loaded. Returns false if they are.
    func putOffUntilLoaded(_ request: @escaping () -> Void) -> Bool {
        guard loading != nil else { return false }
        loading?.waiting.append(request)
        return true
    }
}
