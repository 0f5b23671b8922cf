internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// All schedules. At each nominal instant a schedule submits its graph like any other submission. The record of the
/// instant is stored in the same commit, so that no crash repeats or loses it.
final class Schedules {
    let turns: Turns
    let store: Store
    let history: History
    let authorization: Authorization
    let loop: EventLoop
    let log: DaemonLog
    /// Starts the check of a run's submission.
    let builder: (GraphInput, SubmissionOptions, Caller) throws -> SubmissionBuilder
    private(set) var all: [Schedule] = []
    var backfills: [Backfill] = []
    /// Highest id of a removed schedule: no later schedule has it, because parts of opsd may still refer to it.
    private(set) var lastRemoved: Int64 = 0
    /// Present until all stored schedules have been loaded.
    var loading: ScheduleLoading?
    private(set) lazy var nextLoad = DeferredWork(loop) { [unowned self] in self.loadOn() }
    private let helpers: HelperProcesses
    let fileWatch: FileWatch
    /// Directory in which checks of triggers write.
    private let triggerDirectory: String
    private let removeGraphs: ([GraphID]) -> Void
    private(set) lazy var triggers = Triggers(
        of: self, directory: triggerDirectory, helpers: helpers, fileWatch: fileWatch)
    private(set) lazy var finish = RunFinish(of: self, removeGraphs: removeGraphs)
    private lazy var alarm = Alarm(loop, log, .wall) { [unowned self] in self.startDue() }
    private var clockWatch: ClockWatch?
    private var hasTriedToWatchClock = false
    private var allowance = DecisionAllowance()
    /// Due schedules. Users take turns, and so do the schedules of each user.
    private var backlog = FairBacklog<Schedule>(slots: 1)
    /// Earliest instant at which a schedule needs a decision. If `isStale`, it is determined at the end of the turn.
    private var next: UnixTime?
    private var isStale = false
    /// True if a runner was connected at the end of the last turn.
    private var hadRunner = false
    /// Changes of schedules that wait until due instants have been decided, a few in each turn.
    private var changes: [() -> Void] = []
    private lazy var nextChanges = DeferredWork(loop) { [unowned self] in
        let changes = self.changes
        self.changes = []
        for change in changes { change() }
    }
    /// Instant at which the time zone files were last read.
    var zonesReadAt = Clock.read().monotonic
    /// Watches of the files of time zones, by name; nil for a file that cannot be watched.
    var zoneWatches: [String: FileWatch.Token?] = [:]
    private(set) lazy var zonesChanged = Alarm(loop, log) { [unowned self] in
        self.zonesReadAt = .distantPast
        self.startDue()
    }
    /// Zones whose rules stay the former ones, because their files are missing or damaged.
    var unreadableZones: Set<String> = []
    /// Makes the next attempt to load schedules with problems.
    private(set) lazy var repairs = Alarm(loop, log) { [unowned self] in
        // This reads the schedules again, unless the store is unavailable.
        self.startDue()
        self.scheduleRepair()
    }
    /// Difference of the two clocks.
    var clockDifference: TimeSpan
    /// True if the store was unavailable since the last pass: instants of that time are due, not missed.
    private var wasBlocked = false
    /// Instant of the last pass over the schedules. Instants that are due since before it do not wait because of an
    /// absence.
    private var lastPass: UnixTime
    /// End of the last absence: nothing could be started, so earlier instants without a record are missed.
    private var absentUntil = UnixTime.earliest

    /// Maximum number of schedules about which one turn decides.
    private static let decisionsInATurn = 100
    /// Maximum number of runs that are stored, one by one, in the turn of a changed definition.
    private static let settledInATurn = 20
    /// Time after which a turn leaves further decisions to the next.
    private static let longestDeciding = TimeSpan.milliseconds(20)
    /// Time after which a late start counts as an absence.
    static let absence = TimeSpan.seconds(60)
    /// Largest adjustment of the clock that does not count as a change.
    private static let adjustment = TimeSpan.seconds(2)

