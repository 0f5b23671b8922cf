import OpsCore

/// Reasons why operations wait, computed from the rows.
struct ReasonModel {
    private let rules: Rules
    private let store: FakeStore
    private let effective: [OperationID: Int]
    /// Operations that take turns, in their order.
    let inLine: [Record]
    /// Categories in which operations that take turns have no room.
    private let short: [OperationID: [String]]

    init(_ rules: Rules, _ effective: [OperationID: Int]) {
        self.rules = rules
        self.effective = effective
        store = rules.store
        inLine = store.unfinished.filter { rules.isInLine($0) }.sorted { rules.precedes($0, $1, effective) }
        short = Dictionary(uniqueKeysWithValues: inLine.map { ($0.id, rules.shortCategories(of: $0)) })
    }

    /// Returns the operations without room in a category, in order. `domain`: the group that gives it to them.
    func waiting(for name: String, in domain: OperationID?) -> [OperationID] {
        inLine.filter { short[$0.id, default: []].contains(name) && rules.domain(of: $0, name) == domain }.map(\.id)
    }

    /// Returns the reasons that the rows decide. The core adds those of `isBesideRows`.
    func reasons(of record: Record) -> [Reason] {
        switch record.state {
        case .finished: return []
        case .executing:
            let children = store.children(of: record.id).filter { !$0.isFinished }.map(\.id)
            let group = Reason(kind: .group, ids: children, detail: .children)
            let held = Reason(kind: .held, ids: [record.id], detail: .held)
            return (children.isEmpty ? [] : [group]) + (record.isHeld ? [held] : [])
        case .pending: return reasonsOfPending(record) + reasonsHoldingBack(record)
        case .ready:
            let held = reasonsHoldingBack(record)
            return held.isEmpty ? reasonsOfReady(record) : held
        }
    }

    /// Returns whether a reason depends on more than rows: on processes, rates, reserved positions or deadlocks. The
    /// ids of barriers are checked for themselves.
    static func isBesideRows(_ reason: Reason, of record: Record) -> Bool {
        switch reason.detail {
        case .reserved, .rate, .yields, .deadlocked, .condition, .conditionsInLine, .barrier: true
        case .children, .held: false
        default: record.state == .executing
        }
    }

    private func reasonsOfPending(_ record: Record) -> [Reason] {
        var reasons = record.edges.filter { !rules.isSatisfied($0) && !store[$0.on].isFinished }.map {
            Reason(kind: .dependency, ids: [$0.on], detail: .dependency($0.when))
        }
        if let parent = record.parent, store[parent].isWaiting {
            reasons.append(Reason(kind: .group, ids: [parent], detail: .groupNotStarted))
        }
        return reasons
    }

    private func reasonsHoldingBack(_ record: Record) -> [Reason] {
        var reasons: [Reason] = []
        if record.isHeld { reasons.append(Reason(kind: .held, ids: [record.id], detail: .held)) }
        let holders = store.ancestors(of: record).filter { $0.isHeld && $0.state == .executing }.map(\.id).sorted()
        if !holders.isEmpty { reasons.append(Reason(kind: .held, ids: holders, detail: .groupHeld)) }
        let levels: [(Bool, Level)] = [
            (store.suspendedGraphs.contains(record.graph), .graph(record.graph)),
            (store.queue(record.queue)?.isSuspended ?? false, .queue(record.queue)), (store.isSuspended, .daemon),
        ]
        reasons += levels.filter(\.0).map { Reason(kind: .suspended, detail: .suspended($0.1)) }
        if let instant = record.policy.notBefore, instant > rules.now.wall {
            reasons.append(Reason(kind: .notBefore, ids: [record.id], detail: .instant(instant)))
        }
        if let end = rules.restsUntil[record.id], end > rules.now.monotonic, record.state == .ready {
            reasons.append(Reason(kind: .backoff, ids: [record.id], detail: .instant(record.backoffUntil)))
        }
        return reasons
    }

    private func reasonsOfReady(_ record: Record) -> [Reason] {
        var reasons: [Reason] = []
        if rules.isDraining { reasons.append(Reason(kind: .pool, detail: .stopping)) }
        if rules.runner == nil { reasons.append(Reason(kind: .pool, detail: .runner)) }
        let before = inLine.prefix { rules.precedes($0, record, effective) }
        func position(_ matches: (Record) -> Bool) -> Int { 1 + before.count { !$0.isGroup && matches($0) } }
        func add(_ kind: Reason.Kind, _ ids: [OperationID], _ detail: Reason.Detail) {
            var reason = Reason(kind: kind, ids: ids, detail: detail)
            reason.path = record.path
            reasons.append(reason)
        }
        if !record.isGroup, let limit = store.queue(record.queue)?.limit {
            let running = store.records.filter { $0.countsForLimits && $0.queue == record.queue }.map(\.id)
            if running.count >= Int(limit) {
                let place = position { $0.queue == record.queue }
                add(.queue, running, .queue(name: record.queue, limit: limit, position: place))
            }
        }
        if !record.isGroup, let parent = record.parent, let limit = store[parent].policy.childLimit,
            store.records.count(where: { $0.countsForLimits && $0.parent == parent }) >= Int(limit)
        {
            add(.group, [parent], .groupLimit(limit, position: position { $0.parent == parent }))
        }
        for name in short[record.id] ?? rules.shortCategories(of: record) {
            guard let wanted = rules.use(record, name) else { continue }
            let line = waiting(for: name, in: rules.domain(of: record, name))
            let place = line.firstIndex(of: record.id) ?? line.count
            add(
                .category, rules.holders(for: record, name).map(\.id),
                .category(
                    name: name, wanted: wanted, capacity: rules.capacity(for: record, name), position: place + 1))
        }
        if !record.isGroup, rules.slotsInUse() >= Int(rules.workers) {
            let running = store.records.filter(\.hasSlot).map(\.id)
            add(.pool, running, .pool(workers: rules.workers, position: position { _ in true }))
        }
        return reasons
    }
}
