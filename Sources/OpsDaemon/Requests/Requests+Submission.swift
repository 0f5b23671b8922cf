internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Submissions: whole, or in parts on one connection.
extension Requests {
    func submit(_ request: SubmitRequest, _ exchange: Exchange) throws {
        let options = SubmissionOptions(request.terms)
        try options.checkBounds()
        let decoding = SubmissionDecoding(options, exchange, requests: self)
        decoding.add(request.operations.bytes)
        decoding.proceed()
    }

    func begin(_ request: BeginSubmissionRequest, _ exchange: Exchange) throws {
        guard exchange.connection.parts == nil else {
            throw ControlError.wrongState(
                id: nil, message: "a submission has begun on this connection; commit it first")
        }
        let options = SubmissionOptions(request)
        try options.checkBounds()
        exchange.connection.parts = SubmissionParts(
            options, of: exchange.connection.user, message: exchange.share)
        turns.afterCommit { exchange.reply(Nothing()) }
    }

    func add(_ request: AddOperationsRequest, _ exchange: Exchange) throws {
        guard let parts = exchange.connection.parts else { throw Self.noParts }
        // From here on the parts count the memory of the message.
        exchange.share.set(0)
        guard parts.add(request.operations.bytes) else { throw giveUpParts(exchange) }
        let reply: () -> Void = { exchange.reply(.with { $0.count = parts.count } as AddOperationsReply) }
        if parts.isLarge { return read(parts, exchange, then: reply) }
        switch parts.step() {
        case .isDone: return turns.afterCommit(reply)
        case .hasNoRoom: throw giveUpParts(exchange)
        case .hasMore: break
        }
        exchange.goOn(
            with: SteppedWork(exchange, self) { [unowned self] in
                switch parts.step() {
                case .hasMore: return false
                case .hasNoRoom: throw self.giveUpParts(exchange)
                case .isDone:
                    reply()
                    return true
                }
            })
    }

    /// Reads parts outside the loop.
    private func read(_ parts: SubmissionParts, _ exchange: Exchange, then reply: @escaping () -> Void) {
        exchange.pauseReading()
        parts.step(beside: parsing) { [unowned self] step in
            if exchange.isAbandoned { return }
            switch step {
            case .hasMore: self.read(parts, exchange, then: reply)
            case .hasNoRoom: self.fail(exchange, self.giveUpParts(exchange))
            case .isDone: reply()
            }
        }
    }

    /// Drops a submission for which there is no room. Later messages on the connection are not part of it.
    private func giveUpParts(_ exchange: Exchange) -> ControlError {
        exchange.connection.parts = nil
        return exchange.connection.user.budget.refusal
    }

    func commit(_ exchange: Exchange) throws {
        guard let parts = exchange.connection.parts else { throw Self.noParts }
        exchange.connection.parts = nil
        let decoding = SubmissionDecoding(parts.options, exchange, requests: self, decoder: parts.decoder)
        decoding.proceed()
    }

    private static let noParts = ControlError.wrongState(
        id: nil, message: "no submission has begun on this connection; call BeginSubmission first")

    // MARK: Whole

    /// Refuses two keys, of which only one could be stored, and an empty one, which most likely comes from a variable
    /// that was not set: all such submissions would count as the same.
    private static func requireOneKey(_ options: SubmissionOptions) throws(ControlError) {
        for (key, word) in [("key", options.key), ("unlessActive", options.unlessActive)] where word?.isEmpty == true {
            let problem = Problem.with {
                $0.key = key
                $0.message = "must not be empty"
            }
            throw .invalidOperation([problem])
        }
        guard options.key != nil, options.unlessActive != nil else { return }
        let problem = Problem.with {
            $0.key = "unlessActive"
            $0.message = "there is also a \"key\"; only one of them is possible"
        }
        throw .invalidOperation([problem])
    }

    /// Processes a graph that was read without problems: looks up what it refers to, and submits it.
    func handle(_ input: GraphInput, _ options: SubmissionOptions, _ exchange: Exchange) throws {
        try Self.requireOneKey(options)
        let keys = try Self.keys(input, options)
        guard !keys.isEmpty || !input.externals.isEmpty || turns.wantsEstimates(input, options) else {
            // The closure copies the graph, so it is made only if it is needed.
            if turns.longTurn != nil {
                let again = { [unowned self] in try self.handle(input, options, exchange) }
                if putOff(exchange, again) { return }
            }
            if turns.outage != nil { throw turns.unavailable }
            let builder = try builder(input, options, exchange.caller)
            return try submit(builder, input, options, exchange)
        }
        // Keys, names and finished dependencies are looked up in the store, which must first contain the results of
        // this turn.
        try change(exchange) { [unowned self] in try self.lookUp(keys, input, options, exchange) }
    }

    private func lookUp(
        _ keys: [SubmissionQuery.Key], _ input: GraphInput, _ options: SubmissionOptions, _ exchange: Exchange
    ) throws {
        let user = exchange.caller.user
        let builder = try builder(input, options, exchange.caller)
        let references = ReferencesQuery(
            input.externals, of: exchange.caller, in: try builder.joinedGraph(history), mostUnknown: Limits.problems)
        let next = turns.core?.nextOperationID ?? OperationID(0)
        let estimates =
            turns.wantsEstimates(input, options)
            ? EstimatesQuery(input, graph: options.name, of: user, newest: OperationID(next.rawValue - 1)) : nil
        let query = SubmissionQuery(keys: keys, of: user, wantsNames: options.wantsList, references, estimates)
        change(exchange, after: query) { [unowned self] answer in
            let texts = keys.map(\.text)
            if answer.earlier == nil, !texts.isEmpty,
                try history.hasSubmission(keys: texts, uid: user, from: next)
            {
                // Another submission with the same key has arrived meanwhile.
                return try self.lookUp(keys, input, options, exchange)
            }
            if let earlier = answer.earlier { return self.answer(earlier, answer.names, options, exchange) }
            // The answer may be out of date: the scheduler checks it again.
            var builder = try self.builder(input, options, exchange.caller)
            builder.apply(answer)
            try self.submit(builder, input, options, exchange)
        }
    }

