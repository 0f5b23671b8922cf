internal import OpsCore
internal import OpsRecord
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

extension Turns {
    // MARK: Events and requests

    /// Lets the scheduler handle a request of a client. The answer waits for the commit. `revalidate` throws if the
    /// store has changed since the request was prepared; it is called only if the request had to wait.
    func request(
        _ event: Event, revalidating revalidate: (@Sendable (History) throws -> Void)? = nil,
        texts: SubmissionTexts? = nil, of call: Exchange,
        names: @escaping (Int32) -> String? = { _ in nil }, then answer: @escaping (Acceptance) -> Void
    ) {
        guard outage == nil, core != nil else { return call.fail(unavailable) }
        precondition(!isLent, "no scheduler is lent to a long turn")
        if weight(of: event) > DaemonLimits.operationsInTheLoop {
            let path = store.path
            return requestBeside(
                call, names: names,
                prepare: { _ in
                    try revalidate?(History.open(path: path))
                    return LargeRequest(event: event, texts: texts)
                }, then: answer)
        }
        revokeStaged()
        turn.hasEvents = true
        switch inform(event) {
        case .success(let acceptance):
            if let texts { turn.submissions.append(texts) }
            turn.afterwards.append { [unowned self] isCommitted in
                if isCommitted { answer(acceptance) } else { call.fail(self.unavailable) }
            }
        case .failure(let rejection):
            // The rejection may depend on an earlier event of this turn, so it is valid only after the commit.
            turn.afterwards.append { [unowned self] isCommitted in
                call.fail(isCommitted ? self.translate(rejection, names: names) : self.unavailable)
            }
        case nil: call.fail(unavailable)
        }
    }

    /// Submits the run of an instant; throws if it is refused. `answer` is called after the commit, with nil if it has
    /// failed.
    func submit(
        _ texts: SubmissionTexts, for instant: DecidedInstants, then answer: @escaping (GraphID?) -> Void
    ) throws {
        guard outage == nil, core != nil else { throw unavailable }
        precondition(!isLent, "no scheduler is lent to a long turn")
        revokeStaged()
        turn.hasEvents = true
        switch inform(.submit(texts.submission)) {
        case .success(.submitted(let graph, _, _)):
            _ = inform(.instantDecided(.fired, graph: graph, detail: instant.detail))
            turn.submissions.append(texts)
            turn.afterwards.append { isCommitted in answer(isCommitted ? graph : nil) }
        case .failure(let rejection): throw rejection
        case .success, nil: throw unavailable
        }
    }

    /// Stores the record of instants that do not run, and publishes their event in the same commit. Returns false, and
    /// stores nothing, if a long turn has just begun: its commit may fail after the caller has gone on.
    func store(_ record: ScheduleWrite, of instants: DecidedInstants) throws -> Bool {
        guard outage == nil, core != nil else { throw unavailable }
        precondition(!isLent, "no scheduler is lent to a long turn")
        revokeStaged()
        guard longTurn == nil else { return false }
        turn.hasEvents = true
        turn.records.append(record)
        if let kind = DecidedInstants.kind(of: record.instant.result) {
            _ = inform(.instantDecided(kind, graph: nil, detail: instants.detail))
        } else {
            _ = inform(.tick)
        }
        commitTurn()
        if outage != nil { throw unavailable }
        return true
    }

    /// Cancels operations for a schedule, in the commit of a submission that the scheduler has handled before.
    func cancel(_ operations: [OperationID], by name: String, reason: String) {
        // An operation that has finished in this turn need not be cancelled.
        _ = inform(.cancel(operations, by: name, reason: reason, force: false))
    }

    /// Passes an event to the scheduler, and to the record if there is one.
    func inform(_ event: Event) -> Result<Acceptance, Rejection>? {
        let now = Moment.now()
        let result = core?.handle(event, at: now)
        if let recorder, let result { recorder.add(event, at: now, result) }
        return result
    }

    /// Lets the scheduler handle a fact.
    func record(_ fact: Event) {
        guard outage == nil, core != nil else { return keep(fact) }
        if longTurn != nil { return keepForLater(fact) }
        turn.weight += weight(of: fact)
        guard turn.weight <= DaemonLimits.operationsInTheLoop else {
            // The long turn begins when all present events have been gathered.
            longTurn = LongTurn(facts: [fact])
            return wakeUp()
        }
        if !fact.isRunnerReport { revokeStaged() }
        if fact.isReportedOnce { turn.facts.append(fact) }
        // A confirmation that undoes no assumed start changes nothing that must be stored or decided.
        let isWithoutChange = if case .revocationConfirmed = fact { !hasUnconfirmedStarts } else { false }
        _ = inform(fact)
        if isWithoutChange { return }
        guard !fact.isPatient else {
            turn.hasPatientEvents = true
            return
        }
        turn.hasEvents = true
        wakeUp()
    }

    private var hasUnconfirmedStarts: Bool { ask { $0.hasUnconfirmedStarts } == true }

