internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Verbs that change selected operations: the store finds them outside the loop, and the scheduler changes them in it.
extension Requests {
    /// Queries the store, then changes something. The next call of the client waits for both.
    func change<Q: Query>(_ exchange: Exchange, after query: Q, _ body: @escaping (Q.Answer) throws -> Void) {
        ask(exchange, query) { [unowned self] answer in try self.change(exchange) { try body(answer) } }
    }

    /// Requests a change of those operations that still match the selection.
    private func change(
        _ selected: Selected, _ exchange: Exchange,
        _ makeEvent: @escaping @Sendable ([OperationID], Scheduler) throws -> Event,
        then answer: @escaping (Acceptance) -> Void
    ) throws {
        try exchange.reserve(selected.heldBytes)
        guard selected.ids.count > DaemonLimits.operationsInTheLoop else {
            let made = turns.ask { core in Result { try makeEvent(selected.present(in: core), core) } }
            guard let made else { throw turns.unavailable }
            return turns.request(try made.get(), of: exchange, then: answer)
        }
        turns.requestBeside(
            exchange, names: { _ in nil },
            prepare: { core in LargeRequest(event: try makeEvent(selected.present(in: core), core)) }, then: answer)
    }

    private func targets(
        _ selection: OpsWire.Selection, _ wanted: TargetsQuery.Wanted, _ caller: Caller
    ) throws -> TargetsQuery {
        try turns.requireQueue(selection.queue)
        try selection.checkBounds()
        return TargetsQuery(selection, wanted, authorization, caller)
    }

    func cancel(_ request: CancelRequest, _ exchange: Exchange) throws {
        try requireRoom(for: request.reason, of: "a reason", atMost: Limits.textBytes)
        let isForced = request.force ?? false
        let (caller, reason) = (exchange.caller, request.reason)
        change(exchange, after: try targets(request.selection, .unfinished, caller)) { [unowned self] selected in
            if isForced {
                try authorization.requirePrivilege(caller, to: "give up on processes with --force")
            }
            guard !selected.ids.isEmpty else { return turns.afterCommit { exchange.reply(TouchedOnes()) } }
            try self.change(
                selected, exchange,
                { ids, _ in .cancel(ids, by: caller.name, reason: reason, force: isForced) },
                then: { [unowned self] in self.replyCancelled(selected.ids, $0.touched, exchange) })
        }
    }

    /// Answers with the operations that are cancelled or being cancelled, but not with those that have just finished by
    /// themselves.
    private func replyCancelled(_ ids: [OperationID], _ touched: Int, _ exchange: Exchange) {
        guard touched < ids.count else { return reply(ids, touched, exchange) }
        queries.ask(CancelledQuery(ids), of: exchange) { [unowned self] result in
            // The cancellation is stored. If the store cannot be read now, the answer contains all selected operations.
            if case .success(let cancelled) = result {
                self.reply(cancelled, touched, exchange)
            } else {
                self.reply(ids, touched, exchange)
            }
        }
    }

    /// Answers with operations; many of them are encoded outside the loop.
    private func reply(_ ids: [OperationID], _ touched: Int, _ exchange: Exchange) {
        let make: @Sendable () -> [UInt8] = {
            Reply.frame(
                TouchedOnes.with {
                    $0.touched = touched
                    $0.ids = ids.map(\.rawValue)
                })
        }
        guard ids.count > DaemonLimits.operationsInTheLoop else { return exchange.reply(frame: make()) }
        queries.encode(exchange, make) { exchange.reply(frame: $0) }
    }

    func suspend(_ request: SuspendRequest, _ exchange: Exchange) throws {
        let freeze = request.freeze ?? false
        try changeLevel(request.selection, exchange) { .suspend($0, freeze: freeze) }
    }

    func resume(_ request: ResumeRequest, _ exchange: Exchange) throws {
        try changeLevel(request.selection, exchange) { .resume($0) }
    }

    private func changeLevel(
        _ selection: OpsWire.Selection?, _ exchange: Exchange, _ makeEvent: @escaping @Sendable (Level) -> Event
    ) throws {
        try turns.requireQueue(selection?.queue)
        try selection?.checkBounds()
        let query = LevelQuery(selection, authorization, exchange.caller)
        change(exchange, after: query) { [unowned self] target in
            switch target {
            case .level(let level): self.putCounting(makeEvent(level), exchange)
            case .selected(let selected):
                try self.change(
                    selected, exchange, { ids, _ in makeEvent(.operations(ids)) },
                    then: { Self.reply($0, exchange) })
            }
        }
    }

