/// Explanations why an operation has not started or not finished. They are complete, and name only operations that
/// exist. To explain a wait in a queue of a million operations takes milliseconds: each may be examined, but only those
/// that wait for the same category are sorted.
extension Scheduler {
    /// Returns everything that an unfinished operation waits for; empty for one that the core does not hold.
    public func why(_ id: OperationID, at now: Moment) -> [Reason] {
        guard let operation = unfinished(id) else { return [] }
        switch table[operation].state {
        case .executing: return whyExecuting(operation)
        case .pending: return whyPending(operation) + whyHeldBack(operation) + whyDeadlocked(operation)
        case .ready:
            let reasons = whyHeldBack(operation)
            return (reasons.isEmpty ? whyReady(operation, now) : reasons) + whyDeadlocked(operation)
        case .finished: return []
        }
    }

    private func whyExecuting(_ operation: OperationIndex) -> [Reason] {
        guard let index = execution(of: operation) else { return [] }
        let execution = executions[index]
        var reasons: [Reason] = []
        if let group = group(of: operation) {
            var children: [OperationID] = []
            // A child that was retried is listed once for each of its runs.
            for child in groups[group].children.map({ OperationID($0) }).sorted()
            where child != children.last && unfinished(child) != nil { children.append(child) }
            if !children.isEmpty { reasons.append(Reason(kind: .group, ids: children, detail: .children)) }
        }
        let id = [table[operation].operationID]
        if table[operation].traits.contains(.held) { reasons.append(Reason(kind: .held, ids: id, detail: .held)) }
        reasons += freezers(of: operation).map { Reason(kind: .suspended, ids: id, detail: .suspended($0)) }
        guard !table[operation].isGroup, !execution.isOver else { return reasons }
        if let executor = execution.executor { return reasons + [whyInFlight(index, executor)] }
        if execution.isReaping || !execution.isConfirmed || capacity.runner == nil {
            reasons.append(Reason(kind: .dependency, detail: .runner))
        } else if execution.exit != nil, execution.resolution == nil, policy(of: operation)?.completion == .notify {
            reasons.append(Reason(kind: .dependency, detail: .finishMessage))
        } else if execution.isCancelling {
            reasons.append(Reason(kind: .dependency, detail: .ending))
        } else if execution.exit != nil {
            reasons.append(Reason(kind: .dependency, detail: .leftovers))
        } else if table[operation].traits.isDisjoint(with: .frozen) {
            reasons.append(Reason(kind: .dependency, detail: .process))
        }
        return reasons
    }

    /// Returns the levels that must be resumed before the processes of an operation continue.
    private func freezers(of operation: OperationIndex) -> [Level] {
        let row = table[operation]
        let levels: [(Traits, Level)] = [
            (.frozenItself, .operations([row.operationID])), (.frozenByGraph, .graph(GraphID(row.graph))),
            (.frozenByQueue, .queue(queues[row.queue].name)), (.frozenByDaemon, .daemon),
        ]
        return levels.filter { row.traits.contains($0.0) }.map(\.1)
    }

    private func whyPending(_ operation: OperationIndex) -> [Reason] {
        var reasons = whyDependent(operation)
        if table[operation].traits.contains(.groupNotStarted), let group = parent(of: operation) {
            reasons.append(Reason(kind: .group, ids: [table[group].operationID], detail: .groupNotStarted))
        }
        let barriers = registry.barriers.reasons(for: operation, in: table).map { table[$0].operationID }
        if !barriers.isEmpty { reasons.append(Reason(kind: .barrier, ids: barriers, detail: .barrier)) }
        return reasons
    }

