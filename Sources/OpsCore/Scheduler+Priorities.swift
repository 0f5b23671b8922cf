/// Priority inheritance: an operation counts for as much as the most urgent one that waits for it, through
/// dependencies, barriers, groups and categories. What waits for a group reaches all its children; a child that
/// waits for its group to start lends it its own priority, but not to its siblings.
extension Scheduler {
    // MARK: Up, at once

    /// Something of this priority waits for the start or the end of an operation.
    mutating func raise(_ node: WaitNode, to priority: Int8) {
        guard priorities.isUsed else { return }
        raise([node], to: priority)
    }

    /// Hands the priority of an operation on to all it waits for, and that of its group on to it.
    mutating func handOn(_ place: OperationIndex) {
        if let inherited = inheritedFromParent(place) { raise([.end(place)], to: inherited) }
        guard table[place].state != .executing else { return }
        raise(registry.waits(of: .start(place)), to: table[place].effective)
    }

    /// The priority that the children of the group around an operation inherit.
    func inheritedFromParent(_ place: OperationIndex) -> Int8? {
        guard let family = table[place].parent.flatMap({ table[$0].family }) else { return nil }
        return families[family].inherited
    }

    private mutating func raise(_ nodes: [WaitNode], to priority: Int8) {
        var open = nodes
        while let node = open.popLast() {
            let place = node.operation
            if node.isEnd, let family = table[place].family, families[family].inherited < priority {
                families[family].inherited = priority
                for id in families[family].children {
                    if let child = unfinished(OperationID(id)) { open.append(.end(child)) }
                }
            }
            guard table[place].effective < priority else { continue }
            setEffective(place, priority)
            if table[place].state != .executing { open += registry.waits(of: .start(place)) }
        }
    }

    mutating func setEffective(_ place: OperationIndex, _ priority: Int8) {
        table[place].effective = priority
        guard table[place].lane != nil else { return }
        moveInLane(place)
        if table[place].traits.contains(.reserving) {
            unreserve(place)
            reserve(place)
            reservations.doubt()
        }
    }

    /// New or returned operations: those of another priority than the rest are told to what they wait for.
    mutating func raiseAll(_ places: [OperationIndex]) {
        if !priorities.isUsed {
            guard places.contains(where: { table[$0].priority != 0 }) else { return }
            beginPriorities()
            for place in places { doubt(place) }
        }
        for place in places { handOn(place) }
    }

    /// Inheritance has something to say from now on: whatever was in doubt so far was passed over.
    mutating func beginPriorities() {
        guard !priorities.isUsed else { return }
        priorities.begin()
        let parents = table.indices.filter { table[$0].family != nil }
        for place in parents.sorted(by: { table[$0].id < table[$1].id }) { doubt(place) }
        for category in Array(categories.pool.indices) { doubtClaim(on: category) }
    }

    // MARK: Down, before anything starts

    /// What an operation waits for may have counted for more because of it.
    mutating func doubtWaits(of place: OperationIndex) {
        guard priorities.isUsed, table[place].state != .executing else { return }
        for node in registry.waits(of: .start(place)) { doubt(node.operation, after: table[place].effective) }
    }

    /// `from` no longer waits for `on`.
    mutating func noteWaiterLeft(_ on: OperationIndex, _ from: OperationIndex) {
        guard priorities.isUsed else { return }
        doubt(on, after: table[from].effective)
    }

    mutating func doubt(_ place: OperationIndex, after priority: Int8) {
        let inherited = table[place].family.map { families[$0].inherited } ?? .min
        guard table[place].effective <= priority || inherited <= priority else { return }
        doubt(place)
    }

    mutating func doubt(_ place: OperationIndex) {
        guard priorities.isUsed, !table[place].traits.contains(.priorityInDoubt), table[place].state != .finished else {
            return
        }
        table[place].traits.insert(.priorityInDoubt)
        priorities.doubt(place)
    }

    mutating func settlePriorities() {
        guard priorities.isUsed else { return }
        settleDoubts()
        if table.count == 0 { priorities.end() }
    }

    mutating func settleDoubts() {
        var proven: Set<WaitNode> = []
        while !priorities.isSettled, budget.mayAfford(1), let doubt = priorities.next() {
            switch doubt {
            case .claim(let category): recountClaim(on: category)
            case .operation(let place):
                table[place].traits.remove(.priorityInDoubt)
                if table[place].state != .finished { reassess(place) }
            case .source(let node): trace(node, &proven)
            }
        }
    }

