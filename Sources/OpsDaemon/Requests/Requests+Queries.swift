internal import OpsCore
internal import OpsLinux
internal import OpsStore
internal import OpsWire

/// Verbs that look and change nothing.
extension Requests {
    func list(_ request: ListRequest, _ exchange: Exchange) throws {
        let query = try daemon.selections.query(request.selection) ?? OpsStore.Selection()
        let newest = request.newest ?? false
        if exchange.call.more {
            let stream = ListStream(exchange, query, limit: request.limit, newest: newest, daemon: daemon)
            return exchange.goOn(with: stream)
        }
        let limit = min(max(request.limit ?? WireLimits.rows, 0), WireLimits.rows)
        let ids =
            newest
            ? Array(try daemon.history.selectNewest(query, limit: limit).reversed())
            : try daemon.history.select(query, limit: limit)
        let rows = try daemon.rows(for: exchange.caller).rows(ids)
        exchange.reply(.with { $0.operations = rows } as ListReply)
    }

    func show(_ request: ShowRequest, _ exchange: Exchange) throws {
        let record = try daemon.selections.record(request.ref)
        var reply = ShowReply()
        reply.operation = try daemon.rows(for: exchange.caller).row(record)
        if daemon.authorization.mayRead(exchange.caller, ownedBy: record.uid) {
            reply.operation.environment = try daemon.history.environment(of: record.id).map { try stringMap($0) }
        }
        reply.attempts = try daemon.rows(for: exchange.caller).attempts(of: record.id)
        exchange.reply(reply)
    }

    func why(_ request: WhyRequest, _ exchange: Exchange) throws {
        let id = try daemon.selections.operation(request.ref)
        var reply = WhyReply()
        reply.id = id.rawValue
        var core = daemon.core
        try requireRoom(for: request.whatIf, of: "a question", atMost: WireLimits.textBytes)
        if let whatIf = request.whatIf { core = try WhatIf(daemon: daemon).answer(whatIf, from: core) }
        reply.state = StateName(core?.state(of: id) ?? .finished).rawValue
        let text = ReasonText(
            label: daemon.label, instantText: InstantText.format,
            // A courtesy: without the database its number must do.
            condition: { [daemon] in try? daemon.history.condition($0, of: id) },
            runnerSilence: daemon.runnerSilence)
        reply.waitingFor = (core?.why(id, at: .now()) ?? []).map { reason in
            .with {
                $0.kind = ReasonKind(reason.kind)
                $0.text = text.text(reason)
                $0.ids = reason.ids.map(\.rawValue)
            }
        }
        if let outage = daemon.outage, core?.state(of: id) != nil {
            reply.waitingFor.append(
                .with {
                    $0.kind = .storage
                    $0.text = "nothing starts while the database takes no writes: \(outage.error)"
                })
        }
        exchange.reply(reply)
    }

    func status(_ exchange: Exchange) throws {
        if exchange.call.more {
            let stream = StatusStream(exchange, daemon: daemon)
            daemon.publisher.add(stream)
            return exchange.goOn(with: stream)
        }
        guard daemon.runner.answersPings else { return exchange.reply(try daemon.statusReply()) }
        daemon.runner.pulse.whenKnown { [unowned self] in
            if exchange.isAbandoned { return }
            do { exchange.reply(try daemon.statusReply()) } catch { fail(exchange, error) }
        }
    }

    func graph(_ request: GraphRequest, _ exchange: Exchange) throws {
        let id = try daemon.selections.graph(request.graph)
        guard let record = try daemon.history.graph(id) else {
            throw ControlError.notFound(kind: "graph", name: request.graph, nearest: nil)
        }
        guard record.count <= Self.drawable else {
            throw ControlError.tooLarge(what: "operations in a picture", limit: Self.drawable)
        }
        guard record.count > DaemonLimits.operationsInTheLoop else {
            return exchange.reply(try Self.picture(record, daemon.history))
        }
        // Put in bytes there too: that takes as long as reading it.
        readBeside(exchange, { Reply.frame(try Self.picture(record, $0)) }, then: { exchange.reply(frame: $0) })
    }

    /// Nodes of a graph that anybody can look at.
    private static let drawable = 100_000

    private static func picture(_ graph: GraphRecord, _ history: History) throws(StoreError) -> GraphReply {
        var reply = GraphReply()
        reply.graph = graph.id.reference
        reply.name = graph.name
        reply.suspended = graph.isSuspended
        reply.nodes = try history.nodes(of: graph.id, limit: drawable).map(node)
        reply.edges = try history.edges(of: graph.id).map { edge in
            .with {
                $0.from = edge.from.rawValue
                $0.on = edge.on.rawValue
                $0.when = EdgeCondition(edge.when).rawValue
            }
        }
        return reply
    }

    private static func node(_ node: GraphNode) -> NodeRow {
        .with {
            $0.id = node.id.rawValue
            $0.name = node.name
            $0.state = StateName(node.state).rawValue
            $0.outcome = node.outcome.map { OutcomeName($0).rawValue }
            $0.group = node.group?.rawValue
            $0.isGroup = node.isGroup
            $0.startedAt = node.startedAt.map(InstantText.format)
            $0.finishedAt = node.finishedAt.map(InstantText.format)
            $0.slot = node.slot.map(Int.init)
            $0.cause = node.cause
        }
    }

    func complete(_ request: CompleteRequest, _ exchange: Exchange) throws {
        var reply = CompleteReply()
        let prefix = request.prefix
        switch request.kind {
        case .operation: reply.words = try daemon.history.operationNames(prefix: prefix, limit: Self.completions)
        case .graph: reply.words = try daemon.history.graphNames(prefix: prefix, limit: Self.completions)
        case .queue: reply.words = beginning(daemon.queueNames)
        case .category: reply.words = beginning(daemon.core?.categoryNames ?? [])
        }
        func beginning(_ names: [String]) -> [String] {
            Array(names.filter { $0.hasPrefix(prefix) }.sorted().prefix(Self.completions))
        }
        exchange.reply(reply)
    }

    private static let completions = 200
}
