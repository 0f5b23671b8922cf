internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Verbs that change what is there.
extension Requests {
    private var selections: Selections { daemon.selections }

    private func select(_ selection: OpsWire.Selection, unfinished: Bool) throws -> Selected {
        try daemon.requireQueue(selection.queue)
        return try selections.operations(selection, unfinished: unfinished)
    }

    /// Leaves what the caller may change; one that was named and is another's is refused.
    private func changeable(_ selected: Selected, by caller: Caller) throws -> [OperationID] {
        if daemon.authorization.isPrivileged(caller) { return selected.ids }
        let owners = try daemon.history.owners(of: selected.ids)
        if selected.isSingle, let id = selected.ids.first {
            try daemon.authorization.requireChange(caller, of: id, ownedBy: owners[id] ?? 0)
        }
        return selected.ids.filter { daemon.authorization.mayChange(caller, ownedBy: owners[$0] ?? 0) }
    }

    func cancel(_ request: CancelRequest, _ exchange: Exchange) throws {
        try requireRoom(for: request.reason, of: "a reason", atMost: WireLimits.textBytes)
        let selected = try select(request.selection, unfinished: true)
        let ids = try changeable(selected, by: exchange.caller)
        if request.force ?? false {
            try daemon.authorization.requirePrivilege(exchange.caller, to: "give up on processes with --force")
        }
        guard !ids.isEmpty else { return daemon.afterCommit { exchange.reply(TouchedOnes()) } }
        let event = Event.cancel(ids, by: exchange.caller.name, reason: request.reason, force: request.force ?? false)
        daemon.request(event, of: exchange) { [unowned self] acceptance in
            exchange.reply(
                TouchedOnes.with {
                    $0.touched = acceptance.touched
                    $0.ids = self.cancelled(ids, acceptance.touched).map(\.rawValue)
                })
        }
    }

    /// Those that are cancelled or on the way there: not what has just ended by itself.
    private func cancelled(_ ids: [OperationID], _ touched: Int) -> [OperationID] {
        // The cancellation is stored; where the store cannot be read now, all that were named are told.
        guard touched < ids.count, let nodes = try? daemon.history.nodes(of: ids) else { return ids }
        return nodes.filter { $0.outcome == nil || $0.outcome == .cancelled }.map(\.id)
    }

    func suspend(_ request: SuspendRequest, _ exchange: Exchange) throws {
        let level = try self.level(request.selection, exchange.caller)
        putCounting(.suspend(level, freeze: request.freeze ?? false), exchange)
    }

    func resume(_ request: ResumeRequest, _ exchange: Exchange) throws {
        let level = try self.level(request.selection, exchange.caller)
        putCounting(.resume(level), exchange)
    }

    /// The daemon, a queue, a graph, or chosen operations; each to those who may.
    private func level(_ selection: OpsWire.Selection?, _ caller: Caller) throws -> Level {
        try daemon.requireQueue(selection?.queue)
        guard let level = try selections.level(selection) else {
            let selected = try select(selection ?? OpsWire.Selection(), unfinished: true)
            return .operations(try changeable(selected, by: caller))
        }
        switch level {
        case .daemon: try daemon.authorization.requirePrivilege(caller, to: "suspend and resume the daemon")
        case .queue: try daemon.authorization.requirePrivilege(caller, to: "suspend and resume queues")
        case .graph(let graph):
            let first = try daemon.history.firstOperation(of: graph)
            if let first, let owner = try daemon.history.owners(of: [first])[first] {
                try daemon.authorization.requireChange(caller, of: first, ownedBy: owner)
            }
        case .operations: break
        }
        return level
    }

    func retry(_ request: RetryRequest, _ exchange: Exchange) throws {
        let selected = try select(request.selection, unfinished: false)
        var ids = try changeable(selected, by: exchange.caller)
        // Named ones whatever their outcome; of a selection those that did not succeed.
        if !selections.isOnlyRefs(request.selection) || request.selection.refs == nil {
            ids = try daemon.history.nodes(of: ids).filter { $0.state == .finished && $0.outcome != .succeeded }.map(
                \.id)
        }
        guard !ids.isEmpty else { return daemon.afterCommit { exchange.reply(TouchedOnes()) } }
        if let waiting = ids.first(where: { daemon.core?.contains($0) ?? false }) {
            guard !selected.isSingle else { throw Rejection.notFinished(waiting) }
            ids.removeAll { daemon.core?.contains($0) ?? false }
        }
        let caller = exchange.caller
        let revived = try daemon.history.revival(
            of: ids, downstream: request.downstream ?? false,
            of: daemon.authorization.isPrivileged(caller) ? nil : caller.user)
        daemon.request(.retry(ids, revived: revived), of: exchange) { acceptance in
            exchange.reply(
                TouchedOnes.with {
                    $0.touched = acceptance.touched
                    $0.ids = revived.operations.map(\.id.rawValue)
                })
        }
    }

