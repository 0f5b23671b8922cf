internal import OpsCore
internal import OpsRecord
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Requests and reports that wait while a turn with many operations is processed and stored outside the loop.
///
/// A submission of a hundred thousand operations takes the better part of a second to decide and commit, and so does
/// the end of one operation that a hundred thousand others wait for. A side thread does that with a copy of the
/// scheduler, and with the store. Until it has ended, scheduler and database stay as they were before: a request that
/// only reads is answered from them, and one that changes something waits here.
///
/// `Scheduler.weight` marks requests and facts that are too large for the loop, and `endTurn` puts off timers, starts
/// and priorities. A long turn decides all of its events, so the consequences of one event are still one commit.
struct LongTurn {
    /// Facts that arrive during the long turn; while it gathers, the facts that it will handle.
    var facts: [Event] = []
    /// Requests of clients, and opsd's own work on the store. Users take turns: each of these may begin another long turn.
    var work = FairBacklog<() -> Void>(slots: 1)
    /// The user whose request is decided; `nil`: a fact.
    var user: UInt32?
    /// True until the copy of the scheduler is moved to the side thread.
    var isGathering = true
}

/// A large request, prepared for the scheduler.
struct LargeRequest: Sendable {
    var event: Event
    var texts: SubmissionTexts?
    /// True if the request is only tried: nothing is stored.
    var isTrial = false
}

extension Turns {
    /// True while the side thread has the scheduler and the store.
    var isLent: Bool { longTurn?.isGathering == false }

    /// Puts `work` off to the end of a long turn, if there is one, and returns true; the client's next call waits for
    /// it.
    func putOff(of exchange: Exchange? = nil, _ work: @escaping () -> Void) -> Bool {
        guard longTurn != nil else { return false }
        exchange?.pauseReading()
        longTurn?.work.append(work, of: exchange?.caller.user ?? Identity.uid)
        return true
    }

    /// Keeps a fact for the end of a long turn. Of very many progress updates only the first ones are kept.
    func keepForLater(_ fact: Event) {
        if fact.isPatient, fact.isReportedOnce, (longTurn?.facts.count ?? 0) >= DaemonLimits.keptFacts { return }
        longTurn?.facts.append(fact)
    }

    /// Lets the scheduler handle a large request outside the loop. `prepare` is called there with the present
    /// scheduler; an error that it throws becomes the answer.
    func requestBeside(
        _ exchange: Exchange, names: @escaping (Int32) -> String?,
        prepare: @escaping @Sendable (Scheduler) throws -> LargeRequest, then answer: @escaping (Acceptance) -> Void
    ) {
        let again = { [unowned self] in self.requestBeside(exchange, names: names, prepare: prepare, then: answer) }
        if putOff(of: exchange, again) { return }
        exchange.pauseReading()
        revokeStaged()
        // The reports of the runner may be so many that they begin a long turn.
        if putOff(of: exchange, again) { return }
        guard outage == nil, core != nil else { return host.fail(exchange, unavailable) }
        longTurn = LongTurn(user: exchange.caller.user)
        // If the long turn decides nothing, the next turn starts what these events have made startable.
        let resumeStarts = { [unowned self, hasEvents = turn.isAheadOfStore] in if hasEvents { turn.hasEvents = true } }
        do throws(StoreError) {
            // Events that follow wait for the end of the long turn: the answer to a condition may cause the next one.
            try storeEarlierEvents()
        } catch {
            return endLongTurn {
                enterOutage(error)
                exchange.fail(unavailable)
            }
        }
        do throws(StoreError) {
            try lend([], prepare) { [unowned self] result in
                if !result.isCommitted { resumeStarts() }
                switch result {
                case .refused(let error): self.host.fail(exchange, error)
                case .rejected(let rejection): exchange.fail(self.translate(rejection, names: names))
                case .tried(let acceptance): answer(acceptance)
                case .failed(let error):
                    self.enterOutage(error)
                    exchange.fail(self.unavailable)
                case .committed(let core, let acceptance, let turn):
                    self.core = core.consume()
                    self.recorder?.complete(turn) { self.core }
                    self.host.publish(turn.transition) {
                        if let acceptance { answer(acceptance) }
                        self.host.sendReplies()
                    }
                }
            }
        } catch {
            endLongTurn {
                resumeStarts()
                host.fail(exchange, error)
            }
        }
    }

