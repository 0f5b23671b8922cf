internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Runs of schedules: a graph becomes a submission of its owner.
extension Schedules {
    /// Maximum number of operations of a schedule's graph: the largest submission that is processed in the loop.
    static let mostOperations = DaemonLimits.operationsInTheLoop

    /// Submits the run of an instant of the calendar.
    /// - Returns: True if a commit is under way; false if the run was refused, which has been recorded.
    func start(_ schedule: Schedule, at nominal: UnixTime, cancelling runs: [ScheduleInstant]) throws -> Bool {
        guard let accounting = schedule.accounting(InstantRecord(.run, at: nominal)) else { return false }
        return try start(schedule, accounting.write, cancelling: runs) {
            schedule.adopt(accounting.ledger)
        } refused: { [unowned self] reason in
            try self.store(InstantRecord(.refused, at: nominal), of: schedule, note: reason)
        }
    }

    /// Submits a run; its record is stored with it.
    /// - Parameters:
    ///   - committed: Called when both are stored.
    ///   - refused: Stores the record of a run that cannot be submitted, with the reason.
    /// - Returns: True if a commit is under way.
    func start(
        _ schedule: Schedule, _ write: ScheduleWrite, cancelling runs: [ScheduleInstant],
        committed: @escaping () -> Void, refused: (String) throws -> Void
    ) throws -> Bool {
        do {
            let nominal = UnixTime(seconds: write.instant.nominal)
            let isSerial = schedule.definition.policy.overlap.isSerial
            try submit(schedule, nominal, write, isSerial: isSerial, cancelling: runs) { [unowned self] graph in
                schedule.isCommitting = false
                if let graph {
                    committed()
                    self.noteRun(schedule, write.instant, graph)
                }
                self.refresh()
            }
            schedule.isCommitting = true
            return true
        } catch let error as StoreError {
            throw error
        } catch {
            // During an outage the instant stays due.
            if turns.outage != nil { throw error }
            let reason = self.reason(error)
            log.warning("schedule \(schedule.name) of \(schedule.stored.user): a run was refused: \(reason)")
            try refused(reason)
            return false
        }
    }

    /// Starts a run now, outside the calendar.
    func startNow(_ schedule: Schedule, then answer: @escaping (GraphID?) -> Void) throws {
        let nominal = UnixTime(flooring: Moment.now().wall).seconds
        var instant = ScheduleInstant(schedule: schedule.id, nominal: nominal, through: nominal, count: 1, result: .run)
        instant.origin = .manual
        instant.number = try history.nextNumber(at: nominal, .manual, of: schedule.id)
        let write = ScheduleWrite(instant, schedule.position(schedule.ledger))
        try startOutsideCalendar(schedule, write, isSerial: schedule.definition.policy.overlap.isSerial, then: answer)
    }

    /// Starts a run that does not belong to an instant of the calendar.
    func startOutsideCalendar(
        _ schedule: Schedule, _ write: ScheduleWrite, isSerial: Bool, then answer: @escaping (GraphID?) -> Void
    ) throws {
        let nominal = UnixTime(seconds: write.instant.nominal)
        try submit(schedule, nominal, write, isSerial: isSerial) { [unowned self] graph in
            if let graph { self.noteRun(schedule, write.instant, graph) }
            answer(graph)
        }
    }

    /// Starts a run that a file or a line has triggered.
    /// - Parameter text: The files, or the line.
    func startTriggered(
        _ schedule: Schedule, _ write: ScheduleWrite, _ text: String, cancelling runs: [ScheduleInstant],
        then answer: @escaping (Bool) -> Void
    ) throws {
        let isSerial = schedule.definition.policy.overlap.isSerial
        let nominal = UnixTime(seconds: write.instant.nominal)
        try submit(schedule, nominal, write, isSerial: isSerial, cancelling: runs, trigger: text) {
            [unowned self] graph in
            if let graph { self.noteRun(schedule, write.instant, graph) }
            answer(graph != nil)
        }
    }

    func backfill(
        _ schedule: Schedule, _ instants: [UnixTime], isSerial: Bool,
        then answer: @escaping (Result<Backfill.Answer, ControlError>) -> Void
    ) {
        let backfill = Backfill(self, schedule, instants, isSerial: isSerial, then: answer)
        backfills.append(backfill)
        backfill.proceed()
    }