    /// Recounts one operation; what it had lent goes back in turn.
    private mutating func reassess(_ place: OperationIndex) {
        let (all, whole) = claims(on: place)
        let old = table[place].effective
        if let family = table[place].family, families[family].inherited == whole {
            suspect(.end(place))
        } else if let family = table[place].family {
            let isLower = whole < families[family].inherited
            families[family].inherited = whole
            for id in families[family].children {
                guard let child = unfinished(OperationID(id)) else { continue }
                if isLower { doubt(child) } else { raise([.end(child)], to: whole) }
            }
        }
        guard old != all else {
            // What executes waits for nothing: only its children may be of a ring.
            if table[place].state != .executing, all > ownPriority(of: place) { suspect(.start(place)) }
            return
        }
        setEffective(place, all)
        guard table[place].state != .executing else { return }
        if all < old {
            for node in registry.waits(of: .start(place)) { doubt(node.operation, after: old) }
        } else {
            raise(registry.waits(of: .start(place)), to: all)
        }
    }

    /// The highest that waits for an operation in any way, its own included; and of what waits for the whole of it.
    func claims(on place: OperationIndex) -> (all: Int8, whole: Int8) {
        var start = ownPriority(of: place)
        var whole = Int8.min
        for edge in graph.dependents(of: table[place]) {
            let from = graph[edge].from
            let priority = isPresumed(from) ? .min : table[from].effective
            if graph[edge].when == .started { start = max(start, priority) } else { whole = max(whole, priority) }
        }
        for other in registry.barriers.kept(by: place, in: table, partitions) {
            whole = max(whole, table[other].effective)
        }
        if let inherited = inheritedFromParent(place) { whole = max(whole, inherited) }
        guard let family = table[place].family else { return (max(start, whole), whole) }
        if let index = table[place].execution {
            for need in executions[index].holding { whole = max(whole, categories[need.category].claim) }
        } else {
            for id in families[family].children {
                if let child = unfinished(OperationID(id)) { start = max(start, table[child].effective) }
            }
        }
        return (max(start, whole), whole)
    }

    // MARK: Categories

    /// The highest of what is ready and has no room in a category. What comes after a lane that has none in the order
    /// of lanes counts for no more than that.
    func claim(on category: CategoryIndex) -> Int8 {
        var claim = Int8.min
        categories[category].lanes.forEach(below: .max) { entry in
            let need = lanes[entry.lane].needs[Int(entry.need)]
            let effective = OperationRow.effective(ofKey: entry.key)
            guard effective > claim else { return false }
            guard categories[category].fits(need.mode, need.units) else {
                claim = effective
                return false
            }
            return true
        }
        return claim
    }

    /// More, or less, may wait now for the groups and producers that hold a category.
    mutating func doubtClaim(on category: CategoryIndex) {
        guard priorities.isUsed, !categories[category].familyHolders.isEmpty, !categories[category].isClaimInDoubt
        else {
            return
        }
        categories[category].isClaimInDoubt = true
        priorities.doubt(category)
    }

    /// Those that hold a category count for as much as what waits for it.
    private mutating func recountClaim(on category: CategoryIndex) {
        categories[category].isClaimInDoubt = false
        let claim = categories[category].familyHolders.isEmpty ? .min : claim(on: category)
        guard categories[category].claim != claim else {
            // What it is worth reaches all its holders, so one tells whether it is founded.
            let holder = categories[category].familyHolders.first { holder in
                table[holder].family.map { families[$0].inherited == claim } ?? false
            }
            if let holder { suspect(.end(holder)) }
            return
        }
        setClaim(on: category, claim)
        for holder in categories[category].familyHolders { doubt(holder) }
    }

    mutating func setClaim(on category: CategoryIndex, _ claim: Int8) {
        priorities.replaceClaim(categories[category].claim, by: claim)
        categories[category].claim = claim
    }

    /// As the contract counts it: an executing process too is worth what waits for its categories.
    func liveEffective(of place: OperationIndex) -> Int8 {
        guard let index = table[place].execution else { return table[place].effective }
        return executions[index].holding.reduce(table[place].effective) { max($0, claim(on: $1.category)) }
    }

    // MARK: Ageing

    /// Its own priority, and a step for every `aging` of its queue that it has been ready.
    func ownPriority(of place: OperationIndex) -> Int8 {
        let row = table[place]
        guard row.state == .ready, let aging = queues[row.queue].aging else { return row.priority }
        let steps = min(Int64(Limits.agingSteps), max(0, now.wall - row.readyAt) / aging)
        return Int8(min(127, Int64(row.priority) + steps))
    }

    mutating func startAging(_ place: OperationIndex) {
        guard let aging = queues[table[place].queue].aging else { return }
        beginPriorities()
        let steps = max(0, now.wall - table[place].readyAt) / aging
        guard steps < Int64(Limits.agingSteps) else { return doubt(place) }
        timers.set(.aging, of: table[place].id, at: table[place].readyAt + (steps + 1) * aging)
        if steps > 0 { doubt(place) }
    }

    /// One more step of waiting.
    mutating func age(_ place: OperationIndex) {
        startAging(place)
        doubt(place)
    }

    mutating func restartAging(_ queue: QueueIndex) {
        for place in table.indicesByID where table[place].queue == queue && table[place].state == .ready {
            startAging(place)
            doubt(place)
        }
    }
}
