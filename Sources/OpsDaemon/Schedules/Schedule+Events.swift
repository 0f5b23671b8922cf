internal import OpsCalendar
internal import OpsCore
internal import OpsStore

/// Instants that events cause: the end of a run, and the boot of the machine. They have records like those of the
/// calendar.
extension Schedule {
    /// An instant that an event has caused.
    struct EventInstant: Equatable {
        let nominal: UnixTime
        let isBoot: Bool
    }

    /// Instants from which events count, and the last one with a record.
    struct EventState {
        /// Instant at which the last run ended, or of the last event with a record; nil: there was none.
        var base: UnixTime?
        /// Instant of this boot, if `@reboot` has not run in it.
        var boot: UnixTime?
        /// Instants before this one were missed.
        var missedBefore = UnixTime.earliest
        /// The latest record, with which the next may be merged.
        var last: InstantRecord?
    }

    var hasEvents: Bool { definition.afterFinish != nil || definition.runsAtBoot }

    /// The next instant that an event has caused; nil while the event has not happened.
    var nextEvent: EventInstant? {
        let policy = definition.policy
        if let count = policy.count, ledger.position.runs >= count { return nil }
        var next: EventInstant?
        if let boot = events.boot { next = EventInstant(nominal: boot, isBoot: true) }
        if let pause = definition.afterFinish, unfinished.isEmpty {
            let first = UnixTime(flooring: stored.addedAt)
            let nominal = events.base.map { UnixTime(seconds: $0.seconds + pause) } ?? first
            if next.map({ nominal < $0.nominal }) ?? true { next = EventInstant(nominal: nominal, isBoot: false) }
        }
        guard var next else { return nil }
        if let from = policy.from, next.nominal < from { next = EventInstant(nominal: from, isBoot: next.isBoot) }
        return next.nominal <= policy.until ?? .latest ? next : nil
    }

    /// The instant at which a decision is next due.
    var nextStart: UnixTime? {
        guard let event = nextEvent else { return nextOfCalendar }
        let start = ledger.start(of: event.nominal)
        return nextOfCalendar.map { min($0, start) } ?? start
    }

    /// Returns whether an instant without a record has passed, even if its delay has not.
    func hasCome(by now: UnixTime) -> Bool {
        if let event = nextEvent, ledger.start(of: event.nominal) <= now { return true }
        return ledger.nextNominal.map { $0 <= now } ?? false
    }

    /// Moves an event to the next second, because its own has a record.
    func delay(_ event: EventInstant) {
        let next = UnixTime(seconds: event.nominal.seconds + 1)
        if event.isBoot {
            events.boot = next
        } else if let pause = definition.afterFinish {
            events.base = UnixTime(seconds: next.seconds - pause)
        }
    }

    /// Records the end of a run.
    func ended(at end: WallInstant, now: UnixTime) {
        let floor = UnixTime(flooring: end)
        let ceiling = UnixTime(seconds: floor.seconds + (floor.wallInstant == end ? 0 : 1))
        events.base = max(events.base ?? .earliest, min(ceiling, UnixTime(seconds: now.seconds + 1)))
    }

    /// Records that the clock was turned back.
    func turnBackEvents(to now: UnixTime) {
        events.base = events.base.map { min($0, now) }
        events.boot = events.boot.map { min($0, now) }
        events.missedBefore = min(events.missedBefore, now)
        // The latest record may be of instants after `now`, with which earlier ones cannot be merged.
        events.last = nil
    }

    /// Decides about a due instant.
    func decision(on event: EventInstant, at now: UnixTime) -> InstantRecord.Result {
        let policy = definition.policy
        let start = ledger.start(of: event.nominal)
        if start <= ledger.position.pausedThrough { return .paused }
        if !event.isBoot, start < events.missedBefore {
            if policy.catchUp == .none || event.nominal.seconds < now.seconds - policy.window { return .missed }
        }
        return policy.overlap.skips(unfinished.count) ? .skipped : .run
    }

    /// Returns the record of an instant that does not run, with those after it that are due as well.
    func record(_ result: InstantRecord.Result, of event: EventInstant, at now: UnixTime) -> InstantRecord {
        guard !event.isBoot, let pause = definition.afterFinish, result == .missed || result == .paused else {
            return InstantRecord(result, at: event.nominal)
        }
        let end = min(now, result == .missed ? events.missedBefore : ledger.position.pausedThrough)
        let more = max(0, (end.seconds - event.nominal.seconds) / pause)
        let through = UnixTime(seconds: event.nominal.seconds + more * pause)
        return InstantRecord(result, from: event.nominal, through: through, count: Int(more) + 1)
    }

    /// Returns a record of an event with the position after it, as they are stored.
    func accounting(_ record: InstantRecord, of event: EventInstant) -> (write: ScheduleWrite, after: EventState) {
        var after = events
        let joined = events.last?.joined(with: record) ?? record
        after.last = joined
        after.base = max(events.base ?? .earliest, record.through)
        var position = position(ledger)
        if event.isBoot {
            after.boot = nil
            position.boot = currentBoot
        }
        if record.result == .run { position.runs += 1 }
        return (ScheduleWrite(ScheduleInstant(joined, of: id), position), after)
    }

    /// Adopts the state that a commit has stored.
    func adopt(_ after: EventState, isRun: Bool) {
        if events.boot != nil, after.boot == nil { boot = currentBoot }
        events = after
        if isRun { ledger.noteRun() }
    }
}
