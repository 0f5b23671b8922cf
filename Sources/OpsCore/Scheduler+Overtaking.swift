/// Overtaking: at most `Limits.overtakes` starts of others overtake an operation that waits for categories alone. Then
/// its position in every category that it needs is reserved.
extension Scheduler {
    /// Updates the position of a lane in each category that it needs, after a change of its first member.
    mutating func updateOrder(of lane: LaneIndex) {
        let top = lanes[lane].top
        for i in lanes[lane].needs.indices {
            let category = lanes[lane].needs[i].category
            let ticket = lanes[lane].tickets[i]
            guard let ticket else {
                guard top != .max else { continue }
                lanes[lane].tickets[i] = categories[category].lanes.add(top, lane: lane, need: Int32(i))
                invalidateClaim(on: category)
                continue
            }
            if top == .max {
                lanes[lane].tickets[i] = nil
                categories[category].lanes.remove(ticket)
            } else {
                categories[category].lanes.update(ticket, key: top)
            }
            invalidateClaim(on: category)
        }
    }

    /// Returns the lanes that a start with this key overtakes: their members before the key lack room in a category,
    /// and the start takes more of it. A lane with room in all its categories waits for the pool, and is not overtaken.
    func overtaken(by key: UInt64, _ needs: [Need]) -> [LaneIndex] {
        var passed: [LaneIndex] = []
        for need in needs {
            guard let root = categories[need.category].lanes.entries.first, root.key < key else { continue }
            passed.reserveCapacity(32)
            categories[need.category].lanes.forEach(below: key) { entry in
                let other = lanes[entry.lane].needs[Int(entry.need)]
                if !categories[need.category].room.fit(other, beside: need), lacksRoom(entry.lane),
                    waitsForCategoriesAlone(entry.lane)
                {
                    passed.append(entry.lane)
                }
                return true
            }
        }
        if needs.count > 1 { passed.sort() }
        return passed
    }

    /// Counts a start with this key as overtaking the members before it of these lanes.
    mutating func noteOvertaken(_ passed: [LaneIndex], by key: UInt64) {
        var last: LaneIndex?
        for lane in passed where lane != last {
            last = lane
            guard let line = lanes[lane].members.onlyLine else {
                for operation in members(of: lane, below: key) { noteOvertaken(operation) }
                continue
            }
            for entry in line {
                guard entry.key < key else { break }
                if isMember(entry, of: lane) { noteOvertaken(entry.operation) }
            }
        }
    }

    private mutating func noteOvertaken(_ operation: OperationIndex) {
        guard table[operation].overtaken < Limits.overtakes else { return }
        table[operation].overtaken += 1
        if table[operation].overtaken == Limits.overtakes { reserve(operation) }
    }

    private func lacksRoom(_ lane: LaneIndex) -> Bool {
        lanes[lane].needs.contains { !categories[$0.category].room.fits($0.mode, $0.units) }
    }

    /// Returns whether a lane needs more of a category than there is, even when nothing is held.
    private func exceedsCapacity(_ lane: LaneIndex) -> Bool {
        lanes[lane].needs.contains { !categories[$0.category].room.canFit($0.mode, $0.units) }
    }

    /// Returns whether nothing but the holders of categories keeps the members of a lane from starting. A group that yields
    /// keeps nothing from them.
    private func waitsForCategoriesAlone(_ lane: LaneIndex) -> Bool {
        let key = lanes[lane].key
        let status = lanes[lane].status
        if let executor = key.executor, !executors[executor].hasRoom { return false }
        if status == .evaluating || status.isBlocked
            || !queues[key.queue].hasRoom(forGroup: key.isGroup) || exhaustedRate(of: lanes[lane].needs) != nil
            || exceedsCapacity(lane)
        {
            return false
        }
        guard let group = lanes[lane].group, !key.isGroup else { return true }
        return groups[group].hasRoom
    }

    // MARK: Reserved positions

    mutating func reserve(_ operation: OperationIndex) {
        table[operation].traits.insert(.reserving)
        reservations.add()
        let key = table[operation].key
        for need in needsInLane(of: operation) {
            let position = position(of: key, among: categories[need.category].reservations)
            categories[need.category].reservations.insert(operation, at: position)
        }
    }