    private func submit(
        _ builder: consuming SubmissionBuilder, _ input: GraphInput, _ options: SubmissionOptions, _ exchange: Exchange
    ) throws {
        let names = SubmissionNames(input)
        let accept: (Acceptance) -> Void = { [unowned self] acceptance in
            guard case .submitted(let graph, let first, let count) = acceptance else { return }
            self.reply(graph, first, count, options, exchange, names: { names[$0] })
        }
        guard input.operations.count + input.edges.count <= DaemonLimits.operationsInTheLoop else {
            let moved = Transferred(builder)
            let path = store.path
            return turns.requestBeside(
                exchange, names: { names[Int($0)] },
                prepare: { core in
                    var builder = moved.consume()
                    try builder.refreshFacts({ try History.open(path: path) }, contains: core.contains)
                    let texts = try builder.build()
                    return LargeRequest(event: .submit(texts.submission), texts: texts, isTrial: options.isDryRun)
                }, then: accept)
        }
        var builder = builder
        try builder.refreshFacts({ history }, contains: { id in turns.ask { $0.contains(id) } ?? false })
        let texts = try builder.build()
        let event = Event.submit(texts.submission)
        if options.isDryRun {
            guard turns.core?.counts.isMoreThanTheLoopTakes == true else {
                return try tryOut(event, names, options, exchange)
            }
            return turns.requestBeside(
                exchange, names: { names[Int($0)] },
                prepare: { _ in LargeRequest(event: event, texts: texts, isTrial: true) }, then: accept)
        }
        turns.request(event, texts: texts, of: exchange, names: { names[Int($0)] }, then: accept)
    }

    /// Answers a submission; a long list is encoded outside the loop.
    private func reply(
        _ graph: GraphID, _ first: OperationID, _ count: Int, _ options: SubmissionOptions, _ exchange: Exchange,
        isExisting: Bool = false, names: @escaping @Sendable (Int) -> String?
    ) {
        let make: @Sendable () -> [UInt8] = {
            var reply = Self.reply(graph, first, count, options, names: names)
            reply.existing = isExisting
            return Self.frame(reply)
        }
        guard options.wantsList, count > DaemonLimits.operationsInTheLoop else { return exchange.reply(frame: make()) }
        queries.encode(exchange, make) { exchange.reply(frame: $0) }
    }

    /// Encodes the answer to a submission, without its operations if they are too large for a message: the operations
    /// are stored, and the client must know.
    static func frame(_ reply: SubmitReply, limit: Int = Limits.frameBytes) -> [UInt8] {
        let frame = Reply.frame(reply)
        guard frame.count > limit else { return frame }
        var shorter = reply
        shorter.operations = nil
        return Reply.frame(shorter)
    }

    private static func reply(
        _ graph: GraphID, _ first: OperationID, _ count: Int, _ options: SubmissionOptions, names: (Int) -> String?
    ) -> SubmitReply {
        var reply = SubmitReply()
        reply.graph = graph.reference
        reply.first = first.rawValue
        reply.count = count
        if options.wantsList {
            reply.operations = (0..<count).map { index in
                .with {
                    $0.id = first.rawValue + Int64(index)
                    $0.name = names(index)
                    $0.graph = reply.graph
                }
            }
        }
        return reply
    }

    /// Submits to a copy of the scheduler and returns its answer.
    private func tryOut(
        _ event: Event, _ names: SubmissionNames, _ options: SubmissionOptions, _ exchange: Exchange
    ) throws {
        var copy = turns.core
        _ = copy?.handle(.stagingRevoked(started: 0), at: .now())
        switch copy?.handle(event, at: .now()) {
        case .success(.submitted(let graph, let first, let count)):
            let reply = Self.reply(graph, first, count, options, names: { names[$0] })
            turns.afterCommit { exchange.reply(frame: Self.frame(reply)) }
        case .failure(let rejection): throw turns.translate(rejection, names: { names[Int($0)] })
        case .success, nil: throw turns.unavailable
        }
    }

    // MARK: Idempotency

    /// Returns the keys by which an earlier submission of the caller is looked up.
    private static func keys(_ input: GraphInput, _ options: SubmissionOptions) throws -> [SubmissionQuery.Key] {
        var keys: [SubmissionQuery.Key] = []
        if let key = try options.key(of: input) { keys.append((key, isActive: false)) }
        if let key = options.unlessActive { keys.append((key, isActive: true)) }
        return keys
    }

    private func answer(
        _ earlier: KeyedSubmission, _ names: [OperationID: String], _ options: SubmissionOptions, _ exchange: Exchange
    ) {
        turns.afterCommit { [unowned self] in
            self.reply(
                earlier.graph, earlier.first, earlier.count, options, exchange, isExisting: true,
                names: { names[OperationID(earlier.first.rawValue + Int64($0))] })
        }
    }
}

/// Names of a submission's operations: the only part that is needed once it has been accepted.
struct SubmissionNames: Sendable {
    private let offsets: [Int32]
    private let names: TextTable

    init(_ input: GraphInput) {
        offsets = input.operations.map(\.name)
        names = input.names
    }

    subscript(index: Int) -> String? { offsets[index] < 0 ? nil : names[offsets[index]] }
}
