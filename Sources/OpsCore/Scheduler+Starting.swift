extension Scheduler {
    /// Starts everything that can start, best first. A lane is examined only when something about it has changed.
    mutating func startEligible() {
        guard mayStart else { return }
        var awaited: AwaitedOperations?
        _ = reviewBlocked(&awaited)
        repeat {
            while !hasPutOff, let entry = lanes.popCandidate(hasFreeSlot: capacity.hasFreeSlot) {
                let entry = fairest(insteadOf: entry)
                guard spendStart(of: entry.lane) else { return makeCandidate(entry.lane) }
                let before = output.sequence
                consider(entry, &awaited)
                recordFinishes()
                recountInvalidPriorities()
                // Groups may have yielded to an operation that has started or ended.
                if output.sequence != before { _ = reviewBlocked(ofYieldingGroupsAlone: true, &awaited) }
            }
        } while !hasPutOff && (reviewReservations() || reviewBlocked(&awaited))
    }

    /// Spends the weight of the start of a lane's first operation. Returns false if the start is put off.
    private mutating func spendStart(of lane: LaneIndex) -> Bool {
        guard budget.isLimited, let first = lanes[lane].members.first else { return true }
        return budget.spend(weight(ofStart: first.operation, upTo: budget.left))
    }

    /// Returns whether there is a lane to consider.
    mutating func hasCandidate() -> Bool { lanes.hasCandidate(hasFreeSlot: capacity.hasFreeSlot) }

    /// Starts the first member of a lane, or parks the lane at the obstacle.
    private mutating func consider(_ entry: LaneEntry, _ awaited: inout AwaitedOperations?) {
        let lane = entry.lane
        let resource = lanes[lane].wokenBy
        lanes[lane].wokenBy = nil
        if entry.key != lanes[lane].top {
            // Its first member has left since: the next member decides its turn.
            makeCandidate(lane)
        } else if let first = lanes[lane].members.first {
            let isReserving = table[first.operation].traits.contains(.reserving)
            if let obstacle = obstacle(to: first.operation, in: lane, &awaited) {
                park(lane, at: obstacle)
            } else if mustYield(first.operation, in: lane) {
                park(lane, at: .yielding)
            } else if conditionsHold(evaluatingIfNeeded: first.operation, in: lane) {
                start(first.operation, from: lane)
                awaited = nil
            }
            // A lane that is blocked, or whose conditions are evaluated, reserves nothing.
            if isReserving { awaited = nil }
        }
        if let resource { wake(resource) }
    }

    /// Returns whether a group must not start yet, since an operation that it waits for would wait for its end.
    mutating func mustYield(_ operation: OperationIndex, in lane: LaneIndex) -> Bool {
        // Tested before the call, which copies the registry.
        guard group(of: operation) != nil, !lanes[lane].needs.isEmpty else { return false }
        return deadlocks.mustYield(operation, lanes[lane].needs, in: registry)
    }

    /// Returns the obstacle to starting a lane's first operation, apart from the pool and deadlock avoidance.
    @inline(__always) func obstacle(to operation: OperationIndex, in lane: LaneIndex) -> Resource? {
        var awaited: AwaitedOperations?
        return obstacle(to: operation, in: lane, &awaited)
    }

    /// Returns the obstacle as above. `awaited`: the operations for which owners of reservations wait, once known.
    @inline(__always) func obstacle(
        to operation: OperationIndex, in lane: LaneIndex, _ awaited: inout AwaitedOperations?
    ) -> Resource? {
        let key = lanes[lane].key
        if !queues[key.queue].hasRoom(forGroup: key.isGroup) { return .queue(key.queue) }
        if let group = lanes[lane].group, !key.isGroup, !groups[group].hasRoom { return .group(group) }
        if let executor = key.executor, !executors[executor].hasRoom { return .executor(executor) }
        if let category = exhaustedRate(of: lanes[lane].needs) { return .rate(category) }
        for need in lanes[lane].needs where !categories[need.category].room.fits(need.mode, need.units) {
            return .category(need.category)
        }
        return reservationInWay(operation, lanes[lane].needs, &awaited)
    }

    /// Starts an operation: acquires its slot and categories in one step, and records the intent before the launch.
    private mutating func start(_ operation: OperationIndex, from lane: LaneIndex) {
        let needs = lanes[lane].needs
        let executor = lanes[lane].key.executor
        let key = table[operation].key
        let passed = needs.isEmpty ? [] : overtaken(by: key, needs)
        lanes[lane].members.removeFirst()
        acquire(needs)
        leaveLaneForStart(operation, lane)
        noteOvertaken(passed, by: key)
        let isGroup = table[operation].isGroup
        if let executor { return start(operation, on: executor, holding: needs) }
        let slot = isGroup ? nil : capacity.allocate()
        let index = begin(operation, holding: needs, slot: slot, at: now)
        if let slot { emit(.launch(registry.attemptID(index), slot: slot)) }
        if table[operation].traits.contains(.hasObservers), policy(of: operation)?.observers.contains(.start) == true {
            emit(.observeStart(table[operation].operationID))
        }
    }

    /// Starts the execution of an operation that has its slot and its categories. On an `executor` the event `started`, the
    /// edges on the start and the timeout come with the start of its job.
    mutating func begin(
        _ operation: OperationIndex, holding needs: [Need], slot: Int32?, on executor: ExecutorIndex? = nil,
        at begun: Moment
    ) -> ExecutionIndex {
        let run = registry.popRun(of: operation)
        let isGroup = table[operation].isGroup
        if !isGroup { table[operation].attempt += 1 }
        var execution = Execution(
            operation: operation, attempt: isGroup ? 0 : table[operation].attempt, run: run.number,
            attemptsInRun: run.attempts + 1, slot: slot, runner: executor == nil ? capacity.runner ?? "" : "",
            startedAt: begun, holding: needs)
        execution.executor = executor
        execution.isInFlight = executor != nil
        setState(operation, .executing)
        if executor == nil { table[operation].traits.insert(.hasStarted) }
        let index = executions.insert(execution)
        table[operation].link(to: index)
        record(
            .started(
                table[operation].operationID, attempt: execution.attempt, run: execution.run, slot: execution.slot,
                runner: execution.runner, at: begun))
        if !needs.isEmpty {
            assignUnits(to: index)
            countStart(of: index)
        }
        if executor == nil {
            publish(
                .started, operation, old: .ready, new: .executing, detail: isGroup ? nil : String(execution.attempt))
        }
        // Children lend it nothing any more for its start, and it ages no longer.
        let row = table[operation]
        let mayCountForLess = row.group != nil || queues[row.queue].aging != nil
        if mayCountForLess, row.effective != row.priority { invalidatePriority(of: operation) }
        if executor == nil {
            meetStartEdges(of: operation)
            armTimeout(index)
        }
        if isGroup {
            startGroup(operation)
        } else {
            releaseChildren(of: operation)
            thawGroups(around: operation)
            countRunning(operation, 1)
            countSlotTime(operation, 1)
        }
        return index
    }

    /// Removes the first member of a lane, which starts; the lane continues with the next one.
    private mutating func leaveLaneForStart(_ operation: OperationIndex, _ lane: LaneIndex) {
        leaveLane(operation)
        table[operation].overtaken = 0
        if lanes.contains(lane), lanes[lane].live > 0, lanes[lane].status == .candidate { makeCandidate(lane) }
    }

    /// Counts a process that starts or ends for the limits of its queue and its group.
    mutating func countRunning(_ operation: OperationIndex, _ step: Int32) {
        queues[table[operation].queue].running += step
        if let parent = parent(of: operation), let group = group(of: parent) { groups[group].running += step }
        // A full queue or group reserves no positions in categories.
        if step > 0 { reservations.requestReview() }
    }

    mutating func acquire(_ needs: [Need]) {
        for need in needs { categories[need.category].room.acquire(need.mode, units: need.units) }
        for need in needs { invalidateClaim(on: need.category) }
    }

    mutating func release(_ needs: [Need], assigned: [Assignment]) {
        for assignment in assigned { categories[assignment.category].release(assignment) }
        for need in needs { categories[need.category].room.release(need.mode, units: need.units) }
        for need in needs { invalidateClaim(on: need.category) }
        for need in needs { wake(.category(need.category)) }
    }

    /// Meets the edges that wait for the start of an operation alone.
    mutating func meetStartEdges(of operation: OperationIndex) {
        guard table[operation].traits.contains(.startIsAwaited) else { return }
        table[operation].traits.remove(.startIsAwaited)
        // Operations that waited for its start alone lend it nothing any more.
        if table[operation].effective != table[operation].priority { invalidatePriority(of: operation) }
        let met = graph.dependents(of: table[operation]).filter { graph[$0].when == .started }
        for edge in met.reversed() {
            registry.graph.detach(edge, in: &registry.table)
            unblock(graph[edge].from)
        }
    }

}
