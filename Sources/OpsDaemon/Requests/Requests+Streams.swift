internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Verbs with several replies.
extension Requests {
    func wait(_ request: WaitRequest, _ exchange: Exchange) throws {
        var timeout: TimeSpan?
        if let text = request.timeout {
            guard let parsed = DurationText.parse(text) else {
                throw invalid("timeout", "\"\(text)\" is not a duration such as 90s")
            }
            timeout = parsed
        }
        try turns.requireQueue(request.selection.queue)
        try request.selection.checkBounds()
        let query = WaitQuery(request.selection, any: request.any ?? false, exchange.caller)
        ask(exchange, query) { [unowned self] start in
            let start = try self.caughtUp(start)
            try exchange.reserve(start.heldBytes)
            let stream = WaitStream(
                exchange, start, turns: turns, history: history, queries: queries, publisher: publisher, loop: loop,
                log: log)
            publisher.add(stream)
            if let timeout { try stream.setTimeout(timeout) }
            exchange.goOn(with: stream)
        }
    }

    /// Applies the last few events that the query has not read. They are in the store, and are not published again.
    private func caughtUp(_ start: WaitStart) throws -> WaitStart {
        var start = start
        while true {
            let events = try history.events(after: start.sequence, limit: WaitQuery.events)
            try start.apply(events, isIn: turns.isOperation)
            if events.count < WaitQuery.events { return start }
        }
    }

    func watch(_ request: WatchRequest, _ exchange: Exchange) throws {
        // Events count from now on, however long the selection of operations takes.
        guard let last = turns.core?.lastSequence else { throw turns.unavailable }
        let since = request.since ?? last
        guard since <= last else {
            throw invalid("since", "the last event is \(last); \(since) has not happened yet")
        }
        try resolve(request.selection, exchange) { [unowned self] query in
            let audience = publisher.audience
            let filter = query.map { EventFilter($0, history) }
            let stream = WatchStream(exchange, since: since, filter: filter, audience: audience)
            audience.add(stream)
            exchange.goOn(with: stream)
        }
    }

    func log(_ request: LogRequest, _ exchange: Exchange) throws {
        let caller = exchange.caller
        ask(exchange, SingleStep { try Selections($0, for: caller).operation(request.ref) }) { [unowned self] id in
            try self.log(request, of: id, exchange)
        }
    }

    private func instant(_ parameter: String, _ text: String?) throws -> WallInstant? {
        guard let text else { return nil }
        guard let instant = InstantText.parse(text) else {
            throw invalid(parameter, "\"\(text)\" is not an instant such as 2027-01-31T22:00:00Z")
        }
        return instant
    }

    private func log(_ request: LogRequest, of id: OperationID, _ exchange: Exchange) throws {
        // Read in the loop, since later events are received from now on.
        guard let record = try history.brief(of: id) else {
            throw ControlError.notFound(kind: "operation", name: request.ref, nearest: nil)
        }
        try authorization.requireReading(exchange.caller, ofOutputOf: id, ownedBy: record.uid, in: history)
        let wantsErrors = request.stderr ?? false
        let details = try Details(record.details)
        if let refusal = details.own.output.refusal(of: id, readingErrors: wantsErrors) {
            throw ControlError.wrongState(id: id.rawValue, message: "operation \(turns.label(id)): \(refusal)")
        }
        if record.isGroup {
            let message = "operation \(turns.label(id)) is a group, which has no output of its own"
            throw ControlError.wrongState(id: id.rawValue, message: message)
        }
        if let number = request.attempt, number < 1 || number > Int(record.attempt) && record.state == .finished {
            throw ControlError.notFound(kind: "attempt", name: "\(number)", nearest: "\(record.attempt)")
        }
        let attempt = request.attempt.map { Int32(clamping: $0) }
        let current = attempt ?? record.attempt
        let window = LogReader.Window(
            since: try instant("since", request.since), until: try instant("until", request.until))
        let follows = (request.follow ?? false) && exchange.call.more
        let stream = LogStream(
            exchange,
            LogStream.Request(
                operation: id, user: details.runUser?.uid ?? record.uid, attempt: attempt,
                stream: wantsErrors ? .error : .output, offset: request.offset ?? 0, lines: request.lines,
                window: window, wantsTimes: request.times ?? false, follows: follows),
            current: current, newest: record.attempt,
            attemptHasEnded: record.state == .finished || current < record.attempt
                || current == record.attempt && record.state != .executing,
            operationHasEnded: record.state == .finished, threads: userThreads, logs: logs, fileWatch: fileWatch,
            history: history, publisher: publisher)
        if follows { publisher.add(stream) }
        exchange.goOn(with: stream)
    }
}