    func ended(_ backfill: Backfill) { backfills.removeAll { $0 === backfill } }

    private func noteRun(_ schedule: Schedule, _ instant: ScheduleInstant, _ graph: GraphID) {
        var run = instant
        run.graph = graph.rawValue
        // A backfill starts runs of earlier instants.
        if run.origin != .backfill || run.nominal >= schedule.latest?.nominal ?? .min { schedule.latest = run }
        finish.watch(run, of: schedule)
    }

    /// Returns the instant before this one. With `afterFinish` it is the instant of the latest run, from whose end this
    /// one counts.
    private func instant(before nominal: UnixTime, of schedule: Schedule) -> UnixTime? {
        let ofCalendar = schedule.definition.recurrences.previous(before: nominal)
        guard schedule.definition.afterFinish != nil, let latest = schedule.latest, latest.nominal < nominal.seconds
        else { return ofCalendar }
        return max(ofCalendar ?? .earliest, UnixTime(seconds: latest.nominal))
    }

    /// Submits a run to the scheduler. `answer` is called after the commit, with nil if it has failed.
    private func submit(
        _ schedule: Schedule, _ nominal: UnixTime, _ write: ScheduleWrite, isSerial: Bool,
        cancelling runs: [ScheduleInstant] = [], trigger: String? = nil, then answer: @escaping (GraphID?) -> Void
    ) throws {
        let definition = schedule.definition
        let scheduled = definition.local(nominal)
        let before = instant(before: nominal, of: schedule).map(definition.local)
        var options = SubmissionOptions()
        options.name = schedule.name
        options.capture = definition.request.capture
        options.orderText = definition.request.order
        options.observers = definition.request.observers?.bytes
        options.variables = [ReservedVariables.scheduledAt: scheduled]
        if let before { options.variables.override(with: [ReservedVariables.scheduledBefore: before]) }
        var text = RunText(["scheduled": scheduled, "scheduledBefore": before ?? ""])
        if let source = definition.trigger {
            // A run that is started by hand has none.
            if let trigger { options.variables.override(with: [source.variable: trigger]) }
            text.add(source.placeholder, trigger ?? "", in: source.variable)
        }
        var texts = try self.texts(of: definition, options, text, isSerial: isSerial, owner: try owner(of: schedule))
        texts.scheduled = write
        let cancelled = try runs.flatMap { try history.unfinishedOperations(of: $0) }
        try turns.submit(texts, for: DecidedInstants(schedule.name, from: nominal, count: 1), then: answer)
        guard !cancelled.isEmpty else { return }
        turns.cancel(cancelled, by: "schedule \(schedule.name)", reason: "the next run of the schedule is due")
    }

    /// Looks up the owner in the user database.
    func owner(of schedule: Schedule) throws -> Caller {
        let stored = schedule.stored
        let account = try Account.withUID(stored.uid, formerName: stored.user)
        // A user without an account may have added the schedule: then the uid is the name.
        guard account != nil || stored.user == "\(stored.uid)" else {
            throw ScheduleDefinition.problem("user", "user \(stored.user) no longer exists")
        }
        return Caller(user: stored.uid, group: account?.gid ?? stored.gid, account: account)
    }

    /// Checks a graph as at its submission.
    func check(_ definition: ScheduleDefinition, _ caller: Caller) throws {
        var options = SubmissionOptions()
        options.capture = definition.request.capture
        options.orderText = definition.request.order
        options.observers = definition.request.observers?.bytes
        try options.checkBounds()
        guard definition.text.utf8.count <= ScheduleLimits.definitionBytes else {
            throw ControlError.tooLarge(
                what: "the size of a schedule's definition in bytes", limit: ScheduleLimits.definitionBytes)
        }
        let now = definition.local(UnixTime(flooring: Moment.now().wall))
        var text = RunText(["scheduled": now, "scheduledBefore": now])
        if let source = definition.trigger { text.add(source.placeholder, source.example, in: source.variable) }
        let isSerial = definition.policy.overlap.isSerial
        let texts = try texts(of: definition, options, text, isSerial: isSerial, owner: caller)
        // Copying a large scheduler would block the loop. A graph that is not accepted is refused at its first run
        // then.
        guard var copy = turns.core else { throw turns.unavailable }
        guard !copy.counts.isMoreThanTheLoopTakes else { return }
        _ = copy.handle(.stagingRevoked(started: 0), at: .now())
        if case .failure(let rejection) = copy.handle(.submit(texts.submission), at: .now()) { throw rejection }
    }

