internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Verbs whose answers go on.
extension Requests {
    func wait(_ request: WaitRequest, _ exchange: Exchange) throws {
        let selections = daemon.selections
        var timeout: Int64?
        if let text = request.timeout {
            guard let parsed = DurationText.parse(text) else {
                throw invalid("timeout", "\"\(text)\" is no duration such as 90s")
            }
            timeout = parsed
        }
        try daemon.requireQueue(request.selection.queue)
        let level = try selections.level(request.selection)
        // How a graph or a queue has ended does not depend on when one asks. Of a queue what went well is not read: it
        // may be all that the machine ever did.
        var queue: String?
        if case .queue(let name) = level { queue = name }
        let any = request.any ?? false
        var selected = try selections.operations(request.selection, unfinished: queue != nil).ids
        if let queue, !any || selected.isEmpty { selected += try selections.unsuccessful(inQueue: queue) }
        let extent: WaitScope.Extent =
            switch level {
            case .graph(let graph): .graph(graph)
            case .queue(let name): .queue(name)
            case .daemon, .operations, nil: .operations(Set(selected))
            }
        let waiting = daemon.ask { core in Set(selected.filter { core.contains($0) }) } ?? []
        let known = try daemon.history.outcomes(of: selected.filter { !waiting.contains($0) })
        let unfinished = selected.filter { known[$0] == nil }
        let ended = selected.filter { known[$0] != nil }
        let counted = any ? Array(ended.prefix(1)) : ended
        let stream = WaitStream(
            exchange, scope: WaitScope(extent, unfinished: Set(unfinished)), alreadyEnded: counted,
            unsuccessful: Set(counted.filter { known[$0] != .succeeded }), any: any, daemon: daemon)
        daemon.publisher.add(stream)
        if let timeout { try stream.setTimeout(timeout) }
        exchange.goOn(with: stream)
    }

    func watch(_ request: WatchRequest, _ exchange: Exchange) throws {
        try daemon.requireQueue(request.selection?.queue)
        let query = try daemon.selections.query(request.selection)
        guard let last = daemon.core?.lastSequence else { throw daemon.unavailable }
        let since = request.since ?? last
        guard since <= last else {
            throw invalid("since", "the last event is \(last); \(since) has not happened yet")
        }
        let stream = WatchStream(exchange, since: max(0, since), filter: query.map { EventFilter($0) }, daemon: daemon)
        daemon.publisher.audience.add(stream)
        exchange.goOn(with: stream)
    }

    func log(_ request: LogRequest, _ exchange: Exchange) throws {
        let record = try daemon.selections.record(request.ref)
        let id = record.id
        try daemon.authorization.requireReading(
            exchange.caller, of: "the output of operation \(id.rawValue)", ownedBy: record.uid)
        let wantsErrors = request.stderr ?? false
        if let refusal = try Details(record.details).own.output.refusal(of: id, readingErrors: wantsErrors) {
            throw ControlError.wrongState(id: id.rawValue, message: refusal)
        }
        if record.isGroup {
            throw ControlError.wrongState(id: id.rawValue, message: "a group has no output of its own")
        }
        let attempt = request.attempt.map { Int32(clamping: $0) }
        if let attempt, attempt < 1 || attempt > record.attempt && record.state == .finished {
            throw ControlError.notFound(kind: "attempt", name: "\(attempt)", nearest: "\(record.attempt)")
        }
        let current = attempt ?? record.attempt
        let follows = (request.follow ?? false) && exchange.call.more
        let stream = LogStream(
            exchange,
            LogStream.Request(
                operation: id, attempt: attempt, stream: wantsErrors ? .error : .output, offset: request.offset ?? 0,
                lines: request.lines, follows: follows),
            current: current,
            attemptHasEnded: record.state == .finished || current < record.attempt
                || current == record.attempt && record.state != .executing,
            operationHasEnded: record.state == .finished, daemon: daemon)
        if follows { daemon.publisher.add(stream) }
        exchange.goOn(with: stream)
    }
}