    /// `state`: the state directory. `removeGraphs` removes graphs of old runs soon.
    init(
        turns: Turns, store: Store, history: History, authorization: Authorization, helpers: HelperProcesses,
        fileWatch: FileWatch, state: String, loop: EventLoop, log: DaemonLog,
        removeGraphs: @escaping ([GraphID]) -> Void,
        builder: @escaping (GraphInput, SubmissionOptions, Caller) throws -> SubmissionBuilder
    ) {
        self.turns = turns
        self.store = store
        self.history = history
        self.authorization = authorization
        self.loop = loop
        self.log = log
        self.helpers = helpers
        self.fileWatch = fileWatch
        triggerDirectory = state + "/triggers"
        self.removeGraphs = removeGraphs
        self.builder = builder
        let now = Moment.now()
        clockDifference = now.clockDifference
        lastPass = UnixTime(flooring: now.wall)
    }

    var isEmpty: Bool { all.isEmpty && loading == nil }

    // MARK: - List of schedules

    /// Id of the current boot.
    var boot = ""

    /// Adds a schedule that is the last in the order of names.
    func insert(_ schedule: Schedule) { all.append(schedule) }

    func open(_ stored: StoredSchedule, _ definition: ScheduleDefinition) throws(StoreError) -> Schedule {
        let history = history
        let last = try history.instants(of: stored.id, limit: 1).first
        let run = try history.instants(of: stored.id, .run, limit: 1).first
        let ahead = try history.instants(of: stored.id, behind: stored.position.accounted)
        let schedule = Schedule(stored, definition, last: last, run: run, ahead: ahead, boot: boot)
        watchZones(of: schedule)
        return schedule
    }

    /// Adds a schedule that has been stored.
    func add(_ stored: StoredSchedule, _ definition: ScheduleDefinition) throws -> Schedule {
        let schedule = try open(stored, definition)
        all.append(schedule)
        all.sort { ($0.name, $0.stored.uid) < ($1.name, $1.stored.uid) }
        triggers.update(schedule)
        refresh()
        return schedule
    }

    /// Changes the definition of a schedule: a changed calendar applies from now on. Returns nil if instants of the old
    /// one are still undecided: then nothing has changed, and the next turn may try again.
    func update(_ schedule: Schedule, _ definition: ScheduleDefinition) throws -> Schedule? {
        let now = UnixTime(flooring: Moment.now().wall)
        guard try decideDue(schedule, at: now) else { return nil }
        let stored = stored(schedule, definition, at: now)
        try store.update(stored)
        let changed = try open(stored, definition)
        changed.events = schedule.events
        // A new `afterFinish` runs first at once, as in a new schedule.
        if let pause = definition.afterFinish, schedule.definition.afterFinish == nil {
            changed.events.base = UnixTime(seconds: now.seconds - pause)
        }
        replace(schedule, with: changed)
        return changed
    }

    /// Continues with another version of a schedule.
    func replace(_ schedule: Schedule, with changed: Schedule) {
        changed.unfinished = schedule.unfinished
        changed.keptGraphs = schedule.keptGraphs
        finish.replace(schedule, changed)
        all = all.map { $0 === schedule ? changed : $0 }
        triggers.forget(schedule)
        triggers.update(changed)
        if changed.definition.trigger == nil { triggers.remove(changed) }
        refresh()
    }

    /// Returns what `update` would make of a schedule.
    func changed(_ schedule: Schedule, _ definition: ScheduleDefinition) -> Schedule {
        let stored = stored(schedule, definition, at: UnixTime(flooring: Moment.now().wall))
        return Schedule(stored, definition, boot: boot)
    }

    private func stored(_ schedule: Schedule, _ definition: ScheduleDefinition, at now: UnixTime) -> StoredSchedule {
        var stored = schedule.stored
        stored.definition = definition.text
        stored.position = schedule.position(schedule.ledger)
        if definition.policy != schedule.definition.policy || definition.recurrences != schedule.definition.recurrences
        {
            stored.position.accounted = max(stored.position.accounted, now.seconds)
        }
        // The present boot came before a new `@reboot`, which does not run for it.
        if definition.runsAtBoot, !schedule.definition.runsAtBoot { stored.position.boot = boot }
        return stored
    }