    /// Returns a reason for each dependency, the oldest operation first. If there are more than `Limits.named`, one reason
    /// for each condition names the rest.
    private func whyDependent(_ operation: OperationIndex) -> [Reason] {
        var unmet: [(on: OperationID, when: EdgeCondition)] = []
        for edge in graph.dependencies(of: table[operation]) {
            if let on = graph[edge].on { unmet.append((table[on].operationID, graph[edge].when)) }
        }
        var alone: [Reason] = []
        var named: Set<Int64> = []
        var others = EdgeCondition.allCases.map { _ in [OperationID]() }
        // Edges do not keep their order over a restart.
        for (on, when) in unmet.sorted(by: { ($0.on, $0.when.bits) < ($1.on, $1.when.bits) }) {
            if alone.count == Limits.named {
                others[Int(when.bits)].append(on)
            } else if named.insert(on.rawValue << 2 | Int64(when.bits)).inserted {
                alone.append(Reason(kind: .dependency, ids: [on], detail: .dependency(when)))
            }
        }
        let together = zip(others, EdgeCondition.allCases).filter { !$0.0.isEmpty }
        return alone + together.map { Reason(kind: .dependency, ids: $0.0, detail: .dependency($0.1)) }
    }

    /// Returns the reasons that keep an operation out of the lanes or stop all starts.
    private func whyHeldBack(_ operation: OperationIndex) -> [Reason] {
        var reasons: [Reason] = []
        let row = table[operation]
        let id = [row.operationID]
        if row.traits.contains(.held) { reasons.append(Reason(kind: .held, ids: id, detail: .held)) }
        if row.traits.contains(.groupHeld) {
            // A held group that has not started is named by the reason that its children wait for its start.
            let holders = table.ancestors(of: operation).filter {
                table[$0].state == .executing && table[$0].traits.contains(.held)
            }
            if !holders.isEmpty {
                let ids = holders.map { table[$0].operationID }.sorted()
                reasons.append(Reason(kind: .held, ids: ids, detail: .groupHeld))
            }
        }
        if row.traits.contains(.graphSuspended) {
            reasons.append(Reason(kind: .suspended, detail: .suspended(.graph(GraphID(row.graph)))))
        }
        if queues[row.queue].isSuspended {
            reasons.append(Reason(kind: .suspended, detail: .suspended(.queue(queues[row.queue].name))))
        }
        if isSuspended { reasons.append(Reason(kind: .suspended, detail: .suspended(.daemon))) }
        if row.traits.contains(.delayed), let instant = policy(of: operation)?.notBefore {
            reasons.append(Reason(kind: .notBefore, ids: id, detail: .instant(instant)))
        }
        if row.traits.contains(.backingOff), let run = runs[operation] {
            reasons.append(Reason(kind: .backoff, ids: id, detail: .instant(run.restsUntil.wall)))
        }
        return reasons
    }

    /// Returns the reasons why a ready operation has not started: the operations before it, and its positions in line.
    private func whyReady(_ operation: OperationIndex, _ now: Moment) -> [Reason] {
        var reasons: [Reason] = []
        let row = table[operation]
        if capacity.isDraining { reasons.append(Reason(kind: .pool, detail: .stopping)) }
        if capacity.runner == nil { reasons.append(Reason(kind: .pool, detail: .runner)) }
        if !row.isGroup {
            if let limit = queues[row.queue].limit, queues[row.queue].running >= limit {
                let line = standing(of: operation) { $0.queue == row.queue }
                reasons.append(
                    Reason(
                        kind: .queue, ids: running(besidePool: true) { $0.queue == row.queue },
                        detail: .queue(name: queues[row.queue].name, limit: limit, position: line)))
            }
            if let parent = row.parent, let group = group(of: parent), !groups[group].hasRoom {
                let limit = groups[group].limit ?? 0
                reasons.append(
                    Reason(
                        kind: .group, ids: [table[parent].operationID],
                        detail: .groupLimit(limit, position: standing(of: operation) { $0.parent == parent })))
            }
        }
        reasons += whyCategories(operation) + whyRates(registry.resolvedNeeds(of: operation), now)
        if let lane = row.lane, let executor = lanes[lane].key.executor {
            let line = standing(of: operation) { other in
                other.lane.map { lanes[$0].key.executor == executor } ?? false
            }
            if let reason = whyNotOn(executor, operation, position: line) { reasons.append(reason) }
        } else if !row.isGroup, !capacity.hasFreeSlot {
            reasons.append(
                Reason(
                    kind: .pool, ids: running { _ in true },
                    detail: .pool(workers: workers, position: standing(of: operation) { _ in true })))
        }
        if let reason = whyConditions(operation, isAlone: reasons.isEmpty, now) { reasons.append(reason) }
        if reasons.isEmpty { reasons.append(Reason(kind: .pool, detail: .pool(workers: workers, position: 1))) }
        if let path = row.path {
            for index in reasons.indices where reasons[index].detail.hasPosition { reasons[index].path = path }
        }
        return reasons
    }

