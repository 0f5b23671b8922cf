import OpsCore

extension Rules {
    func ownPriority(_ record: Record) -> Int {
        guard record.state == .ready, let aging = store.queue(record.queue)?.aging, aging > .zero else {
            return Int(record.priority)
        }
        let steps = max(.zero, now.wall - record.readyAt) / aging
        return min(127, Int(record.priority) + Int(min(steps, Int64(Limits.agingSteps))))
    }

    /// Rule 2: the highest of its own and of all that wait for it, by iteration until nothing moves. What waits for
    /// the whole of a group waits for each child; what waits for its start (its children do) does not.
    func effectivePriorities() -> [OperationID: Int] {
        var effective: [OperationID: Int] = [:]
        var whole: [OperationID: Int] = [:]
        let unfinished = store.unfinished
        for record in unfinished { effective[record.id] = ownPriority(record) }
        let waits = unfinished.flatMap { waiting in awaited(by: waiting).map { (waiting.id, $0) } }
        var moved = true
        func lift(_ table: inout [OperationID: Int], _ id: OperationID, to priority: Int?) {
            guard let priority, priority > table[id, default: .min] else { return }
            table[id] = priority
            moved = true
        }
        while moved {
            moved = false
            for (waiting, wait) in waits {
                lift(&effective, wait.on, to: effective[waiting])
                if wait.untilEnd { lift(&whole, wait.on, to: effective[waiting]) }
            }
            for record in unfinished {
                guard let parent = record.parent else { continue }
                lift(&effective, record.id, to: whole[parent])
                lift(&whole, record.id, to: whole[parent])
            }
        }
        return effective
    }

    struct Wait {
        var on: OperationID
        /// Else only until its start.
        var untilEnd: Bool
    }

    /// Returns everything that must happen before this operation can go on: dependencies, barriers, holders of
    /// categories, the start of its group.
    func awaited(by record: Record) -> [Wait] {
        if record.state == .executing { return [] }
        var waits = record.edges.filter { !isSatisfied($0) && !store[$0.on].isFinished }.map {
            Wait(on: $0.on, untilEnd: $0.when != .started)
        }
        waits += barriersAhead(of: record).map { Wait(on: $0, untilEnd: true) }
        if let parent = record.parent, store[parent].isWaiting { waits.append(Wait(on: parent, untilEnd: false)) }
        if isInLine(record) {
            waits += shortCategories(of: record).flatMap { holders(for: record, $0) }.map {
                Wait(on: $0.id, untilEnd: true)
            }
        }
        return waits
    }

    /// Ready, and nothing of its own keeps it back. Where the clocks have been set nobody knows; an instant that has
    /// passed has passed, even when set back.
    func isInLine(_ record: Record) -> Bool {
        record.state == .ready && !record.isHeld && !isGroupHeld(record)
            && !store.suspendedGraphs.contains(record.graph)
            && ((record.policy.notBefore ?? .zero) <= now.wall || due.contains(record.id))
            && (restsUntil[record.id].map { $0 <= now.monotonic }
                ?? (record.backoffUntil == .zero || unknownRestsAreOver))
    }
}