    func remove(_ schedule: Schedule) {
        lastRemoved = max(lastRemoved, schedule.id)
        finish.forget(schedule)
        triggers.remove(schedule)
        all.removeAll { $0 === schedule }
        refresh()
    }

    /// Returns the schedule with a name: that of the caller, or the only one. `NAME@USER` names the schedule of a user.
    func find(_ reference: String, for uid: UInt32) throws(ControlError) -> Schedule {
        let parts = reference.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts[0]
        var named = all.filter { $0.name == name }
        if parts.count == 2 {
            named.removeAll { $0.stored.user != parts[1] && "\($0.stored.uid)" != parts[1] }
            if let schedule = named.first { return schedule }
            throw .notFound(kind: "schedule", name: reference, nearest: nil)
        }
        if let own = named.first(where: { $0.stored.uid == uid }) ?? (named.count == 1 ? named[0] : nil) { return own }
        if named.count > 1 {
            let names = named.map { "\(name)@\($0.stored.user)" }.sorted().joined(separator: ", ")
            throw .wrongState(id: nil, message: "several users have a schedule \(name); name one of \(names)")
        }
        throw .notFound(kind: "schedule", name: name, nearest: Nearest.name(to: name, among: all.map(\.name)))
    }

    // MARK: - Due instants

    /// Requests that the next instant is determined again.
    func refresh() {
        isStale = true
        turns.wakeUp()
    }

    /// Calls `change` in the next turn.
    func afterDueInstants(_ change: @escaping () -> Void) {
        changes.append(change)
        nextChanges.schedule()
    }

    /// Sets the alarm, at the end of each turn.
    func setAlarm() {
        if loading != nil {
            if turns.outage == nil, turns.longTurn == nil { nextLoad.schedule() }
            return
        }
        let isBlocked = turns.outage != nil || turns.longTurn != nil
        if !isBlocked, hasRunner != hadRunner {
            hadRunner = hasRunner
            isStale = true
            // Schedules that waited for it were not absent.
            if hasRunner { wasBlocked = true }
        }
        if isStale {
            isStale = false
            next = all.lazy.filter { !$0.isCommitting }.compactMap { self.nextDecision(of: $0) }.min()
        }
        if all.isEmpty, alarm.instant == nil { return }
        wasBlocked = wasBlocked || isBlocked
        // Changes of the clock were not noticed meanwhile: a pass that begins at once notices them.
        let instant: WallInstant? = isBlocked ? nil : wasBlocked ? WallInstant.zero : next?.wallInstant
        if instant != alarm.instant { alarm.set(at: instant) }
        watchClock()
    }

    private var hasRunner: Bool { turns.ask { $0.hasRunner } == true }

    /// Returns the instant of a schedule's next decision, or the end of the minute if its user has had all decisions of
    /// it; nil while the decision needs a runner, which reports whether the earlier runs have ended.
    private func nextDecision(of schedule: Schedule) -> UnixTime? {
        let (overlap, unfinished) = (schedule.definition.policy.overlap, schedule.unfinished.count)
        if unfinished > 0, overlap == .cancel || overlap.skips(unfinished), !hasRunner { return nil }
        guard let start = schedule.nextStart, !allowance.isEmpty else { return schedule.nextStart }
        let now = Moment.now()
        guard let rest = allowance.rest(of: schedule.stored.uid, at: now.monotonic) else { return start }
        return max(start, UnixTime(flooring: now.wall(at: rest) + .nanoseconds(999_999_999)))
    }

    /// Spends a decision that is about to be made. Returns false if the user of the schedule has had all decisions of
    /// this minute; then the instant stays due.
    func spendDecision(of schedule: Schedule) -> Bool {
        let user = schedule.stored.uid
        return authorization.isPrivileged(user: user)
            || allowance.consume(of: user, at: Clock.read().monotonic)
    }

