internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Runs of past instants, started a few in each turn of the loop.
final class Backfill {
    struct Answer {
        var runs: [ScheduleInstant] = []
        /// Number of instants that had run, or whose records were removed.
        var present = 0
    }

    static let mostInstants = 1000
    private static let startsInATurn = 20

    private unowned let schedules: Schedules
    private let schedule: Schedule
    private var instants: ArraySlice<UnixTime>
    private let isSerial: Bool
    private var answer: ((Result<Answer, ControlError>) -> Void)?
    private var result = Answer()
    /// Number of runs that are being committed.
    private var committing = 0
    /// Rest of the stored record from which the runs of this turn take their instants.
    private var stretch: ScheduleInstant?
    private lazy var work = DeferredWork(schedules.loop) { [unowned self] in self.proceed() }

    init(
        _ schedules: Schedules, _ schedule: Schedule, _ instants: [UnixTime], isSerial: Bool,
        then answer: @escaping (Result<Answer, ControlError>) -> Void
    ) {
        self.schedules = schedules
        self.schedule = schedule
        self.instants = instants[...]
        self.isSerial = isSerial
        self.answer = answer
    }

    /// Starts the next runs.
    func proceed() {
        let turns = schedules.turns
        if turns.putOff({ [self] in proceed() }) { return }
        turns.commitBeforeReading()
        // A long turn may just have begun.
        if turns.putOff({ [self] in proceed() }) { return }
        guard turns.outage == nil else { return finish(.failure(turns.unavailable)) }
        guard let present = schedules.all.first(where: { $0.id == schedule.id }) else {
            return finish(.failure(.notFound(kind: "schedule", name: schedule.name, nearest: nil)))
        }
        // A run of the old definition would store its old position over the new one.
        guard present === schedule else { return fail("the schedule was changed") }
        stretch = nil
        do {
            for nominal in instants.prefix(Self.startsInATurn) {
                instants.removeFirst()
                try start(nominal)
            }
        } catch {
            return fail(schedules.reason(error))
        }
        finishIfComplete()
    }

    /// Ends the backfill before its last run.
    private func fail(_ reason: String) {
        let message = "\(result.runs.count + committing) runs were started, then: \(reason)"
        finish(.failure(.wrongState(id: nil, message: message)))
    }

    private func start(_ nominal: UnixTime) throws {
        guard try !mayHaveRun(nominal) else {
            result.present += 1
            return
        }
        var instant = ScheduleInstant(
            schedule: schedule.id, nominal: nominal.seconds, through: nominal.seconds, count: 1, result: .run)
        instant.origin = .backfill
        instant.at = Moment.now().wall
        var write = ScheduleWrite(instant, schedule.position(schedule.ledger))
        try replaceRecord(of: nominal, in: &write)
        try schedules.startOutsideCalendar(schedule, write, isSerial: isSerial) { [self] graph in
            committing -= 1
            guard let graph else { return finish(.failure(schedules.turns.unavailable)) }
            schedule.ledger.noteLateRun(of: nominal)
            instant.graph = graph.rawValue
            result.runs.append(instant)
            finishIfComplete()
        }
        committing += 1
    }

    /// Returns whether an instant has run, or its record was removed. Instants before the addition of the schedule have
    /// records only if they were backfilled, and nothing tells whether those were removed.
    private func mayHaveRun(_ nominal: UnixTime) throws -> Bool {
        let history = schedules.history
        if try history.hasRun(at: nominal.seconds, of: schedule.id) { return true }
        guard nominal > UnixTime(flooring: schedule.stored.addedAt) else { return false }
        return try history.lastRemovedInstant(of: schedule.id).map { nominal.seconds <= $0 } ?? false
    }

    /// Removes an instant from the record that contains it, because the run has a record of its own.
    private func replaceRecord(of nominal: UnixTime, in write: inout ScheduleWrite) throws {
        // Records of events may span instants of the calendar without containing them.
        guard !schedule.hasEvents else { return }
        // Earlier runs of this turn are not stored yet.
        let isWithin = stretch.map { $0.nominal...$0.through ~= nominal.seconds } ?? false
        let stored = try isWithin ? stretch : schedules.history.stretch(containing: nominal.seconds, of: schedule.id)
        guard let stored else { return }
        let (before, after) = schedule.ledger.split(InstantRecord(stored), at: nominal)
        stretch = after.map(stored.part)
        write.replaced = stored
        write.rest = [before.map(stored.part), stretch].compactMap { $0 }
    }

    private func finishIfComplete() {
        guard committing == 0 else { return }
        if instants.isEmpty { finish(.success(result)) } else { work.schedule() }
    }

    private func finish(_ result: Result<Answer, ControlError>) {
        guard let answer else { return }
        self.answer = nil
        instants = []
        answer(result)
        schedules.ended(self)
    }
}
