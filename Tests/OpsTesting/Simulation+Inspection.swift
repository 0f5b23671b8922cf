import OpsCore

/// Checks of what the core answers between turns against the rows.
extension Simulation {
    /// Checks the answers of the core, at a few steps of a simulation.
    func inspectAnswers() throws(Violation) {
        guard turns % 4 == Int(seed % 4), let core = core.comparable else { return }
        let rules = judge.rules(store, setting)
        try inspectCounts(core)
        try inspectQueues(core)
        for record in store.unfinished { try inspect(record, core) }
        // Afterwards nobody knows the right order.
        guard !isClockSet else { return }
        let effective = rules.effectivePriorities()
        var otherwise = rules
        otherwise.unknownRestsAreOver = false
        guard otherwise.effectivePriorities() == effective else { return }
        for record in store.unfinished {
            let told = core.effectivePriority(of: record.id)
            try require(
                told == effective[record.id], .priority,
                "\(record.id) counts for \(told ?? 0), not \(effective[record.id] ?? 0)")
        }
        let model = ReasonModel(rules, effective)
        // Positions depend on back-offs of which the model does not know whether they are over.
        guard ReasonModel(otherwise, effective).inLine.map(\.id) == model.inLine.map(\.id) else { return }
        for name in core.categoryNames { try inspectCategory(name, core, rules, model) }
        for record in store.unfinished { try inspectReasons(record, core, rules, model) }
    }

    private func inspectCounts(_ core: Scheduler) throws(Violation) {
        let states = store.unfinished.map(\.state)
        try require(
            core.counts.pending == states.count { $0 == .pending } && core.counts.ready == states.count { $0 == .ready }
                && core.counts.executing == states.count { $0 == .executing }, .explanation,
            "counts \(core.counts) of \(states)")
        let told = core.executing.map { "\($0.id) attempt \($0.attempt) slot \($0.slot ?? -1)" }
        let executing = store.unfinished.filter { $0.state == .executing }.map { record in
            let slot = record.running.flatMap { $0.isOver ? nil : $0.slot }
            return "\(record.id) attempt \(record.isGroup ? 0 : record.attempt) slot \(slot ?? -1)"
        }
        try require(told == executing, .explanation, "executing: \(told), not \(executing)")
        try require(core.lastSequence == store.lastSequence, .reports, "\(core.lastSequence) is the last report")
        try require(
            core.nextOperationID.rawValue == Int64(store.records.count) + 1
                && core.nextGraphID.rawValue == store.graphCount + 1, .explanation,
            "next: \(core.nextOperationID), \(core.nextGraphID)")
    }

    private func inspectQueues(_ core: Scheduler) throws(Violation) {
        let names = store.queues.map(\.name).sorted()
        try require(core.queueNames == names, .explanation, "queues \(core.queueNames), not \(names)")
        for standing in core.queueStandings {
            guard let queue = store.queue(standing.name) else { continue }
            let members = store.unfinished.filter { $0.queue == queue.name }
            let counts = [.pending, .ready, .executing].map { state in members.count { $0.state == state } }
            let held = members.count { $0.isWaiting && $0.isHeld }
            try require(
                [standing.pending, standing.ready, standing.executing] == counts && standing.setApart.held == held
                    && standing.limit == queue.limit && standing.isSuspended == queue.isSuspended
                    && standing.aging == queue.aging && standing.isFair == queue.isFair
                    && standing.order == queue.order, .explanation,
                "queue \(standing), expected \(queue) with \(counts), \(held) of them held")
        }
    }

    private func inspect(_ record: Record, _ core: Scheduler) throws(Violation) {
        let attempts = record.state == .executing ? max(1, record.attemptsInRun) : record.attemptsInRun + 1
        try require(
            core.state(of: record.id) == record.state && core.queue(of: record.id) == record.queue
                && core.policy(of: record.id) == record.policy && core.isGroup(record.id) == record.isGroup
                && (record.isGroup || core.attemptInRun(of: record.id) == attempts), .explanation,
            "\(record.id) in attempt \(core.attemptInRun(of: record.id)), expected \(record)")
        guard record.state == .executing else { return }
        try require(
            core.assignedUnits(of: record.id) == record.assigned, .explanation,
            "\(record.id) holds \(core.assignedUnits(of: record.id)), not \(record.assigned)")
    }

    private func inspectCategory(
        _ name: String, _ core: Scheduler, _ rules: Rules, _ model: ReasonModel
    ) throws(Violation) {
        guard let standing = core.categoryStanding(of: name) else {
            throw Violation(.explanation, "category \(name) has no standing")
        }
        let isOutside = { (record: Record) in rules.domain(of: record, name) == nil }
        let holders = store.unfinished.filter { rules.holds($0, name) && isOutside($0) }.map(\.id)
        try require(
            standing.capacity == store.capacity(name) && standing.holders == holders, .explanation,
            "category \(standing), expected \(store.capacity(name)) with \(holders)")
        guard store.categorySettings[name]?.rate == nil else { return }
        let waiting = model.waiting(for: name, in: nil)
        try require(
            standing.waiting == waiting, .explanation, "\(standing.waiting) wait for \(name), expected \(waiting)")
    }

    private func inspectReasons(
        _ record: Record, _ core: Scheduler, _ rules: Rules, _ model: ReasonModel
    ) throws(Violation) {
        let told = core.why(record.id, at: now)
        let barriers = told.filter { $0.detail == .barrier }.flatMap(\.ids)
        let ahead = record.state == .pending ? rules.barriersAhead(of: record) : []
        try require(
            barriers.isEmpty == ahead.isEmpty && Set(barriers).isSubset(of: ahead), .explanation,
            "\(record.id) waits for barriers \(barriers), expected some of \(ahead)")
        // A fair queue decides by users, and a rate by starts.
        let isOrdered = !store.queues.contains(where: \.isFair)
        let hasRate = record.categories.contains { store.categorySettings[$0.name]?.rate != nil }
        guard isOrdered, !hasRate else { return }
        // The model does not know the end of a back-off that a dependency or a change of the clock has interrupted.
        if rules.restsUntil[record.id] == nil, told.contains(where: { $0.kind == .backoff }) { return }
        let expected = model.reasons(of: record)
        var rest = told.filter { !ReasonModel.isBesideRows($0, of: record) }
        for reason in expected {
            guard let place = rest.firstIndex(of: reason) else {
                throw Violation(.explanation, "\(record.id): expected \(reason) in \(told)")
            }
            rest.remove(at: place)
        }
        // Nothing keeps it any more, or only something that the rows do not contain.
        rest.removeAll { expected.isEmpty && $0.detail == .pool(workers: workers, position: 1) && $0.ids.isEmpty }
        try require(rest.isEmpty, .explanation, "\(record.id) waits for \(rest), expected only \(expected)")
    }
}