    /// Returns about how many operations an event decides or moves, exactly up to the number that the loop takes.
    private func weight(of event: Event) -> Int {
        ask { $0.weight(of: event, upTo: DaemonLimits.operationsInTheLoop) } ?? 0
    }

    /// Calls `read` after the commit of this turn, when store and scheduler agree.
    func afterCommit(_ read: @escaping () -> Void) {
        turn.afterwards.append { _ in read() }
    }

    /// Commits the turn before a request reads the store, if the turn has changed anything.
    func commitBeforeReading() {
        if turn.isAheadOfStore { commitTurn() }
    }

    // MARK: The turn

    /// Ends the turn of one wake-up of the loop, when all present events have been handled.
    func endTurn() {
        if longTurn?.isGathering == true { decideBeside() }
        if turnIsDue {
            commitTurn { host.sendReplies() }
        } else if turn.isAheadOfStore {
            scheduleCommit(within: turn.hasEvents ? DaemonLimits.gathering : DaemonLimits.patience)
        }
        // Work without a commit: messages to the runner and to clients.
        host.sendMessages()
        if longTurn == nil, outage == nil, ask({ $0.hasPutOff }) == true {
            longTurn = LongTurn()
            decideBeside()
        }
        setAlarms()
        host.turnEnded()
        if turnIsDue { wakeUp() }
    }

    /// True if the turn must be committed now; not while the runner has enough staged launches.
    private var turnIsDue: Bool {
        !turn.afterwards.isEmpty || turn.hasEvents && core?.hasEnoughStaged != true
    }

    /// Ends the turn of the scheduler, commits it, answers clients, performs effects and publishes, always in this
    /// order. `send` sends the answers, so that clients need not wait for the start of processes.
    func commitTurn(_ send: () -> Void = {}) {
        // A long turn that is about to begin stores this one first.
        guard longTurn?.isGathering != true else { return wakeUp() }
        var now = Moment.now()
        if turn.isAheadOfStore, ask({ $0.mustRevokeStaged(at: now) }) == true {
            revokeStaged()
            now = .now()
        }
        var transition = Transition()
        if turn.isAheadOfStore, outage == nil,
            let decided = core?.endTurn(at: now, upTo: DaemonLimits.operationsInTheLoop)
        {
            transition = decided
            recorder?.complete(.ended(at: now, upTo: DaemonLimits.operationsInTheLoop), decided) { core }
        }
        let isTurn = turn.isAheadOfStore
        do throws(StoreError) { try store(transition, send) } catch { enterOutage(error) }
        if isTurn { store.turnTimes.add(Clock.read().monotonic - now.monotonic) }
    }

    /// Commits the results of the turn, and lets them take effect.
    func store(_ transition: Transition, _ send: () -> Void) throws(StoreError) {
        if turn.isAheadOfStore, outage == nil { try commit(transition) }
        let answers = turn.afterwards
        turn.clear()
        host.publish(transition) {
            for answer in answers { answer(true) }
            send()
        }
    }

    private func commit(_ transition: Transition) throws(StoreError) {
        let start = Clock.read().monotonic
        try store.commit(transition, submissions: turn.submissions, records: turn.records)
        store.commitTimes.add(Clock.read().monotonic - start)
    }

    /// Schedules a commit that several turns share: the number of commits is expensive, not their size.
    private func scheduleCommit(within duration: TimeSpan) {
        let due = Clock.read().monotonic + duration
        guard due < patience.instant ?? .distantFuture else { return }
        if !patience.set(at: due) { commitTurn() }
    }

    func setAlarms() {
        let next = outage == nil && longTurn == nil ? core?.nextDeadline ?? Deadlines() : Deadlines()
        // The alarm may fire too early: to set it in every turn for staged launches that may stay a little longer would
        // cost more.
        let isEarly = next.monotonic.map { monotonicAlarm.instant ?? .distantFuture <= $0 } ?? false
        if !isEarly { monotonicAlarm.set(at: next.monotonic) }
        wallAlarm.set(at: next.wall)
    }

    /// Handles timers that are due, if any: the timer may still be set for staged launches that have changed since.
    func fireDueTimers() {
        guard let due = core?.nextDeadline.monotonic, due <= Clock.read().monotonic else { return }
        record(.tick)
    }
}

extension Scheduler.Counts {
    /// True if one event may concern more operations than are decided in the loop.
    var isMoreThanTheLoopTakes: Bool { pending + ready + executing > DaemonLimits.operationsInTheLoop }
}

extension Event {
    /// True if no client waits for the commit: the event is the start of a launch, or an update of progress.
    var isPatient: Bool {
        switch self {
        case .launched: true
        case .updated(_, let update), .external(_, .updated(_, let update)):
            update.finished == nil && update.extendTimeout == nil && update.result == nil
        default: false
        }
    }

    /// True if the event is not reported again. Runners repeat exits and inventories until they are acknowledged.
    var isReportedOnce: Bool {
        switch self {
        case .updated, .external(_, .updated), .observed, .setWorkers, .setOperationsPerUser, .setObserversOfAll,
            .setExecutors:
            true
        default: false
        }
    }
}
