internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsWire

/// One schedule: its definition and its accounting, as they are stored.
final class Schedule {
    let stored: StoredSchedule
    let definition: ScheduleDefinition
    var ledger: InstantLedger {
        didSet { if ledger.position != oldValue.position { nextOfCalendar = ledger.nextStart } }
    }
    /// Instant at which a decision about the calendar is next due: each turn asks all schedules for it.
    private(set) var nextOfCalendar: UnixTime?
    /// Records of runs that have not finished.
    var unfinished: [ScheduleInstant] = []
    /// Graphs of finished runs that are kept, the oldest first; nil: not read yet.
    var keptGraphs: [GraphID]?
    /// Number of records since the oldest were last removed. Those before the start of the daemon are not known.
    var recordsSinceRemoval = RunFinish.recordsBetweenRemovals
    /// Boot of the machine in which `@reboot` has run.
    var boot: String?
    let currentBoot: String
    var events = EventState()
    /// Instant and number of the latest record of a trigger.
    var lastTrigger = (at: UnixTime.earliest, number: Int64(0))
    /// True while it is in the backlog of due schedules.
    var isInBacklog = false
    /// True while a run is being committed.
    var isCommitting = false
    /// The run of the latest instant.
    var latest: ScheduleInstant?

    var id: Int64 { stored.id }
    var name: String { stored.name }

    /// - Parameters:
    ///   - last: The newest record.
    ///   - run: The newest record of a run.
    ///   - ahead: Records behind the instant up to which every instant has one.
    ///   - boot: The current boot of the machine.
    init(
        _ stored: StoredSchedule, _ definition: ScheduleDefinition, last: ScheduleInstant? = nil,
        run: ScheduleInstant? = nil, ahead: [ScheduleInstant] = [], boot currentBoot: String
    ) {
        self.stored = stored
        self.definition = definition
        self.currentBoot = currentBoot
        var position = InstantLedger.Position(accounted: UnixTime(seconds: stored.position.accounted))
        position.runs = stored.position.runs
        if stored.position.isPaused {
            position.pausedThrough = .latest
        } else if let through = stored.position.pausedThrough {
            position.pausedThrough = UnixTime(seconds: through)
        }
        if let last, last.through == stored.position.accounted { position.last = InstantRecord(last) }
        position.ranAhead = Set(ahead.filter { $0.result == .run }.map { UnixTime(seconds: $0.nominal) })
        ledger = InstantLedger(definition.recurrences, definition.policy, name: stored.name, at: position)
        nextOfCalendar = ledger.nextStart
        latest = run
        boot = stored.position.boot
    }

    var isPaused: Bool { ledger.position.pausedThrough == .latest }

    /// Reason why it does not run; nil if it does.
    var problem: String? { definition.problems.isEmpty ? nil : definition.problems.text }

    /// Returns the stored form of a position.
    func position(_ ledger: InstantLedger) -> StoredSchedule.Position {
        var position = StoredSchedule.Position(accounted: ledger.position.accounted.seconds)
        position.boot = boot
        position.runs = ledger.position.runs
        position.isPaused = ledger.position.pausedThrough == .latest
        if !position.isPaused, ledger.position.pausedThrough > .earliest {
            position.pausedThrough = ledger.position.pausedThrough.seconds
        }
        return position
    }

    /// Returns a record of the next instants and the ledger after it; nil if they have a record already.
    func accounting(_ record: InstantRecord) -> (write: ScheduleWrite, ledger: InstantLedger)? {
        var next = ledger
        guard let stored = next.account(record) else { return nil }
        return (ScheduleWrite(ScheduleInstant(stored, of: id), position(next)), next)
    }

    /// Adopts the ledger that a commit has stored.
    func adopt(_ ledger: InstantLedger) { self.ledger = ledger }

    /// Records that nothing could be started before `now`.
    func returned(at now: UnixTime) {
        ledger.returned(at: now)
        events.missedBefore = now
    }
}

extension InstantRecord {
    init(_ stored: ScheduleInstant) {
        let result: Result =
            switch stored.result {
            case .run: .run
            case .skipped: .skipped
            case .missed: .missed
            case .paused: .paused
            case .refused: .refused
            }
        self.init(
            result, from: UnixTime(seconds: stored.nominal), through: UnixTime(seconds: stored.through),
            count: stored.count)
    }
}

extension ScheduleInstant {
    /// Returns a copy of this record for some of its instants.
    func part(_ instants: InstantRecord) -> ScheduleInstant {
        var part = self
        (part.nominal, part.through) = (instants.nominal.seconds, instants.through.seconds)
        part.count = instants.count
        return part
    }

    init(_ record: InstantRecord, of schedule: Int64) {
        let result: Result =
            switch record.result {
            case .run: .run
            case .skipped: .skipped
            case .missed: .missed
            case .paused: .paused
            case .refused: .refused
            }
        self.init(
            schedule: schedule, nominal: record.nominal.seconds, through: record.through.seconds, count: record.count,
            result: result)
    }
}