    func retry(_ request: RetryRequest, _ exchange: Exchange) throws {
        let caller = exchange.caller
        let owner = authorization.isPrivileged(caller) ? nil : caller.user
        let targets = try targets(request.selection, .unsuccessful, caller)
        let query = RetryQuery(targets, downstream: request.downstream ?? false, of: owner)
        retry(query, rereads: Self.mostRereads, exchange)
    }

    /// Maximum number of times that the query of a retry is repeated because of changes after its end, which only the
    /// loop can notice. `RetryQuery` itself reads again after changes before its end.
    private static let mostRereads = 3

    private func retry(_ query: RetryQuery, rereads: Int, _ exchange: Exchange) {
        let removed = retention.removed
        change(exchange, after: query) { [unowned self] answer in
            let isStale = try answer.isStale(history)
            guard !isStale, removed == retention.removed else {
                guard rereads > 0 else { throw RetryQuery.changing }
                return self.retry(query, rereads: rereads - 1, exchange)
            }
            try self.retry(answer, exchange)
        }
    }

    private func retry(_ answer: RetryQuery.Answer, _ exchange: Exchange) throws {
        let ids = answer.selected.ids
        guard !ids.isEmpty else { return turns.afterCommit { exchange.reply(TouchedOnes()) } }
        try exchange.reserve(answer.heldBytes)
        if answer.selected.isSingle, turns.ask({ $0.contains(ids[0]) }) == true { throw Rejection.notFinished(ids[0]) }
        try requireQueues(of: answer.revived)
        let revalidate: @Sendable (History) throws -> Void = { history in
            if try answer.isStale(history) { throw RetryQuery.changing }
        }
        let revived = answer.revived
        turns.request(.retry(ids, revived: revived), revalidating: revalidate, of: exchange) {
            [unowned self] acceptance in
            self.reply(revived.operations.map(\.id), acceptance.touched, exchange)
        }
    }

    /// Refuses to retry an operation whose queue was removed since it finished.
    private func requireQueues(of revived: Revival) throws(ControlError) {
        for (index, name) in revived.queues.enumerated() where turns.ask({ $0.hasQueue(name) }) == false {
            guard let row = revived.operations.first(where: { Int($0.queue) == index }) else { continue }
            throw .wrongState(
                id: row.id.rawValue,
                message: "operation \(turns.label(row.id)) needs queue \(name), which was removed; "
                    + "add it again with opsctl queue add \(name)")
        }
    }

    /// Changes keys of operations and keeps their other keys.
    func set(_ request: SetRequest, _ exchange: Exchange) throws {
        let edit: OperationEdit
        do throws(GraphRefusal) { edit = try OperationEdit(request.changes, now: Moment.now().wall) } catch {
            throw error.error
        }
        try turns.requireQueue(edit.queue)
        if let priority = edit.priority {
            try authorization.requireStanding(exchange.caller, priority: Int(priority), nice: nil)
        }
        let targets = try targets(request.selection, .unfinished, exchange.caller)
        change(exchange, after: targets) { [unowned self] selected in
            guard !selected.ids.isEmpty else { return turns.afterCommit { exchange.reply(Touched()) } }
            try self.change(
                selected, exchange, { ids, core in try Edits(ids, edit).event(for: core) },
                then: { Self.reply($0, exchange) })
        }
    }

    /// Requests a change. The answer is empty, and is sent when the change is stored.
    func put(_ event: Event, _ exchange: Exchange) {
        turns.request(event, of: exchange) { _ in exchange.reply(Nothing()) }
    }

    /// Requests a change. The answer contains the number of changed operations.
    private func putCounting(_ event: Event, _ exchange: Exchange) {
        turns.request(event, of: exchange) { Self.reply($0, exchange) }
    }

    private static func reply(_ acceptance: Acceptance, _ exchange: Exchange) {
        exchange.reply(Touched.with { $0.touched = acceptance.touched })
    }
}

extension Acceptance {
    var touched: Int {
        switch self {
        case .done(let count): count
        case .submitted(_, first: _, let count): count
        }
    }
}
