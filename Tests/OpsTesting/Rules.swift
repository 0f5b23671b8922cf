import OpsCore

/// The scheduling rules of the contract, computed from the rows each time, without regard to cost.
/// Nothing here is taken from the core: where the two differ, one of them is wrong.
struct Rules {
    let store: FakeStore
    let workers: Int32
    let now: Moment
    /// Operations whose earliest start has come, as this core has seen it. The clock may have been set back since.
    let due: Set<OperationID>
    let runner: String?
    let isDraining: Bool
    var mayStart: Bool { runner != nil && !isDraining }
    /// Starts that passed each waiting operation since it came to wait for categories alone.
    let overtaken: [OperationID: Int]
    /// The same while, for all that the core could know, they did.
    let perhapsOvertaken: [OperationID: Int]
    /// Ends of back-offs, by the monotonic clock.
    let restsUntil: [OperationID: MonotonicInstant]
    /// Value to assume for back-offs whose ends are not known: the clocks were set while opsd was away.
    var unknownRestsAreOver = true
    /// Until when the true answers to conditions stand.
    let confirmed: [OperationID: MonotonicInstant]

    // MARK: Dependencies

    func isSatisfied(_ edge: Record.Edge) -> Bool {
        edge.isSettled || edge.when.isMet(by: store[edge.on])
    }

    func isOutOfReach(_ edge: Record.Edge) -> Bool { store[edge.on].isFinished && !isSatisfied(edge) }

    /// The barriers before it in its queue that order it, and, for a barrier, all operations before it there that it
    /// orders. Never what contains it. A barrier of root orders everybody's operations, another those of its user.
    func barriersAhead(of record: Record) -> [OperationID] {
        // An operation that has started once in this run has passed its barriers.
        if record.hasStarted { return [] }
        let above = Set(store.ancestors(of: record).map(\.id))
        return store.unfinished.filter {
            $0.id < record.id && $0.queue == record.queue && !above.contains($0.id)
                && (orders(record, $0) || orders($0, record))
        }.map(\.id)
    }

    private func orders(_ barrier: Record, _ other: Record) -> Bool {
        barrier.isBarrier && (barrier.isOfRoot || barrier.user == other.user)
    }

    func mustWait(_ record: Record) -> Bool {
        if let parent = record.parent, store[parent].state != .executing { return true }
        return record.edges.contains { !isSatisfied($0) } || !barriersAhead(of: record).isEmpty
    }

    // MARK: Turn

    /// Everything of rule 1; a condition counts as true once it was answered so, for a while.
    func isEligible(_ record: Record) -> Bool {
        let isRested = record.backoffUntil == .zero || restsUntil[record.id].map { $0 <= now.monotonic } ?? false
        return isRested && (record.policy.notBefore ?? .zero) <= now.wall && mayBeEligible(record)
    }

    func mayBeEligible(_ record: Record) -> Bool {
        isInLine(record) && mayStart && !isSuspended(record)
            && (record.policy.conditions.isEmpty || confirmed[record.id, default: .distantPast] >= now.monotonic)
    }

    func isSuspended(_ record: Record) -> Bool {
        store.isSuspended || store.suspendedGraphs.contains(record.graph)
            || store.queue(record.queue)?.isSuspended ?? false
    }

    /// Returns true if a group or a producer around it is held.
    func isGroupHeld(_ record: Record) -> Bool { store.ancestors(of: record).contains(where: \.isHeld) }

    func slotsInUse() -> Int { store.records.count { $0.hasSlot } }

    /// Returns true if a rate permits no start, as far as the scheduler knows: it hears of processes late.
    private func isKeptByRate(_ record: Record) -> Bool { !store.exhaustedRates(of: record, at: now).isEmpty }

    /// Rule 3 without the categories: pool, queue and the limit of its group.
    func hasRoom(_ record: Record) -> Bool {
        if record.isGroup { return true }
        return slotsInUse() < Int(workers) && hasRoomBesidePool(record)
    }

