internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Verbs that read and change nothing.
extension Requests {
    func list(_ request: ListRequest, _ exchange: Exchange) throws {
        try resolve(request.selection, exchange) { [unowned self] query in
            self.list(request, query ?? OpsStore.Selection(), exchange)
        }
    }

    private func list(_ request: ListRequest, _ selection: OpsStore.Selection, _ exchange: Exchange) {
        let newest = request.newest ?? false
        if exchange.call.more {
            let stream = ListStream(
                exchange, selection, limit: request.limit, newest: newest, rows: rows(for: exchange.caller),
                requests: self)
            return exchange.goOn(with: stream)
        }
        let cursor = SelectionCursor(selection, order: newest ? .newestFirst : .oldestFirst)
        let count = min(request.limit ?? Limits.rows, Limits.rows)
        let rows = rows(for: exchange.caller)
        ask(exchange, ListQuery(cursor, count: count, isReversed: newest, rows: rows)) { [unowned self] answer in
            self.send(answer.rows, exchange, isLast: true)
        }
    }

    /// Sends rows. Many rows are encoded outside the loop; `then` is called when they have been sent.
    func send(
        _ rows: [OperationRow], _ exchange: Exchange, isLast: Bool, then done: @escaping () -> Void = {}
    ) {
        var rows = rows
        for index in rows.indices { turns.addLiveValues(to: &rows[index]) }
        let make: @Sendable () -> [UInt8] = { [rows] in Self.frame(rows, continues: !isLast) }
        let send = { (frame: [UInt8]) in
            if isLast { exchange.reply(frame: frame) } else { exchange.forward(frame) }
            done()
        }
        guard rows.reduce(0, { $0 + $1.weight }) > DaemonLimits.rowsInABatch else { return send(make()) }
        queries.encode(exchange, make, then: send)
    }

    /// Encodes rows, without their long texts if these are too large for a message.
    static func frame(_ rows: [OperationRow], continues: Bool, limit: Int = Limits.frameBytes) -> [UInt8] {
        let frame = Reply.frame(ListReply.with { $0.operations = rows }, continues: continues)
        guard frame.count > limit else { return frame }
        return Reply.frame(ListReply.with { $0.operations = rows.map(\.brief) }, continues: continues)
    }

    func show(_ request: ShowRequest, _ exchange: Exchange) throws {
        let rows = rows(for: exchange.caller)
        let query = SingleStep { history in
            let record = try Selections(history, for: rows.reader).record(request.ref)
            let details = try Details(record.details)
            var reply = ShowReply()
            reply.operation = rows.row(record, details)
            reply.details = try DetailsRow(record, details)
            reply.details.pid = try history.pid(of: record).flatMap { $0 > 0 ? Int($0) : nil }
            if rows.authorization.mayRead(rows.reader, ownedBy: record.uid) {
                var environment = try history.environment(of: record.id).map { try stringMap($0) } ?? StringMap()
                environment.override(with: details.own.environment)
                reply.operation.environment = environment
            }
            reply.attempts = try rows.attempts(of: record, details, history)
            return reply
        }
        ask(exchange, query) { [unowned self] reply in
            var reply = reply
            turns.addLiveValues(to: &reply.operation)
            self.send(reply, length: reply.operation.dependencies.count + reply.attempts.count, exchange)
        }
    }

    func listGraphs(_ request: ListGraphsRequest, _ exchange: Exchange) {
        let limit = min(request.limit ?? 100, Limits.rows)
        ask(exchange, GraphListQuery(limit, named: request.name)) { graphs in
            exchange.reply(.with { $0.graphs = graphs } as ListGraphsReply)
        }
    }

    /// Sends a reply; a long one is encoded outside the loop.
    private func send(_ reply: ShowReply, length: Int, _ exchange: Exchange) {
        guard length > DaemonLimits.operationsInTheLoop else { return exchange.reply(reply) }
        queries.encode(exchange, { Reply.frame(reply) }, then: { exchange.reply(frame: $0) })
    }

    func why(_ request: WhyRequest, _ exchange: Exchange) throws {
        try requireRoom(for: request.whatIf, of: "a question", atMost: Limits.textBytes)
        let named = request.whatIf.map(WhatIf.references) ?? []
        ask(exchange, ReferencesQuery([request.ref] + named, of: exchange.caller)) { [unowned self] found in
            let ids = try found.map { try $0.get() }
            try self.why(ids[0], request.whatIf, Dictionary(zip(named, ids[1...])) { $1 }, exchange)
        }
    }