    /// Processes due instants, and starts runs.
    private func startDue() {
        guard !all.isEmpty, loading == nil else { return }
        if turns.putOff({ [unowned self] in self.startDue() }) { return }
        guard turns.outage == nil, turns.core != nil else { return }
        turns.commitBeforeReading()
        guard turns.outage == nil, turns.longTurn == nil else { return turns.wakeUp() }
        // Decisions depend on the runs that have just ended.
        finish.checkTouched()
        guard turns.outage == nil else { return turns.wakeUp() }
        let now = Moment.now()
        let instant = UnixTime(flooring: now.wall)
        noteAbsence(before: instant)
        do {
            try rereadZones(now)
            guard turns.longTurn == nil else { return refresh() }
            try compareClocks(now)
            try decideBacklog(at: instant)
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch {
            // An outage has been logged already.
            if turns.outage == nil { log.error("schedules: \(error)") }
        }
        refresh()
    }

    /// Records that nothing could be started for a while, for example because the machine was suspended: then the alarm
    /// comes late.
    private func noteAbsence(before instant: UnixTime) {
        if !wasBlocked, let next, instant.seconds - max(next, lastPass).seconds > Self.absence.seconds {
            absentUntil = instant
        }
        wasBlocked = false
        lastPass = instant
    }

    /// Decides about due schedules until the time of one turn is over.
    private func decideBacklog(at instant: UnixTime) throws {
        for schedule in all where !schedule.isInBacklog && isDue(schedule, at: instant) {
            schedule.isInBacklog = true
            backlog.append(schedule, of: schedule.stored.uid)
        }
        let end = Clock.read().monotonic + Self.longestDeciding
        var decided = 0
        while decided < Self.decisionsInATurn, turns.longTurn == nil, Clock.read().monotonic <= end,
            let (schedule, user) = backlog.start()
        {
            backlog.end(of: user)
            schedule.isInBacklog = false
            // Schedules may have been changed or removed while they waited, and users may have had all decisions.
            guard isDue(schedule, at: instant), all.contains(where: { $0 === schedule }), spendDecision(of: schedule)
            else {
                continue
            }
            try decide(schedule, at: instant)
            if !schedule.isCommitting, turns.longTurn == nil { try decideEvents(schedule, at: instant) }
            decided += 1
        }
    }

    private func isDue(_ schedule: Schedule, at instant: UnixTime) -> Bool {
        guard !schedule.isCommitting, let next = nextDecision(of: schedule) else { return false }
        return next <= instant
    }

    /// Decides and stores due instants before the schedule changes: the new definition may not have them.
    /// - Returns: False if there is more than one turn decides.
    private func decideDue(_ schedule: Schedule, at now: UnixTime) throws -> Bool {
        turns.commitBeforeReading()
        let end = Clock.read().monotonic + Self.longestDeciding
        for _ in 0..<Self.settledInATurn where Clock.read().monotonic < end {
            if turns.outage != nil { throw turns.unavailable }
            guard turns.longTurn == nil, !schedule.isCommitting else { return false }
            try decide(schedule, at: now, endingDelays: true)
            if !schedule.isCommitting, turns.longTurn == nil { try decideEvents(schedule, at: now) }
            turns.commitBeforeReading()
            if turns.outage == nil, turns.longTurn == nil, !schedule.isCommitting, !schedule.hasCome(by: now) {
                return true
            }
        }
        if turns.outage != nil { throw turns.unavailable }
        return false
    }

    /// Decides due instants of one schedule up to the next run, which may be refused. Instants of years are decided in
    /// several turns.
    private func decide(_ schedule: Schedule, at now: UnixTime, endingDelays: Bool = false) throws {
        if schedule.events.missedBefore < absentUntil { schedule.returned(at: absentUntil) }
        while turns.longTurn == nil {
            let unfinished = schedule.unfinished.count
            switch schedule.ledger.decision(at: now, unfinished: unfinished, endingDelays: endingDelays) {
            case nil: return
            case .record(let record):
                try store(record, of: schedule, note: nil)
                if record.count == InstantLedger.instantsPerDecision { return }
            case .run(let nominal, let cancelling):
                guard try !history.hasRun(at: nominal.seconds, of: schedule.id) else {
                    schedule.ledger.noteEarlierRun(of: nominal)
                    continue
                }
                let runs = cancelling ? schedule.unfinished : []
                _ = try start(schedule, at: nominal, cancelling: runs)
                return
            }
        }
    }

    /// Stores the record of instants that do not run.
    func store(_ record: InstantRecord, of schedule: Schedule, note: String?) throws {
        guard var accounting = schedule.accounting(record) else { return }
        accounting.write.instant.note = note
        guard try store(accounting.write, of: schedule, from: record.nominal, count: record.count) else { return }
        schedule.adopt(accounting.ledger)
    }

    /// Stores a record of instants that do not run. It may be merged with an earlier one; the event has the first new
    /// instant and the number of new ones. Returns false if nothing was stored, and the instants must be decided again.
    func store(_ write: ScheduleWrite, of schedule: Schedule, from nominal: UnixTime, count: Int) throws -> Bool {
        var write = write
        write.instant.at = Moment.now().wall
        guard try turns.store(write, of: DecidedInstants(schedule.name, from: nominal, count: count)) else {
            return false
        }
        schedule.recordsSinceRemoval += 1
        return true
    }

    // MARK: - Changed clocks

    private func watchClock() {
        guard clockWatch == nil, !hasTriedToWatchClock, !all.isEmpty else { return }
        hasTriedToWatchClock = true
        do throws(SystemError) {
            clockWatch = try ClockWatch(loop) { [unowned self] error in
                if let error { self.reportLateClock(error) }
                self.startDue()
            }
        } catch {
            reportLateClock(error)
        }
    }

    private func reportLateClock(_ error: SystemError) {
        log.error("changes of the clock are noticed late, with the next instant of a schedule: \(error)")
    }

    /// Handles a change of the clock: no instant is repeated, and none waits until the old time is reached again.
    private func compareClocks(_ now: Moment) throws {
        let difference = now.clockDifference
        let change = difference - clockDifference
        guard abs(change.nanoseconds) > Self.adjustment.nanoseconds else { return }
        let instant = UnixTime(flooring: now.wall)
        log.notice("the clock was changed by \(change.seconds) s: schedules continue from now")
        if change < .zero {
            absentUntil = min(absentUntil, instant)
            for schedule in all where !schedule.isCommitting {
                schedule.turnBackEvents(to: instant)
                try turnBack(schedule, to: instant)
            }
        } else {
            absentUntil = instant
        }
        // If the disk fails before this, the pass after the outage handles the change again.
        clockDifference = difference
    }

    func turnBack(_ schedule: Schedule, to now: UnixTime) throws {
        let isAhead = schedule.ledger.isAhead(of: now)
        // Records of `afterFinish` do not move the position.
        guard isAhead || schedule.definition.afterFinish != nil else { return }
        let records = try history.instants(of: schedule.id, behind: now.seconds)
        guard isAhead || records.contains(where: { $0.result != .run }) else { return }
        let ran = records.filter { $0.result == .run }.map { UnixTime(seconds: $0.nominal) }
        let shortened = records.filter { $0.result != .run }.compactMap { record in
            schedule.ledger.shortened(InstantRecord(record), to: now).map(record.part)
        }
        var ledger = schedule.ledger
        ledger.clockWentBack(to: now, ran: ran)
        try store.removeRecords(
            of: schedule.id, after: now.seconds, shortened: shortened, schedule.position(ledger))
        schedule.adopt(ledger)
    }

    // MARK: - Pauses

    func setPaused(_ schedule: Schedule, _ isPaused: Bool) throws(StoreError) {
        var ledger = schedule.ledger
        let now = UnixTime(flooring: Moment.now().wall)
        if isPaused { ledger.pause() } else { ledger.resume(at: now) }
        try store.move(schedule.id, to: schedule.position(ledger))
        schedule.adopt(ledger)
        triggers.update(schedule)
        refresh()
    }

    // MARK: - Ends

    /// Handles the end of a run, which has been committed.
    func runEnded(_ run: ScheduleInstant, of schedule: Schedule, at end: WallInstant?) {
        let now = Moment.now().wall
        schedule.ended(at: end ?? now, now: UnixTime(flooring: now))
        triggers.runEnded(of: schedule)
        refresh()
    }
}