    private func texts(
        of definition: ScheduleDefinition, _ options: SubmissionOptions, _ text: RunText, isSerial: Bool,
        owner: Caller
    ) throws -> SubmissionTexts {
        let request = definition.request
        let defaults = try request.defaults.map { try text.fill($0.bytes) }
        let labels: StringMap = ["schedule": request.name]
        let operations = try text.fill(request.operations.bytes)
        var options = options
        if let observers = options.observers { options.observers = try text.fill(observers) }
        var input = try decode(operations, defaults, labels)
        guard input.operations.count <= Self.mostOperations else {
            throw ControlError.tooLarge(what: "the number of operations of a schedule", limit: Self.mostOperations)
        }
        guard isSerial else { return try build(input, options, owner) }
        let category = "schedule/\(owner.name)/\(request.name)"
        let isWrapped = needsGroup(input)
        if isWrapped {
            let group = RunText.group(category, queue: commonQueue(input), around: operations)
            input = try decode(group, defaults, labels)
        }
        var texts: SubmissionTexts
        do {
            texts = try build(input, options, owner)
        } catch ControlError.invalidOperation(var problems) where isWrapped {
            // The group came before the operations that the user has written.
            for index in problems.indices { problems[index].index = problems[index].index.map { max($0 - 1, 0) } }
            throw ControlError.invalidOperation(problems)
        }
        texts.hold(category)
        return texts
    }

    /// Returns the queue of all operations that are in no group; nil: they are in several, or in the default one. A group
    /// in another queue would not start while that one is suspended.
    private func commonQueue(_ input: GraphInput) -> String? {
        let queues = Set(input.operations.lazy.filter { $0.parent < 0 }.map(\.queue))
        guard let queue = queues.first, queues.count == 1, queue >= 0 else { return nil }
        let name = input.queues[queue]
        return turns.queueNames.contains(name) ? name : nil
    }

    /// Returns whether a group must hold the category of a run: no operation of the run would hold it until the run has
    /// finished, or one more category would be too many. An operation that waits for its next attempt holds none.
    private func needsGroup(_ input: GraphInput) -> Bool {
        guard let first = input.operations.first, input.operations.count(where: { $0.parent < 0 }) == 1 else {
            return true
        }
        let most = Limits.categoriesPerOperation
        if first.categories >= 0, input.categorySets[Int(first.categories)].count >= most { return true }
        guard !first.flags.contains(.group), first.policy >= 0 else { return false }
        return input.policies[Int(first.policy)].retry != nil
    }

    private func build(_ input: GraphInput, _ options: SubmissionOptions, _ owner: Caller) throws -> SubmissionTexts {
        var builder = try builder(input, options, owner)
        if turns.wantsEstimates(input, options), let next = turns.core?.nextOperationID {
            var query = EstimatesQuery(
                input, graph: options.name, of: owner.user, newest: OperationID(next.rawValue - 1))
            while builder.estimates == nil { builder.estimates = try query.proceed(history) }
        }
        return try builder.build()
    }

    private func decode(_ operations: [UInt8], _ defaults: [UInt8]?, _ labels: StringMap) throws -> GraphInput {
        var decoder = GraphDecoder(defaults: defaults, fixedLabels: labels, now: Moment.now().wall)
        decoder.add(operations)
        while decoder.step() {}
        let input = try decoder.finish(queues: { turns.queueNames })
        if let other = input.externals.first {
            throw ScheduleDefinition.problem("after", "there is no operation \"\(other)\" in the graph of the schedule")
        }
        if input.keys.first != nil {
            throw ScheduleDefinition.problem("key", "runs of a schedule have no idempotency key")
        }
        return input
    }

    /// Returns a refusal as text.
    func reason(_ error: any Error) -> String {
        switch error {
        case let refusal as GraphRefusal: reason(refusal.error)
        case let rejection as Rejection: reason(turns.translate(rejection))
        case let refusal as Authorization.Refusal: refusal.message
        case ControlError.invalidOperation(let problems): problems.text
        case ControlError.permissionDenied(let message), ControlError.wrongState(_, let message): message
        case ControlError.tooLarge(let what, let limit): "\(what) is larger than \(limit)"
        default: "\(error)"
        }
    }
}