    /// Lets the scheduler handle the kept facts outside the loop, and end the turn.
    func decideBeside() {
        var facts: [Event] = []
        do throws(StoreError) {
            try storeEarlierEvents()
            // Starts of staged launches are reported after the facts that permitted them.
            if (core?.stagedCount ?? 0) > 0 {
                host.revokeStagedLaunches()
                keepForLater(.stagingRevoked(started: 0))
                host.handleDeferredReports()
            }
            facts = longTurn?.facts ?? []
            longTurn?.facts = []
            try lend(facts, nil) { [unowned self, facts] result in
                switch result {
                case .committed(let core, _, let turn):
                    self.core = core.consume()
                    self.recorder?.complete(turn) { self.core }
                    self.host.publish(turn.transition) { self.host.sendReplies() }
                case .failed(let error): self.fail(facts, error)
                // These results occur only for requests.
                case .refused, .rejected, .tried: break
                }
            }
        } catch {
            facts += longTurn?.facts ?? []
            longTurn?.facts = []
            endLongTurn { fail(facts, error) }
        }
    }

    /// Stores what was decided before a long turn. What has become startable starts with the long turn, or after it if it
    /// decides nothing.
    private func storeEarlierEvents() throws(StoreError) {
        let transition = turn.isAheadOfStore ? ask { $0.closeTurn() } : nil
        if let transition { recorder?.complete(.closed, transition) { core } }
        try store(transition ?? Transition()) { host.sendReplies() }
    }

    /// Handles a failure of the disk. The runner repeats most of the facts.
    private func fail(_ facts: [Event], _ error: StoreError) {
        turn.facts += facts.filter(\.isReportedOnce)
        enterOutage(error)
    }

    private func lend(
        _ facts: [Event], _ prepare: (@Sendable (Scheduler) throws -> LargeRequest)?,
        then apply: @escaping (LongTurnResult) -> Void
    ) throws(StoreError) {
        guard let core else { return endLongTurn {} }
        // Readers do not see rows that are committed outside the loop before the scheduler knows them.
        try history.pinSnapshot()
        longTurn?.isGathering = false
        let lent = Transferred((core: core, store: store))
        let isRecorded = recorder?.isOff == false
        writing.run(
            {
                let (core, store) = lent.consume()
                return decide(core, store, facts, prepare, isRecorded: isRecorded)
            },
            then: { [unowned self] result in
                self.history.unpinSnapshot()
                self.host.longTurnEnded()
                self.endLongTurn { apply(result) }
            })
    }

    /// Applies the result of a long turn, then handles everything that has waited for its end.
    private func endLongTurn(_ outcome: () -> Void) {
        let kept = longTurn ?? LongTurn()
        longTurn = nil
        outcome()
        for fact in kept.facts { record(fact) }
        var waiting = kept.work
        if let user = kept.user { waiting.serveLast(user) }
        while let (work, user) = waiting.start() {
            work()
            waiting.end(of: user)
        }
        wakeUp()
    }
}

/// Result of a long turn.
private enum LongTurnResult: Sendable {
    case refused(any Error)
    case rejected(Rejection)
    case tried(Acceptance)
    case failed(StoreError)
    case committed(Transferred<Scheduler>, Acceptance?, CompletedTurn)

    var isCommitted: Bool { if case .committed = self { true } else { false } }
}

/// Handles and commits a long turn, outside the loop. The loop meanwhile uses neither the store nor this copy of the
/// scheduler.
private func decide(
    _ core: consuming Scheduler, _ store: Store, _ facts: [Event], _ prepare: ((Scheduler) throws -> LargeRequest)?,
    isRecorded: Bool
) -> LongTurnResult {
    let start = Clock.read().monotonic
    var turn = CompletedTurn(inputs: [], results: [], end: .closed, transition: Transition())
    for fact in facts { _ = handle(fact, &core, &turn, isRecorded) }
    var acceptance: Acceptance?
    var texts: SubmissionTexts?
    if let prepare {
        let request: LargeRequest
        do { request = try prepare(core) } catch { return .refused(error) }
        switch handle(request.event, &core, &turn, isRecorded) {
        case .failure(let rejection): return .rejected(rejection)
        case .success(let accepted):
            if request.isTrial { return .tried(accepted) }
            acceptance = accepted
        }
        texts = request.texts
    }
    let now = Moment.now()
    turn.transition = core.endTurn(at: now)
    turn.end = .ended(at: now, upTo: .max)
    do throws(StoreError) {
        let decided = Clock.read().monotonic
        try store.commit(turn.transition, submissions: texts.map { [$0] } ?? [])
        let stored = Clock.read().monotonic
        store.commitTimes.add(stored - decided)
        store.turnTimes.add(stored - start)
    } catch {
        return .failed(error)
    }
    return .committed(Transferred(core), acceptance, turn)
}

private func handle(
    _ event: Event, _ core: inout Scheduler, _ turn: inout CompletedTurn, _ isRecorded: Bool
) -> Result<Acceptance, Rejection> {
    let now = Moment.now()
    let result = core.handle(event, at: now)
    if isRecorded {
        turn.inputs.append(TurnInput(event, at: now))
        turn.results.append(result)
    }
    return result
}