    private func why(
        _ id: OperationID, _ whatIf: String?, _ named: [String: OperationID], _ exchange: Exchange
    ) throws {
        guard let whatIf, turns.core != nil else {
            return schedulerQueries.ask(exchange) { [unowned self] in
                let explanation = turns.ask { Explanation(id, $0) } ?? Explanation()
                self.send(self.whyReply(id, explanation), exchange)
            }
        }
        let events = try WhatIf(turns: turns, found: named).events(whatIf)
        schedulerQueries.askCopy(
            exchange,
            { core in
                let answer = try WhatIf.simulate(events, core, for: id)
                return Explanation(id, answer.core, outcome: answer.outcome)
            },
            then: { [unowned self] in self.send(self.whyReply(id, $0), exchange) })
    }

    /// Sends an explanation; a long one is encoded outside the loop.
    private func send(_ reply: WhyReply, _ exchange: Exchange) {
        let length = reply.waitingFor.reduce(0) { $0 + $1.ids.count }
        guard length > DaemonLimits.operationsInTheLoop else { return exchange.reply(reply) }
        queries.encode(exchange, { Reply.frame(reply) }, then: { exchange.reply(frame: $0) })
    }

    /// Reasons why an operation waits, as the scheduler knows them.
    private struct Explanation: Sendable {
        let state: OperationState?
        let reasons: [Reason]
        /// Outcome that a supposed change gives the operation.
        let outcome: Outcome?

        init(_ id: OperationID, _ core: Scheduler, outcome: Outcome? = nil) {
            self.outcome = outcome
            state = core.state(of: id)
            reasons = core.why(id, at: .now())
        }

        /// Makes the explanation of an operation in a database that cannot be read.
        init() {
            state = nil
            reasons = []
            outcome = nil
        }
    }

    private func whyReply(_ id: OperationID, _ explanation: Explanation) -> WhyReply {
        var reply = WhyReply()
        reply.id = id.rawValue
        reply.state = StateName(explanation.state ?? .finished)
        reply.outcome = explanation.outcome.map { OutcomeName($0) }
        let text = ReasonText(
            label: turns.label, instantText: InstantText.format,
            // Without the database the number of the condition is used.
            condition: { [history] in try? history.condition($0, of: id) },
            runnerSilence: runner.silence)
        reply.waitingFor = explanation.reasons.map { reason in
            .with {
                $0.kind = ReasonKind(reason.kind)
                $0.text = text.text(reason)
                $0.ids = reason.ids.map(\.rawValue)
                $0.at = Self.instant(of: reason.detail).map(InstantText.format)
            }
        }
        if let outage = turns.outage, explanation.state != nil {
            reply.waitingFor.append(
                .with {
                    $0.kind = .storage
                    $0.text = "nothing starts while the database takes no writes: \(outage.error)"
                })
        }
        return reply
    }

    private static func instant(of detail: Reason.Detail) -> WallInstant? {
        switch detail {
        case .rate(_, _, let next): next
        case .job(_, _, let state): state?.expectedStart
        default: nil
        }
    }

    func status(_ exchange: Exchange) throws {
        if exchange.call.more {
            let stream = StatusStream(
                exchange, publisher: publisher, loop: loop, log: log,
                status: { [unowned self] in try statusReply() })
            publisher.add(stream)
            return exchange.goOn(with: stream)
        }
        guard runner.answersPings else { return exchange.reply(try statusReply()) }
        runner.pulse.whenKnown { [unowned self] in
            if exchange.isAbandoned { return }
            do { exchange.reply(try statusReply()) } catch { fail(exchange, error) }
        }
    }

    func graph(_ request: GraphRequest, _ exchange: Exchange) throws {
        ask(exchange, GraphQuery(request.graph, exchange.caller)) { frame in exchange.reply(frame: frame) }
    }

    func complete(_ request: CompleteRequest, _ exchange: Exchange) throws {
        let (prefix, limit) = (request.prefix, Self.completions)
        func beginning(_ names: [String]) {
            let words = names.filter { $0.hasPrefix(prefix) }.sorted().prefix(limit)
            exchange.reply(.with { $0.words = Array(words) } as CompleteReply)
        }
        func answer(_ words: [String]) { exchange.reply(.with { $0.words = words } as CompleteReply) }
        switch request.kind {
        case .operation:
            ask(exchange, SingleStep { try $0.operationNames(prefix: prefix, limit: limit) }, then: answer)
        case .graph: ask(exchange, SingleStep { try $0.graphNames(prefix: prefix, limit: limit) }, then: answer)
        case .queue: beginning(turns.queueNames)
        case .category:
            schedulerQueries.ask(exchange) { [unowned self] in beginning(turns.core?.categoryNames ?? []) }
        }
    }

    private static let completions = 200
}
