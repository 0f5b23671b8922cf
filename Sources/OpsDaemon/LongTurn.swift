internal import OpsCore
internal import OpsLinux
internal import OpsStore
internal import OpsWire

/// What waits while one large request is decided and stored beside the loop.
///
/// A submission of a hundred thousand operations takes the better part of a second to decide and commit. A side thread
/// does that with a copy of the scheduler, and with the store. Until it has ended, scheduler and database are to
/// everybody as they were before: what only looks is answered from them, and what would change something waits here.
struct LongTurn {
    /// What happened in the world, to be told to the scheduler that comes back.
    var facts: [Event] = []
    /// Requests of clients, and work on the store, in the order in which they came.
    var work: [() -> Void] = []
}

/// What a large request comes to before it is put to the scheduler.
struct LargeRequest: Sendable {
    var event: Event
    var texts: SubmissionTexts?
    /// Only asked what would be: nothing is stored.
    var isTrial = false
}

extension Daemon {
    /// Whether `work` was put off to the end of a long turn; the client's next call waits for it.
    func putOff(of exchange: Exchange? = nil, _ work: @escaping () -> Void) -> Bool {
        guard longTurn != nil else { return false }
        exchange?.holdNext()
        longTurn?.work.append(work)
        return true
    }

    /// Keeps a fact for the end of a long turn. Of what operations say about their progress the first must do.
    func keepForLater(_ fact: Event) {
        if fact.isPatient, fact.isToldOnce, (longTurn?.facts.count ?? 0) >= DaemonLimits.keptFacts { return }
        longTurn?.facts.append(fact)
    }

    /// Puts a large request to the scheduler beside the loop. `prepare` is called there; what it throws is the answer.
    func requestBeside(
        _ exchange: Exchange, names: @escaping (Int32) -> String?,
        prepare: @escaping @Sendable () throws -> LargeRequest, then answer: @escaping (Acceptance) -> Void
    ) {
        precondition(longTurn == nil, "one long turn at a time")
        exchange.holdNext()
        // What one turn answers may have led to the next.
        takeHandBack()
        while turn.isAheadOfStore && outage == nil {
            settle()
            takeHandBack()
        }
        guard outage == nil, let core else { return requests.fail(exchange, unavailable) }
        do throws(StoreError) {
            // What is committed beside the loop is not seen before the scheduler knows of it.
            try history.hold()
        } catch {
            return requests.fail(exchange, error)
        }
        longTurn = LongTurn()
        let lent = Moved((core: core, store: store))
        writing.run(
            {
                let (core, store) = lent.take()
                return decide(core, store, prepare)
            },
            then: { [unowned self] verdict in
                self.history.letGo()
                self.upkeep.longTurnEnded()
                let put = self.longTurn ?? LongTurn()
                self.longTurn = nil
                switch verdict {
                case .refused(let error): self.requests.fail(exchange, error)
                case .rejected(let rejection): self.fail(exchange, rejection, names)
                case .tried(let acceptance): answer(acceptance)
                case .failed(let error):
                    self.fall(error)
                    exchange.fail(self.unavailable)
                case .committed(let core, let acceptance, let transition):
                    self.core = core.take()
                    self.tell(transition) {
                        answer(acceptance)
                        self.server?.flush()
                    }
                }
                for fact in put.facts { self.record(fact) }
                for work in put.work { work() }
                self.wakeUp()
            })
    }

    private func fail(_ exchange: Exchange, _ rejection: Rejection, _ names: (Int32) -> String?) {
        exchange.fail(translate(rejection, names: names))
    }
}

/// What a large request came to beside the loop.
private enum Verdict: Sendable {
    case refused(any Error)
    case rejected(Rejection)
    case tried(Acceptance)
    case failed(StoreError)
    case committed(Moved<Scheduler>, Acceptance, Transition)
}

/// Beside the loop, which meanwhile touches neither the store nor this copy of the scheduler: every use of the store
/// outside of `settle` is put off.
private func decide(_ core: consuming Scheduler, _ store: Store, _ prepare: () throws -> LargeRequest) -> Verdict {
    let request: LargeRequest
    do { request = try prepare() } catch { return .refused(error) }
    let now = Moment.now()
    switch core.handle(request.event, at: now) {
    case .failure(let rejection): return .rejected(rejection)
    case .success(let acceptance):
        if request.isTrial { return .tried(acceptance) }
        let transition = core.endTurn(at: now)
        do throws(StoreError) {
            try store.commit(transition, submissions: request.texts.map { [$0] } ?? [])
        } catch {
            return .failed(error)
        }
        return .committed(Moved(core), acceptance, transition)
    }
}