    /// Edited keys are laid over what each operation has.
    func set(_ request: SetRequest, _ exchange: Exchange) throws {
        let edit: OperationEdit
        do throws(GraphRefusal) { edit = try OperationEdit(request.changes) } catch { throw error.error }
        try daemon.requireQueue(edit.queue)
        if let priority = edit.priority {
            try daemon.authorization.requireStanding(exchange.caller, priority: Int(priority), nice: nil)
        }
        let selected = try select(request.selection, unfinished: true)
        let ids = try changeable(selected, by: exchange.caller)
        guard !ids.isEmpty else { return daemon.afterCommit { exchange.reply(Touched()) } }
        try requireMeaning(edit, ids)
        putCounting(.edit(try together(ids, edit)), exchange)
    }

    /// As at submission: no key that says nothing of its operation.
    private func requireMeaning(_ edit: OperationEdit, _ ids: [OperationID]) throws(ControlError) {
        guard let core = daemon.core else { return }
        for id in ids {
            guard let found = edit.meaningless(forGroup: core.isGroup(id)) else { continue }
            throw invalid(found.key, "operation \(daemon.label(id)) \(found.reason)")
        }
    }

    /// Each policy that occurs is edited once, for all operations that have it.
    private func together(_ ids: [OperationID], _ edit: OperationEdit) throws -> [EditedTogether] {
        var change = Edit(
            priority: edit.priority, queue: edit.queue, categories: edit.categories.map(CategoryUse.strictest))
        guard edit.changesPolicy else { return [EditedTogether(ids, change)] }
        var groups: [EditedTogether] = []
        var places: [Policy: Int] = [:]
        let now = Moment.now().wall
        for id in ids {
            let stored = try daemon.history.policy(of: id) ?? Policy()
            if let place = places[stored] {
                groups[place].operations.append(id)
                continue
            }
            places[stored] = groups.count
            change.policy = Policy(edit.applied(to: PolicyInput(stored)), submittedAt: now)
            groups.append(EditedTogether([id], change))
        }
        return groups
    }

    func finish(_ request: FinishRequest, _ exchange: Exchange) throws {
        try requireRoom(for: request.message, of: "a message", atMost: WireLimits.textBytes)
        let id = try one(request.ref, exchange.caller)
        let failed = request.failed ?? false
        put(.finish(id, failed: failed, message: request.message, by: exchange.caller.name), exchange)
    }

    func note(_ request: NoteRequest, _ exchange: Exchange) throws {
        let id = try one(request.ref, exchange.caller)
        let text = request.text.flatMap { $0.isEmpty ? nil : $0 }
        try requireRoom(for: text, of: "a note", atMost: WireLimits.textBytes)
        put(.note(id, try selections.record(request.ref).graph, text), exchange)
    }

    func addDependency(_ request: AddDependencyRequest, _ exchange: Exchange) throws {
        let id = try one(request.ref, exchange.caller)
        let on = try selections.operation(request.on)
        let name = request.when ?? EdgeCondition.succeeded.rawValue
        guard let when = When.allCases.first(where: { EdgeCondition($0).rawValue == name }) else {
            let known = EdgeCondition.allCases.map(\.rawValue)
            throw invalid("when", "\"\(name)\" is none of \(known.joined(separator: ", "))")
        }
        let fact = try daemon.history.finishedFacts([on])[on]
        put(.depend(id, on: on, when: when, finished: fact), exchange)
    }

    func removeDependency(_ request: RemoveDependencyRequest, _ exchange: Exchange) throws {
        let id = try one(request.ref, exchange.caller)
        let on = try selections.operation(request.on)
        let isMet = try daemon.history.edges(from: id, to: id).contains { $0.on == on }
        put(.undepend(id, on: on, isMet: isMet), exchange)
    }

    /// Puts a change to the scheduler; that it is stored is all there is to answer.
    func put(_ event: Event, _ exchange: Exchange) {
        daemon.request(event, of: exchange) { _ in exchange.reply(Nothing()) }
    }

    /// The same, where the answer counts what it touched.
    private func putCounting(_ event: Event, _ exchange: Exchange) {
        daemon.request(event, of: exchange) { acceptance in
            exchange.reply(Touched.with { $0.touched = acceptance.touched })
        }
    }

    /// The one operation that a changing request names.
    private func one(_ ref: String, _ caller: Caller) throws -> OperationID {
        let id = try selections.operation(ref)
        _ = try changeable(Selected(ids: [id], isSingle: true), by: caller)
        return id
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
