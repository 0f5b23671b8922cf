extension Scheduler {
    // MARK: Becoming ready

    /// One thing less keeps it pending.
    mutating func release(_ place: OperationIndex) {
        table[place].waiting -= 1
        if table[place].waiting == 0, table[place].state == .pending, !table[place].traits.contains(.ending) {
            becomeReady(place)
        }
    }

    /// One thing more keeps it pending; a ready operation goes back.
    mutating func hold(back place: OperationIndex) {
        table[place].waiting += 1
        guard table[place].state == .ready else { return }
        leaveLane(place)
        setState(place, .pending)
        tell(.becamePending(table[place].operationID))
        // Only what is ready grows old.
        if queues[table[place].queue].aging != nil { doubt(place) }
        report(.edited, place, old: .ready, new: .pending)
    }

    mutating func becomeReady(_ place: OperationIndex) {
        setState(place, .ready)
        registry.graph.dropDependencies(of: place, in: &registry.table)
        table[place].readyAt = now.wall
        tell(.becameReady(table[place].operationID, at: now.wall))
        report(.ready, place, old: .pending, new: .ready)
        startAging(place)
        enterLane(place)
    }

    // MARK: Lanes

    /// Puts a ready operation where it waits for its turn, unless something of its own keeps it back.
    mutating func enterLane(_ place: OperationIndex) {
        guard table[place].state == .ready, !table[place].isLinked,
            table[place].traits.isDisjoint(with: .ineligible)
        else { return }
        let lane = lane(for: place)
        let key = table[place].key
        table[place].link(to: lane)
        lanes[lane].members.add(key, place)
        lanes[lane].live += 1
        if table[place].overtaken == Limits.overtakes { reserve(place) }
        guard key < lanes[lane].top else { return }
        lanes[lane].top = key
        makeCandidate(lane)
        topChanged(lane)
    }

    /// How often it was overtaken stays with it until it starts or ends: an edit is no reason to wait for longer.
    mutating func leaveLane(_ place: OperationIndex) {
        guard let lane = table[place].lane else { return }
        table[place].unlink()
        clearReservation(of: place, in: lane)
        stopAsking(place)
        deadlocks.forget(place)
        lanes[lane].live -= 1
        if lanes[lane].live == 0 {
            // The lane may be kept: a stale entry left in front would be taken for its next first member.
            lanes[lane].members.removeAll()
            lanes[lane].top = .max
            topChanged(lane)
            dropLane(lane)
        } else {
            refreshTop(of: lane)
        }
    }

    /// The effective priority of a member has changed: its old entry is stale.
    mutating func moveInLane(_ place: OperationIndex) {
        guard let lane = table[place].lane else { return }
        let key = table[place].key
        lanes[lane].members.add(key, place)
        if key < lanes[lane].top {
            lanes[lane].top = key
            makeCandidate(lane)
            topChanged(lane)
        } else {
            refreshTop(of: lane)
        }
    }

    private mutating func refreshTop(of lane: LaneIndex) {
        while let first = lanes[lane].members.first, !isMember(first, of: lane) {
            lanes[lane].members.removeFirst()
        }
        if lanes[lane].members.entries > 64, lanes[lane].members.entries > 2 * Int(lanes[lane].live) {
            let table = table
            lanes[lane].members.sweep { entry in
                let row = table[entry.place]
                return row.lane == lane && row.key == entry.key
            }
        }
        let top = lanes[lane].members.first?.key ?? .max
        if top != lanes[lane].top {
            lanes[lane].top = top
            topChanged(lane)
        }
    }

    func isMember(_ entry: ReadyMembers.Entry, of lane: LaneIndex) -> Bool {
        let row = table.rows[entry.place.offset]
        return row.lane == lane && row.key == entry.key
    }

    /// Members whose keys are lower than `bound`, in order. One that left and came back has two entries, both good.
    func members(of lane: LaneIndex, below bound: UInt64) -> [OperationIndex] {
        var entries: [ReadyMembers.Entry] = []
        lanes[lane].members.forEach(below: bound) { if isMember($0, of: lane) { entries.append($0) } }
        entries.sort { $0.key < $1.key }
        var result: [OperationIndex] = []
        result.reserveCapacity(entries.count)
        for entry in entries where result.last != entry.place { result.append(entry.place) }
        return result
    }

    private mutating func lane(for place: OperationIndex) -> LaneIndex {
        let row = table[place]
        let parent = row.parent
        // Conditions are its own; and which group would lock up with what differs between groups.
        let isAlone = row.traits.contains(.hasConditions) || row.family != nil && row.categories != nil
        let key = Lane.Key(
            queue: row.queue, parent: parent.map { table[$0].id } ?? 0, categories: row.categories,
            isGroup: row.isGroup, only: isAlone ? row.id : 0)
        if let lane = lanes.find(key) { return lane }
        let needs = registry.resolve(categories.needs(of: row.categories), under: parent)
        return lanes.add(
            Lane(
                key: key, family: parent.flatMap { table[$0].family }, needs: needs,
                tickets: [LaneTicket?](repeating: nil, count: needs.count)))
    }

    /// A lane that is empty is forgotten, but for the plainest ones.
    private mutating func dropLane(_ lane: LaneIndex) {
        unpark(lane)
        let token = lanes[lane].wokenBy
        lanes[lane].wokenBy = nil
        lanes[lane].status = .idle
        let key = lanes[lane].key
        if key.categories != nil || key.parent != 0 || key.only != 0 {
            lanes.remove(lane)
        }
        if let token { wake(token) }
    }
}
