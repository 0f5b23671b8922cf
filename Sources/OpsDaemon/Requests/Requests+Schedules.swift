internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Schedules: a caller who may change the runs of a schedule may change the schedule.
extension Requests {
    func addSchedule(_ request: AddScheduleRequest, _ exchange: Exchange) throws {
        guard NameSyntax.isName(request.name) else {
            throw invalid(
                "name",
                "a schedule's name is 1 to \(Limits.nameBytes) letters, digits and _.:/-; not \"\(request.name)\"")
        }
        if let complaint = NameSyntax.complaint(aboutGraph: request.name) {
            throw invalid("name", "each run is a graph with the name of its schedule, so the name \(complaint)")
        }
        let parts = [request.operations.bytes, request.defaults?.bytes ?? [], request.observers?.bytes ?? []]
        let graph = parts.reduce(0) { $0 + $1.count }
        guard graph <= Limits.scheduleBytes else {
            throw ControlError.tooLarge(what: "the size of a schedule's graph in bytes", limit: Limits.scheduleBytes)
        }
        let caller = exchange.caller
        let now = Moment.now().wall
        let instant = UnixTime(flooring: now)
        let schedules = schedules
        let own = schedules.all.filter { $0.stored.uid == caller.user }
        let present = own.first { $0.name == request.name }
        let definition = ScheduleDefinition(
            request, start: present.map { UnixTime(flooring: $0.stored.addedAt) } ?? instant)
        let problems = definition.problemsOfAddition(at: instant)
        guard problems.isEmpty else {
            throw ControlError.invalidOperation(problems + graphProblems(definition, caller))
        }
        if let present, request.replace != true { throw Self.exists(present.name) }
        guard present != nil || authorization.isPrivileged(caller) || own.count < ScheduleLimits.schedulesOfUser
        else {
            throw ControlError.tooLarge(
                what: "the number of schedules of \(caller.name)", limit: ScheduleLimits.schedulesOfUser)
        }
        if let present, present.definition.isEqual(definition) {
            return reply(present, try ScheduleRow(present, history), "none", request, exchange)
        }
        try schedules.check(definition, caller)
        if let present {
            if request.dryRun == true {
                let changed = schedules.changed(present, definition)
                return reply(changed, try ScheduleRow(changed, history), "updated", request, exchange)
            }
            guard let schedule = try schedules.update(present, definition) else {
                exchange.pauseReading()
                return schedules.afterDueInstants { [unowned self] in
                    do {
                        try self.change(exchange) { try self.addSchedule(request, exchange) }
                    } catch { self.fail(exchange, error) }
                }
            }
            return reply(schedule, try ScheduleRow(schedule, history), "updated", request, exchange)
        }
        var stored = StoredSchedule(
            uid: caller.user, user: caller.name, gid: caller.account?.gid ?? caller.group, name: request.name,
            definition: definition.text, addedAt: now)
        // The present boot came before the schedule, so `@reboot` does not run for it.
        stored.position.boot = schedules.boot
        let schedule: Schedule
        if request.dryRun == true {
            schedule = Schedule(stored, definition, boot: schedules.boot)
        } else {
            guard let id = try store.add(stored, after: schedules.lastRemoved) else { throw Self.exists(request.name) }
            stored.id = id
            schedule = try schedules.add(stored, definition)
        }
        reply(schedule, ScheduleRow(schedule, missed: 0, last: nil), "added", request, exchange)
    }

    /// Returns the problems of a schedule's graph, which are reported with those of its calendar.
    private func graphProblems(_ definition: ScheduleDefinition, _ caller: Caller) -> [Problem] {
        do {
            try schedules.check(definition, caller)
        } catch let refusal as GraphRefusal {
            if case .invalidOperation(let problems) = refusal.error { return problems }
        } catch ControlError.invalidOperation(let problems) {
            return problems
        } catch {
            // A refusal for another reason is reported when the calendar is correct.
        }
        return []
    }

    private func reply(
        _ schedule: Schedule, _ row: ScheduleRow, _ change: String, _ request: AddScheduleRequest,
        _ exchange: Exchange
    ) {
        let reply = AddScheduleReply.with {
            $0.schedule = row
            $0.change = change
            $0.warnings = schedule.definition.warnings
            guard request.dryRun == true else { return }
            $0.instants = Self.nextInstants(of: schedule, after: UnixTime(flooring: Moment.now().wall))
        }
        turns.afterCommit { exchange.reply(reply) }
    }

    private static func exists(_ name: String) -> ControlError {
        .wrongState(id: nil, message: "there is a schedule \(name) already; remove it first, or use schedule apply")
    }

    func listSchedules(_ request: ListSchedulesRequest, _ exchange: Exchange) throws {
        let schedules = schedules
        let chosen = try request.name.map { [try schedules.find($0, for: exchange.caller.user)] } ?? schedules.all
        let definition = try request.name == nil ? nil : chosen.first?.definition.request.graphFile()
        ask(exchange, ScheduleListQuery(chosen.map(ScheduleListQuery.Listed.init))) { rows in
            exchange.reply(
                ListSchedulesReply.with {
                    $0.schedules = rows
                    $0.definition = definition
                })
        }
    }

