internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsWire

/// Verbs that change one operation, which the request names.
extension Requests {
    func finish(_ request: FinishRequest, _ exchange: Exchange) throws {
        try requireRoom(for: request.message, of: "a message", atMost: Limits.textBytes)
        let failed = request.failed ?? false
        one(request.ref, exchange) { [unowned self] id in
            self.put(.finish(id, failed: failed, message: request.message, by: exchange.caller.name), exchange)
        }
    }

    func signal(_ request: SignalRequest, _ exchange: Exchange) throws {
        guard let number = Int32(exactly: request.signal), (1...64).contains(number) else {
            throw invalid("signal", "must be a number from 1 to 64, not \(request.signal)")
        }
        one(request.ref, exchange) { [unowned self] id in
            guard let process = turns.ask({ $0.process(of: id) }) else {
                let isExecuting = turns.ask { $0.state(of: id) } == .executing
                throw isExecuting ? Rejection.hasNoProcess(id) : .notExecuting(id)
            }
            let command = ExecutorCommand.signal(process.attempt, number: number)
            if let name = process.executor {
                try self.requireProcesses(on: name, id)
                executors.send(command, to: name)
            } else {
                runner.send(command)
            }
            turns.afterCommit { exchange.reply(Nothing()) }
        }
    }

    private func requireProcesses(on executor: String, _ id: OperationID) throws {
        let kind = configuration().executors.first { $0.name == executor }?.kind
        guard kind != .transfer else {
            throw ControlError.wrongState(id: id.rawValue, message: "a transfer has no process that takes signals")
        }
        guard executors.isConnected(executor) else {
            throw ControlError.wrongState(
                id: id.rawValue, message: "executor \(executor) is not connected; try again when it is")
        }
    }

    func note(_ request: NoteRequest, _ exchange: Exchange) throws {
        let text = request.text.flatMap { $0.isEmpty ? nil : $0 }
        try requireRoom(for: text, of: "a note", atMost: Limits.textBytes)
        one(request.ref, exchange) { [unowned self] id in
            guard let graph = try history.graph(of: id) else {
                throw ControlError.notFound(kind: "operation", name: request.ref, nearest: nil)
            }
            self.put(.note(id, graph: graph, text: text), exchange)
        }
    }

    func addDependency(_ request: AddDependencyRequest, _ exchange: Exchange) throws {
        pair(request.ref, request.on, exchange) { [unowned self] id, on in
            let name = request.when ?? EdgeCondition.succeeded.rawValue
            guard let when = EdgeCondition(rawValue: name) else {
                let known = EdgeCondition.allCases.map(\.rawValue)
                throw self.invalid("when", "\"\(name)\" is none of \(known.joined(separator: ", "))")
            }
            let fact = try history.finishedFacts([on])[on]
            self.put(.addDependency(id, on: on, when: when, finished: fact), exchange)
        }
    }

    func removeDependency(_ request: RemoveDependencyRequest, _ exchange: Exchange) throws {
        pair(request.ref, request.on, exchange) { [unowned self] id, on in
            let isMet = try history.hasEdge(from: id, on: on)
            self.put(.removeDependency(id, on: on, isMet: isMet), exchange)
        }
    }

    /// Looks up the one operation that a request changes.
    private func one(_ ref: String, _ exchange: Exchange, then change: @escaping (OperationID) throws -> Void) {
        let (authorization, caller) = (authorization, exchange.caller)
        let query = SingleStep { try Selections($0, for: caller).changeable(ref, authorization, caller) }
        self.change(exchange, after: query, change)
    }

    /// Looks up the one operation that a request changes, and another that it names.
    private func pair(
        _ ref: String, _ other: String, _ exchange: Exchange,
        then change: @escaping (OperationID, OperationID) throws -> Void
    ) {
        let (authorization, caller) = (authorization, exchange.caller)
        let query = SingleStep { history in
            let selections = Selections(history, for: caller)
            return [try selections.changeable(ref, authorization, caller), try selections.operation(other)]
        }
        self.change(exchange, after: query) { both in try change(both[0], both[1]) }
    }
}

extension Selections {
    /// Returns one operation that the caller may change.
    fileprivate func changeable(
        _ ref: String, _ authorization: Authorization, _ caller: Caller
    ) throws -> OperationID {
        let id = try operation(ref)
        try authorization.requireChange(caller, of: id, in: history)
        return id
    }
}