    private func hasRoomBesidePool(_ record: Record) -> Bool {
        if record.isGroup { return true }
        if let limit = store.queue(record.queue)?.limit {
            if store.records.count(where: { $0.countsForLimits && $0.queue == record.queue }) >= Int(limit) {
                return false
            }
        }
        if let parent = record.parent, let limit = store[parent].policy.childLimit {
            if store.records.count(where: { $0.countsForLimits && $0.parent == parent }) >= Int(limit) { return false }
        }
        return true
    }

    /// Rule 2: among all that may start, this order and no other. Among equals those without an estimated
    /// path, then the longest path.
    func precedes(_ a: Record, _ b: Record, _ effective: [OperationID: Int]) -> Bool {
        let (pa, pb) = (effective[a.id] ?? 0, effective[b.id] ?? 0)
        if pa != pb { return pa > pb }
        let (la, lb) = (a.path?.milliseconds ?? .max, b.path?.milliseconds ?? .max)
        return la != lb ? la > lb : a.id < b.id
    }

    /// Returns true if the order of two processes depends on their users.
    func sharesFairly(_ a: Record, _ b: Record, _ effective: [OperationID: Int]) -> Bool {
        a.queue == b.queue && store.queue(a.queue)?.isFair == true && !a.isGroup && !b.isGroup
            && effective[a.id] ?? 0 == effective[b.id] ?? 0
    }

    /// Returns true if an operation of its fair queue may give its turn, which comes before that of `first`, to `record`. Its
    /// conditions are not asked for that: they are asked last. Nor is it always known whether its back-off or its first
    /// instant has passed: the clocks may have been set.
    func mayHaveFairTurn(_ record: Record, before first: Record, _ effective: [OperationID: Int]) -> Bool {
        store.unfinished.contains { other in
            other.id != record.id && sharesFairly(other, record, effective) && precedes(other, first, effective)
                && (!other.policy.conditions.isEmpty || !isEligible(other)) && isInLine(other) && mayStart
                && !isSuspended(other)
                && hasRoom(other) && !isKeptByRate(other) && shortCategories(of: other).isEmpty
        }
    }

    /// Eligible, and nothing but categories keeps it from starting; a full pool is every one's business.
    func waitsForCategoriesAlone(_ record: Record) -> Bool {
        isEligible(record) && hasRoomBesidePool(record) && !isKeptByRate(record)
            && !shortCategories(of: record).isEmpty && !exceedsCapacity(record)
    }

    /// As far as the core can know: conditions are asked last, and an instant that has passed has passed.
    func mayWaitForCategoriesAlone(_ record: Record) -> Bool {
        isInLine(record) && mayStart && !isSuspended(record) && hasRoomBesidePool(record)
            && !isKeptByRate(record) && !shortCategories(of: record).isEmpty && !exceedsCapacity(record)
    }

    /// Returns the operations that were overtaken as often as allowed and still wait.
    func keepPlace() -> [Record] {
        overtaken.filter { $0.value >= Int(Limits.overtakes) }.keys.sorted().map { store[$0] }
            .filter(waitsForCategoriesAlone)
    }

    /// Returns the operations that may have a reservation, for all that the core knows.
    func mayKeepPlace() -> [Record] {
        perhapsOvertaken.filter { $0.value >= Int(Limits.overtakes) }.keys.sorted().map { store[$0] }
            .filter(mayWaitForCategoriesAlone)
    }

    /// All that could certainly start in this instant, first in turn first.
    func startable(_ effective: [OperationID: Int]) -> [Record] {
        let (kept, mayBeKept) = (keepPlace(), mayKeepPlace())
        return store.unfinished.filter { candidate in
            isEligible(candidate) && hasRoom(candidate) && !isKeptByRate(candidate)
                && shortCategories(of: candidate).isEmpty && !locksUp(candidate)
                && !(mayBeKept.contains { keepsOut($0, candidate, effective) } && !isAwaited(candidate.id, by: kept))
        }.sorted { precedes($0, $1, effective) }
    }

    func keepsOut(_ kept: Record, _ candidate: Record, _ effective: [OperationID: Int]) -> Bool {
        kept.id != candidate.id && precedes(kept, candidate, effective) && takes(candidate, from: kept)
    }
}
