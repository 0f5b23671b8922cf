internal import OpsCore
internal import OpsWire

/// Queues, categories and the pool.
extension Requests {
    func listQueues(_ exchange: Exchange) throws {
        exchange.reply(.with { $0.queues = turns.queueRows() } as ListQueuesReply)
    }

    func setQueue(_ request: SetQueueRequest, _ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "change queues")
        try checkName(request.name, of: "queue")
        var edit = QueueEdit()
        if let limit = request.limit {
            guard limit >= -1, limit <= Int(Int32.max) else {
                throw invalid("limit", "must be a number from 0 to \(Int32.max), or -1 for none, not \(limit)")
            }
            edit.limit = limit == -1 ? .clear : .set(Int32(limit))
        }
        if let executor = request.executor {
            let names = configuration().executors.map(\.name)
            guard executor == "none" || executor == "local" || names.contains(executor) else {
                throw invalid(
                    "executor",
                    "there is no executor \"\(executor)\"; the executors are "
                        + (["local"] + names).joined(separator: ", "))
            }
            edit.executor = executor == "none" || executor == "local" ? .clear : .set(executor)
        }
        if let text = request.order {
            guard let order = QueueOrder(text: text) else {
                throw invalid("order", "must be submission or longestPath, not \"\(text)\"")
            }
            edit.order = order
        }
        if let fair = request.fair {
            guard ["user", "none"].contains(fair) else {
                throw invalid("fair", "must be user (fair between users) or none, not \"\(fair)\"")
            }
            edit.isFair = fair == "user"
        }
        if let aging = request.aging {
            guard aging != "off" else {
                edit.aging = .clear
                return askForQueue(request.name, edit, request.create, exchange)
            }
            guard let step = DurationText.parse(aging), step > .zero else {
                throw invalid("aging", "must be a duration such as 10m, or off, not \"\(aging)\"")
            }
            edit.aging = .set(step)
        }
        askForQueue(request.name, edit, request.create, exchange)
    }

    private func askForQueue(_ name: String, _ edit: QueueEdit, _ create: Bool?, _ exchange: Exchange) {
        var edit = edit
        if let create { edit.target = create ? .new : .existing }
        turns.request(.setQueue(name, edit), of: exchange) { [unowned self] _ in
            var reply = SetQueueReply()
            reply.queue = turns.queueRows().first { $0.name == name } ?? QueueRow()
            exchange.reply(reply)
        }
    }

    func removeQueue(_ request: RemoveQueueRequest, _ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "remove queues")
        put(.removeQueue(request.name), exchange)
    }

    func listCategories(_ exchange: Exchange) throws {
        schedulerQueries.ask(exchange) { [unowned self] in
            let standings = turns.ask { $0.categoryStandings } ?? []
            let make: @Sendable () -> [UInt8] = {
                Reply.frame(.with { $0.categories = standings.map(CategoryRow.init) } as ListCategoriesReply)
            }
            let length = standings.reduce(0) { $0 + $1.holders.count + $1.waiting.count }
            guard length > DaemonLimits.operationsInTheLoop else { return exchange.reply(frame: make()) }
            self.queries.encode(exchange, make) { exchange.reply(frame: $0) }
        }
    }

    func setCategory(_ request: SetCategoryRequest, _ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "change categories")
        try checkName(request.name, of: "category")
        let edit = try categoryEdit(request)
        turns.request(.setCategory(request.name, edit), of: exchange) { [unowned self] _ in
            var reply = SetCategoryReply()
            // The category exists now, since its capacity was set.
            reply.category = turns.core?.categoryStanding(of: request.name).map(CategoryRow.init) ?? CategoryRow()
            exchange.reply(reply)
        }
    }

    private func categoryEdit(_ request: SetCategoryRequest) throws(ControlError) -> CategoryEdit {
        var edit = CategoryEdit()
        if let capacity = request.capacity {
            guard capacity >= 0, capacity < Int(Limits.noCapacity) else {
                throw invalid("capacity", "must be a number from 0 to \(Limits.noCapacity - 1), not \(capacity)")
            }
            if request.units != nil {
                throw invalid("capacity", "the capacity of named units is their number: give only one of both")
            }
            edit.capacity = Int32(capacity)
        }
        if request.unlimited == true {
            if request.capacity != nil || request.units != nil {
                throw invalid("unlimited", "a category without a capacity has no number of units, and no named ones")
            }
            edit.capacity = Limits.noCapacity
        }
        edit.rate = try rate(request.rate)
        if let units = request.units {
            try checkUnits(units)
            edit.units = units
        }
        let isNamed = request.units != nil || edit.capacity == nil && hasUnits(request.name)
        if let share = request.share {
            guard share >= 1, share <= Int(Limits.share) else {
                throw invalid("share", "must be a number from 1 to \(Limits.share), not \(share)")
            }
            guard isNamed else { throw invalid("share", "only named units can be shared: give units") }
            edit.share = Int32(share)
        }
        if let export = request.export {
            guard export.isEmpty || VariableSyntax.isName(export), !ReservedVariables.contains(export) else {
                throw invalid("export", "\"\(export)\" is not the name of a variable that a category may set")
            }
            guard isNamed || export.isEmpty else {
                throw invalid("export", "only named units are exported: give units")
            }
            edit.export = export.isEmpty ? .clear : .set(export)
        }
        guard edit != CategoryEdit() else { throw invalid("capacity", "there is nothing to set") }
        return edit
    }

    private func rate(_ text: String?) throws(ControlError) -> Setting<Rate> {
        guard let text else { return .keep }
        guard !text.isEmpty else { return .clear }
        guard let rate = RateText.parse(text) else {
            throw invalid(
                "rate",
                "must be 1 to \(Limits.rateStarts) starts and an interval, such as 60/1m, not \"\(text)\"")
        }
        return .set(rate)
    }

    private func hasUnits(_ category: String) -> Bool {
        turns.ask { $0.categorySettings(of: category)?.units.isEmpty == false } ?? false
    }

    private func checkUnits(_ units: [String]) throws(ControlError) {
        guard 1...Limits.units ~= units.count else {
            throw invalid("units", "a category can have 1 to \(Limits.units) named units, not \(units.count)")
        }
        for name in units where !NameSyntax.isName(name) {
            throw invalid(
                "units",
                "a unit's name is 1 to \(Limits.nameBytes) letters, digits and _.:/-; not \"\(name)\"")
        }
        var seen: Set<String> = []
        for name in units where !seen.insert(name).inserted {
            throw invalid("units", "unit \(name) is named twice")
        }
    }

    func setWorkers(_ request: SetWorkersRequest, _ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "change the number of workers")
        guard request.workers >= 0, request.workers <= Int(Limits.workers) else {
            throw invalid("workers", "must be a number from 0 to \(Limits.workers), not \(request.workers)")
        }
        put(.setWorkers(Int32(request.workers), insteadOf: configuration().workerCount), exchange)
    }

    /// Refuses a name of a queue or category that could not be the name of an operation.
    private func checkName(_ name: String, of what: String) throws(ControlError) {
        guard NameSyntax.isName(name) else {
            throw invalid(
                "name",
                "a \(what)'s name is 1 to \(Limits.nameBytes) letters, digits and _.:/-; not \"\(name)\"")
        }
    }

    /// Returns the error for one problem of a request.
    func invalid(_ key: String, _ message: String) -> ControlError {
        .invalidOperation([
            .with {
                $0.key = key
                $0.message = message
            }
        ])
    }
}