    func scheduleRuns(_ request: ScheduleRunsRequest, _ exchange: Exchange) throws {
        let schedule = try schedules.find(request.name, for: exchange.caller.user)
        let limit = min(max(request.limit ?? 50, 1), 1000)
        // Keys may be names of files in private directories, or printed secrets.
        let mayReadKeys = authorization.mayRead(exchange.caller, ownedBy: schedule.stored.uid)
        ask(exchange, ScheduleRunsQuery(schedule, limit: limit)) { rows in
            exchange.reply(ScheduleRunsReply.with { $0.runs = mayReadKeys ? rows : rows.map(\.withoutKey) })
        }
    }

    func runSchedule(_ request: RunScheduleRequest, _ exchange: Exchange) throws {
        let schedule = try own(request.name, exchange)
        try requireUsable(schedule)
        try schedules.startNow(schedule) { [unowned self] graph in
            guard let graph else { return exchange.fail(turns.unavailable) }
            exchange.reply(RunScheduleReply.with { $0.graph = graph.reference })
        }
    }

    func pauseSchedule(_ request: PauseScheduleRequest, _ exchange: Exchange) throws {
        let schedule = try own(request.name, exchange)
        if schedule.isPaused != request.paused { try schedules.setPaused(schedule, request.paused) }
        turns.afterCommit { exchange.reply(Nothing()) }
    }

    func forgetTrigger(_ request: ForgetTriggerRequest, _ exchange: Exchange) throws {
        let schedule = try own(request.name, exchange)
        guard try store.forget(request.key, of: schedule.id) else {
            throw ControlError.notFound(kind: "key", name: request.key, nearest: nil)
        }
        schedules.triggers.wake(schedule)
        turns.afterCommit { exchange.reply(Nothing()) }
    }

    func removeSchedule(_ request: RemoveScheduleRequest, _ exchange: Exchange) throws {
        let schedule = try own(request.name, exchange)
        try store.removeSchedule(schedule.id)
        schedules.remove(schedule)
        turns.afterCommit { exchange.reply(Nothing()) }
    }

    /// Returns a schedule that the caller may change.
    func own(_ name: String, _ exchange: Exchange) throws -> Schedule {
        let schedule = try schedules.find(name, for: exchange.caller.user)
        guard authorization.mayChange(exchange.caller, ownedBy: schedule.stored.uid) else {
            throw Authorization.Refusal(
                message: "schedule \(name) belongs to \(schedule.stored.user); you are \(exchange.caller.name)")
        }
        return schedule
    }

    /// Refuses a schedule that has no instants and no runs because of a problem.
    func requireUsable(_ schedule: Schedule) throws(ControlError) {
        guard let problem = schedule.problem else { return }
        throw .wrongState(id: nil, message: "schedule \(schedule.name) does not run: \(problem)")
    }
}

extension ScheduleRow {
    init(_ schedule: Schedule, _ history: History) throws(StoreError) {
        let missed = try history.missedInstants(of: schedule.id)
        let last: ScheduleRun? = if let run = schedule.latest { try history.run(of: run) } else { nil }
        self.init(schedule, missed: missed, last: last)
    }

    init(_ schedule: Schedule, missed: Int, last run: ScheduleRun?) {
        self.init()
        let request = schedule.definition.request
        name = schedule.name
        user = schedule.stored.user
        at = schedule.definition.trigger.map { [$0.text] } ?? request.at
        zone = request.zone ?? "UTC"
        paused = schedule.isPaused
        overlap = "\(schedule.definition.policy.overlap)"
        catchUp = "\(schedule.definition.policy.catchUp)"
        next = schedule.isPaused ? nil : schedule.nextStart?.wallInstant.map(InstantText.format)
        if let run { setLast(run) }
        self.missed = missed
        problem = schedule.problem
    }

    mutating func setLast(_ run: ScheduleRun) {
        last = .with {
            $0.nominal = InstantText.format(.zero + .seconds(run.instant.nominal))
            $0.graph = run.instant.graph.map { GraphID($0).reference }
            $0.outcome = run.outcome.map { OutcomeName($0) }
        }
    }
}

extension ScheduleRunRow {
    /// - Parameter schedule: Name of the schedule.
    init(_ run: ScheduleRun, of schedule: String) {
        self.init()
        let instant = run.instant
        self.schedule = schedule
        nominal = InstantText.format(.zero + .seconds(instant.nominal))
        through = InstantText.format(.zero + .seconds(instant.through))
        count = instant.count
        result = "\(instant.result)"
        origin = "\(instant.origin)"
        graph = instant.graph.map { GraphID($0).reference }
        outcome = run.outcome.map { OutcomeName($0) }
        at = InstantText.format(instant.at)
        note = instant.note
        key = instant.key
    }

    /// Row for a caller who may not read the environment of the owner's operations.
    var withoutKey: ScheduleRunRow {
        var row = self
        row.key = nil
        return row
    }
}