    /// Returns the number of reservations before a key; they are in the order of their keys.
    private func position(of key: UInt64, among reservations: [OperationIndex]) -> Int {
        var (low, high) = (0, reservations.count)
        while low < high {
            let middle = (low + high) / 2
            if table[reservations[middle]].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func needsInLane(of operation: OperationIndex) -> [Need] {
        table[operation].lane.map { lanes[$0].needs } ?? []
    }

    /// Removes a reservation as `clearReservation` does, but wakes no lane.
    mutating func unreserve(_ operation: OperationIndex) {
        unreserve(operation, needsInLane(of: operation))
    }

    private mutating func unreserve(_ operation: OperationIndex, _ needs: [Need]) {
        table[operation].traits.remove(.reserving)
        reservations.remove()
        let key = table[operation].key
        for need in needs {
            let position = position(of: key, among: categories[need.category].reservations)
            categories[need.category].reservations.remove(at: position)
        }
    }

    /// Ends a reservation: the operation starts, or leaves its lane.
    mutating func clearReservation(of operation: OperationIndex, in lane: LaneIndex) {
        guard table[operation].traits.contains(.reserving) else { return }
        let needs = lanes[lane].needs
        unreserve(operation, needs)
        for need in needs { wake(.category(need.category)) }
        wake(.reservations)
    }

    /// Returns the operation whose reserved position in a category a start with this key would take.
    func reserver(of need: Need, against key: UInt64) -> OperationIndex? {
        for operation in categories[need.category].reservations {
            guard table[operation].key < key else { return nil }
            guard let lane = lane(of: operation), waitsForCategoriesAlone(lane),
                let other = lanes[lane].needs.first(where: { $0.category == need.category })
            else {
                continue
            }
            if !categories[need.category].room.fit(need, beside: other) { return operation }
        }
        return nil
    }

    /// Returns the resource at which a lane must wait because its first member would take a reserved position; nil if
    /// it may start. No reservation blocks an operation for which the owner of a reservation waits, so that no two of
    /// them can wait for one another. `awaited`: the operations for which owners of reservations wait, once known.
    func reservationInWay(
        _ operation: OperationIndex, _ needs: [Need], _ awaited: inout AwaitedOperations?
    ) -> Resource? {
        guard !reservations.isEmpty else { return nil }
        let key = table[operation].key
        guard let need = needs.first(where: { reserver(of: $0, against: key) != nil }) else { return nil }
        let known = awaited ?? awaitedByReservers()
        awaited = known
        guard known.hasHolders else { return .category(need.category) }
        return known.starts.contains(operation) ? nil : .reservations
    }

    /// Returns the operations for which owners of reservations wait. Not inlined: the optimizer would copy the registry
    /// at the beginning of the caller, which seldom gets this far.
    @inline(never) private func awaitedByReservers() -> AwaitedOperations {
        let ends = endsAwaitedByReservers()
        guard !ends.isEmpty else { return AwaitedOperations(hasHolders: false, starts: []) }
        let reached = WaitView(registry).reach(ends)
        return AwaitedOperations(hasHolders: true, starts: Set(reached.filter { !$0.isEnd }.map(\.operation)))
    }

    /// Returns the ends of groups and producers that hold a category which an operation with a reservation needs: only
    /// groups and producers wait for other operations.
    func endsAwaitedByReservers() -> [WaitNode] {
        guard groups.count > 0 else { return [] }
        var result: [WaitNode] = []
        for category in categories.pool.indices where !categories[category].longHolders.isEmpty {
            guard categories[category].reservations.contains(where: { lacksRoom($0, in: category) }) else { continue }
            result += categories[category].longHolders.map { .end($0) }
        }
        return result
    }

    /// Returns whether an operation with a reservation waits for categories alone, this one among them.
    private func lacksRoom(_ reserver: OperationIndex, in category: CategoryIndex) -> Bool {
        guard let lane = lane(of: reserver), waitsForCategoriesAlone(lane) else { return false }
        return lanes[lane].needs.contains {
            $0.category == category && !categories[category].room.fits($0.mode, $0.units)
        }
    }

    /// Reviews blocked lanes. Returns whether one of them is a candidate again.
    mutating func reviewBlocked(ofYieldingGroupsAlone: Bool = false, _ awaited: inout AwaitedOperations?) -> Bool {
        guard lanes.hasBlocked else { return false }
        var isAny = false
        for entry in lanes.popAllBlocked() {
            let isLeft = ofYieldingGroupsAlone && lanes[entry.lane].status != .parked(.yielding)
            if isLeft || mustStayBlocked(entry.lane, &awaited) {
                lanes.block(entry)
            } else {
                makeCandidate(entry.lane)
                // While it was blocked, reservations of its members blocked nothing.
                awaited = nil
                isAny = true
            }
        }
        return isAny && hasCandidate()
    }

    private mutating func mustStayBlocked(_ lane: LaneIndex, _ awaited: inout AwaitedOperations?) -> Bool {
        guard let first = lanes[lane].members.first else { return true }
        if let obstacle = obstacle(to: first.operation, in: lane, &awaited) { return obstacle == .reservations }
        return mustYield(first.operation, in: lane)
    }

    /// Wakes the lanes in categories with reservations, if a review was requested: a reservation blocks no lane while
    /// the queue or group of its owner has no room. Returns false if no review was requested.
    mutating func reviewReservations() -> Bool {
        guard reservations.beginReview() else { return false }
        for category in Array(categories.pool.indices) where !categories[category].reservations.isEmpty {
            wake(.category(category))
        }
        return true
    }
}

/// The operations for which owners of reservations wait. They stay the same until an operation starts or ends, until a
/// lane is blocked or evaluated, until a priority changes, and until a blocked lane is a candidate again.
struct AwaitedOperations {
    /// True if a group or a producer holds a category that an owner of a reservation needs.
    let hasHolders: Bool
    /// Operations whose starts come before the ends of these groups and producers.
    let starts: Set<OperationIndex>
}