    /// Returns the reason why a ready operation waits for its conditions, if it does. They are evaluated last: before
    /// that they are a reason only if there is no other (`isAlone`).
    private func whyConditions(_ operation: OperationIndex, isAlone: Bool, _ now: Moment) -> Reason? {
        guard table[operation].traits.contains(.hasConditions) else { return nil }
        let ids = [table[operation].operationID]
        guard let inquiry = conditions[operation] else {
            return isAlone ? Reason(kind: .condition, ids: ids, detail: .conditionsInLine) : nil
        }
        let again = inquiry.nextEvaluationAt.map { now.wall(at: $0) }
        // Otherwise they are true.
        guard inquiry.isEvaluating || again != nil else { return nil }
        return Reason(kind: .condition, ids: ids, detail: .condition(index: inquiry.falseIndex, again: again))
    }

    private func whyCategories(_ operation: OperationIndex) -> [Reason] {
        var reasons: [Reason] = []
        let needs = registry.resolve(categories.needs(of: table[operation].categories), under: table[operation].parent)
        for (need, use) in zip(needs, categories.uses(of: table[operation].categories)) {
            let category = categories[need.category]
            if !category.room.fits(need.mode, need.units) {
                let line = waiting(for: need.category)
                let position = line.firstIndex(of: table[operation].operationID).map { $0 + 1 } ?? line.count + 1
                reasons.append(
                    Reason(
                        kind: .category, ids: registry.holders(of: need.category),
                        detail: .category(
                            name: use.name, wanted: use, capacity: category.room.capacity, position: position)))
            } else if let reserver = reserver(of: need, against: table[operation].key) {
                reasons.append(
                    Reason(
                        kind: .category, ids: [table[reserver].operationID], detail: .reserved(category: use.name)))
            }
        }
        if let found = WaitView(registry).deadlock(starting: operation, needs), let category = found.category {
            let others = found.cycle.filter { other in
                other != operation && table[other].state != .executing && !isAncestor(operation, of: other)
                    && categories.uses(of: table[other].categories).contains { $0.name == category }
            }
            reasons.append(
                Reason(
                    kind: .category, ids: Set(others).map { table[$0].operationID }.sorted(),
                    detail: .yields(category: category)))
        }
        return reasons
    }

    /// Returns the deadlock around an operation that could not be refused: a lowered capacity closed it.
    private func whyDeadlocked(_ operation: OperationIndex) -> [Reason] {
        guard registry.hasLongHolders, let found = WaitView(registry).deadlock(around: operation),
            let category = found.category
        else { return [] }
        let members = Set(found.cycle).map { table[$0].operationID }.sorted()
        return [Reason(kind: .category, ids: members, detail: .deadlocked(category: category))]
    }

    /// Returns the position of an operation in line among the eligible operations that match; 1 is next.
    private func standing(of operation: OperationIndex, where matches: (OperationRow) -> Bool) -> Int {
        var before = 0
        for other in table.rows where other.id != 0 && other.state == .ready && !other.isGroup {
            guard other.lane != nil || other.traits.contains(.staged) else { continue }
            if let index = table.index(of: other.operationID), precedes(index, operation), matches(other) {
                before += 1
            }
        }
        return before + 1
    }

    /// `besidePool`: includes operations that count for their queue but have freed their slot.
    private func running(besidePool: Bool = false, where matches: (OperationRow) -> Bool) -> [OperationID] {
        executions.indices.filter {
            (besidePool ? executions[$0].countsForLimits : executions[$0].slot != nil)
                && matches(table[executions[$0].operation])
        }
        .map { table[executions[$0].operation].operationID }.sorted()
    }
}
