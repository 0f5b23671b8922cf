extension Scheduler {
    /// Restores the stored state. Nothing starts before a runner has connected.
    public init(_ snapshot: Snapshot, workers: Int32, at now: Moment) {
        self.now = now
        capacity = Capacity(workers: workers, isSuspended: snapshot.isSuspended)
        output = Output(
            sequence: snapshot.lastSequence, nextOperation: snapshot.nextOperation, nextGraph: snapshot.nextGraph)
        registry.privilegedUsers = snapshot.privilegedUsers
        registry.operationsPerUser = snapshot.operationsPerUser
        registry.observersOfAll = snapshot.observersOfAll
        registry.suspendedGraphs = Set(snapshot.suspendedGraphs.map(\.rawValue))
        for queue in snapshot.queues {
            _ = queues.add(
                Queue(
                    name: queue.name, limit: queue.limit, aging: queue.aging, isSuspended: queue.isSuspended,
                    executor: queue.executor, order: queue.order, isFair: queue.isFair))
        }
        for name in ["default", "main"] where queues.find(name) == nil {
            _ = queues.add(Queue(name: name, limit: name == "main" ? 1 : nil))
        }
        restore(snapshot.slotTimes)
        setExecutors(snapshot.executors)
        for settings in snapshot.categorySettings {
            let category = categories.set(settings)
            for instant in snapshot.rateStarts[settings.name] ?? [] { categories[category].rate?.restore(instant) }
        }
        let queueIndices = snapshot.queues.compactMap { queues.find($0.name) }
        let operations = restore(
            snapshot.operations, queues: queueIndices, categorySets: snapshot.categorySets,
            policies: snapshot.policies, endedChildren: snapshot.endedChildren, assigned: snapshot.assigned)
        // Before the edges, so that edges on the starts of these operations are outstanding.
        for staged in snapshot.staged { restoreAssumedStart(staged) }
        for edge in snapshot.edges {
            guard let from = unfinished(edge.from) else { continue }
            if let on = unfinished(edge.on) {
                if table[from].state == .pending || registry.isAssumed(from) {
                    registry.addEdge(from: from, on: on, when: edge.when)
                }
            } else if let fact = snapshot.finished[edge.on], let assumed = registry.assumedExecution(of: from) {
                noteMissed(assumed, on: edge.on, when: edge.when, fact)
            }
        }
        for running in snapshot.running { restore(running, inBoot: snapshot.boot) }
        for staged in snapshot.staged { assumeStarted(staged) }
        rebuildAllBarriers()
        raiseAll(operations)
        for operation in operations where table[operation].state == .ready {
            startAging(operation)
            enterLane(operation)
        }
        for operation in operations where table[operation].state == .pending && table[operation].waiting == 0 {
            becomeReady(operation)
        }
        for owed in snapshot.owedObservers { emit(.observeFinish(owed.operation, run: owed.run)) }
        recordFinishes()
    }

    /// Inserts stored rows in the order of their ids, and returns their indices.
    mutating func restore(
        _ rows: [Snapshot.Row], queues queueIndices: [QueueIndex], categorySets: [[CategoryUse]],
        policies policyList: [Policy], endedChildren: [Snapshot.EndedChildren],
        assigned: [OperationID: [AssignedUnits]] = [:]
    ) -> [OperationIndex] {
        var setIndices: [CategorySetIndex?] = []
        for set in categorySets { setIndices.append(categories.retain(set)) }
        var policyIndices: [PolicyIndex] = []
        for policy in policyList { policyIndices.append(policies.retain(policy).index) }
        table.reserve(rows.count)
        var operations: [OperationIndex] = []
        operations.reserveCapacity(rows.count)
        for stored in rows {
            let set = stored.categories.flatMap { setIndices[Int($0)] }
            let policy = stored.policy.map { policyIndices[Int($0)] }
            categories.retain(set)
            if let policy { policies.retain(policy) }
            var row = OperationRow(
                id: stored.id.rawValue,
                origin: OperationOrigin(
                    graph: stored.graph.rawValue,
                    partition: registry.partition(in: queueIndices[Int(stored.queue)], of: stored.user)),
                parent: table.index(of: stored.parent),
                queue: queueIndices[Int(stored.queue)], categories: set, policy: policy,
                traits: Traits(stored.flags).union(policy.map { Traits(policies[$0]) } ?? []),
                priority: stored.priority, path: stored.path)
            row.state = stored.state
            row.attempt = stored.attempt
            row.readyAt = stored.readyAt
            if registry.suspendedGraphs.contains(row.graph) { row.traits.insert(.graphSuspended) }
            let operation = table.insert(row)
            operations.append(operation)
            registry.count(row.state, 1, in: row.queue)
            registry.countWaiting(operation, 1)
            completeRow(of: operation)
            if stored.state != .executing {
                restoreRun(operation, stored)
            } else {
                restoreStart(operation, stored, assigned[stored.id] ?? [])
            }
        }
        for set in setIndices { categories.release(set) }
        for policy in policyIndices { _ = policies.release(policy) }
        for ended in endedChildren {
            guard let parent = unfinished(ended.parent) else { continue }
            if table[parent].group == nil {
                table[parent].group = groups.insert(Group(parent: parent))
                openScopes(of: parent)
            }
            guard let group = group(of: parent) else { continue }
            groups[group].unsuccessful = ended.unsuccessful
            groups[group].firstUnsuccessful = ended.firstUnsuccessful
        }
        return operations
    }

    /// Restores the run and the back-off of an operation that waits after an attempt. The rest of the back-off is
    /// measured on the wall clock, the only one that continues over a restart of the machine. That clock may have been
    /// set back, so the rest is never longer than the whole back-off.
    private mutating func restoreRun(_ operation: OperationIndex, _ stored: Snapshot.Row) {
        if stored.hasStarted { table[operation].traits.insert(.hasStarted) }
        guard stored.run != 1 || stored.attemptsInRun > 0 else { return }
        var run = Run(number: stored.run, attempts: stored.attemptsInRun)
        if stored.notBefore > now.wall {
            let rest = min(stored.notBefore - now.wall, longestRest(operation, stored))
            run.restsUntil = Moment(monotonic: now.monotonic + rest, wall: stored.notBefore)
            registry.setTraits(of: operation, inserting: .backingOff)
            timers.set(.backoff, of: table[operation].id, at: run.restsUntil.monotonic)
        }
        table[operation].traits.insert(.hasRun)
        runs[operation] = run
    }

    private func longestRest(_ operation: OperationIndex, _ stored: Snapshot.Row) -> TimeSpan {
        // Stored together. An attempt can have asked for more than the policy has.
        if stored.readyAt > .zero { return max(.zero, stored.notBefore - stored.readyAt) }
        if let retry = policy(of: operation)?.retry {
            return retry.delay(after: stored.attemptsInRun, of: AttemptID(stored.id, stored.attempt))
        }
        // An operation without a policy keeps the back-off of the one it had.
        let unknown = RetryPolicy(limit: 0)
        return unknown.max + unknown.max / 1000 * unknown.jitter
    }

    /// Restores an executing operation: a group completely, a process until its `Running` is read.
    private mutating func restoreStart(
        _ operation: OperationIndex, _ stored: Snapshot.Row, _ assigned: [AssignedUnits]
    ) {
        if stored.hasStarted || !table[operation].traits.contains(.external) {
            table[operation].traits.insert(.hasStarted)
        }
        table[operation].traits.formUnion(freezingTraits(of: operation, stored.frozenBy))
        let needs = registry.resolve(categories.needs(of: table[operation].categories), under: table[operation].parent)
        acquire(needs)
        let execution = Execution(
            operation: operation, attempt: stored.isGroup ? 0 : stored.attempt, run: stored.run,
            attemptsInRun: stored.attemptsInRun, slot: nil, runner: "", startedAt: now, holding: needs,
            assigned: restoreUnits(assigned, of: needs), isConfirmed: stored.isGroup)
        table[operation].link(to: executions.insert(execution))
        openScopes(of: operation)
    }

    /// Returns the traits of an operation that these levels have frozen. If the levels are unknown, every suspended level
    /// has frozen it, or else the operation was frozen by itself.
    private func freezingTraits(of operation: OperationIndex, _ levels: FreezingLevels) -> Traits {
        var traits = Traits(levels)
        guard levels.contains(.unknown) else { return traits }
        if isSuspended { traits.insert(.frozenByDaemon) }
        if queues[table[operation].queue].isSuspended { traits.insert(.frozenByQueue) }
        if table[operation].traits.contains(.graphSuspended) { traits.insert(.frozenByGraph) }
        return traits.isEmpty ? .frozenItself : traits
    }

    private mutating func restore(_ running: Snapshot.Running, inBoot boot: String) {
        guard let operation = unfinished(running.attempt.operation), let index = execution(of: operation) else {
            return
        }
        if let resolution = running.resolution {
            executions[index].resolution = resolution
        }
        guard !table[operation].isGroup else {
            executions[index].isCancelling = running.resolution != nil
            restoreTimeout(ofGroup: index, running, inBoot: boot)
            return
        }
        executions[index].startedAt = running.startedAt
        executions[index].runner = running.runner
        executions[index].boot = running.boot
        executions[index].process = running.process
        executions[index].exit = running.exit
        if !running.isOver { restoreCount(of: index) }
        if running.isOver {
            executions[index].isOver = true
            executions[index].isGone = true
            executions[index].isConfirmed = true
            executions[index].isCancelling = running.resolution?.endsChildren ?? false
            return
        }
        executions[index].isCancelling =
            running.resolution != nil && (running.isCancelled || !registry.leavesProcesses(index))
        if running.resolution == nil {
            executions[index].resolution = registry.resolution(of: index, treeIsGone: false)
        }
        if table[operation].traits.contains(.external) {
            restoreOnExecutor(index, job: running.job)
        } else if let slot = running.slot {
            executions[index].slot = slot
            capacity.restore(slot)
        } else {
            executions[index].hasFreedSlot = true
        }
        countRunning(operation, 1)
        resumeSlotTime(of: operation)
        if executions[index].resolution != nil || executions[index].executor != nil && running.process == nil { return }
        if table[operation].traits.isDisjoint(with: .frozen) {
            if let given = running.timeoutRemaining ?? timeout(of: index) {
                executions[index].timeoutDue = running.startedAt.monotonic + given
            }
        } else {
            executions[index].timeoutLeft = running.timeoutRemaining ?? timeout(of: index)
        }
    }

    /// Restores the clock of a group, which no runner confirms. If the group started in another boot, only the wall clock
    /// says how long ago, as for a back-off; if that was set back, the group has started now.
    private mutating func restoreTimeout(
        ofGroup index: ExecutionIndex, _ running: Snapshot.Running, inBoot boot: String
    ) {
        executions[index].startedAt = running.startedAt
        if running.boot.isEmpty || running.boot != boot {
            let elapsed = max(.zero, now.wall - running.startedAt.wall)
            executions[index].startedAt.monotonic = now.monotonic - elapsed
        }
        guard executions[index].resolution == nil, let given = running.timeoutRemaining ?? timeout(of: index) else {
            return
        }
        if table[executions[index].operation].traits.isDisjoint(with: .frozen) {
            setTimeout(index, at: executions[index].startedAt.monotonic + given)
        } else {
            executions[index].timeoutLeft = given
        }
    }

    // MARK: The runner

    /// Compares the attempts that a runner knows with those that should execute.
    mutating func runnerConnected(_ inventory: Inventory) {
        // A runner that is ending still reports, but starts nothing.
        capacity.runner = inventory.isEnding ? nil : inventory.runner
        staging.connect(
            isSupported: inventory.acceptsStaging && !inventory.isEnding, acceptsWaiting: inventory.acceptsWaiting)
        let unknown = inventory.entries.keys.filter { registry.execution(of: $0) == nil }
        let all = executions.indices.filter { executions[$0].executor == nil }
        // A staged launch started after another attempt had ended, and perhaps because of that end.
        let assumed = all.filter { executions[$0].isAssumed }
        for index in all where !executions[index].isAssumed && needsReconciliation(index) {
            reconcile(index, inventory)
        }
        let started = assumed.filter { needsReconciliation($0) && confirmOrUnstage($0, inventory) }
        recordFinishes()
        for index in started {
            confirmStart(index, inventory.slotStarts[registry.attemptID(index)])
            reconcile(index, inventory)
        }
        for attempt in unknown.sorted(by: { ($0.operation, $0.number) < ($1.operation, $1.number) }) {
            switch inventory.entries[attempt] {
            case .running, .exited: emit(.terminate(attempt, grace: Policy().grace))
            case .gone, .failed, .refused, .ended: emit(.acknowledge(attempt))
            case .accepted, nil: break
            }
        }
    }

    func needsReconciliation(_ index: ExecutionIndex) -> Bool {
        let operation = executions[index].operation
        return !table[operation].isGroup && !executions[index].isOver
            && !table[operation].traits.contains(.finishPending)
    }

    private mutating func reconcile(_ index: ExecutionIndex, _ inventory: Inventory) {
        let attempt = registry.attemptID(index)
        if executions[index].boot.isEmpty { executions[index].boot = inventory.boot }
        if executions[index].boot != inventory.boot {
            interrupt(index, .machineRestarted)
            return
        }
        if let entry = inventory.entries[attempt] {
            confirm(index)
            if case .running(let process) = entry { setProcess(of: index, process) }
            // The updates that it sent come before its end.
            if let update = inventory.updates[attempt] { updated(attempt, update) }
            switch entry {
            case .running: break
            case .exited(let exit): exited(attempt, exit, treeIsGone: false)
            case .gone(let exit): exited(attempt, exit, treeIsGone: true)
            case .failed(let step, let errno): launchFailed(attempt, step: step, errno: errno)
            // The runner has no jobs.
            case .accepted, .refused, .ended: break
            }
            // If the attempt has ended, another execution may have its index.
            if registry.execution(of: attempt) == index { repeatCommands(index) }
        } else if executions[index].runner == inventory.runner {
            confirm(index)
            if executions[index].process == nil, executions[index].exit == nil {
                // The launch was lost. To repeat it is safe: a runner refuses a second launch of one attempt.
                if executions[index].resolution == nil, inventory.isEnding {
                    rejectLaunch(index)
                } else if executions[index].resolution == nil {
                    if let slot = executions[index].slot { emit(.launch(attempt, slot: slot)) }
                } else {
                    endAttempt(index)
                }
            } else {
                gone(attempt)
            }
        } else {
            executions[index].isReaping = true
            emit(.reap(attempt))
        }
    }

    /// Ends an attempt that a runner which is ending does not start; the next runner gets another attempt. The attempt
    /// is recorded and keeps its number, but uses up none of the retries of its policy.
    private mutating func rejectLaunch(_ index: ExecutionIndex) {
        dropLaunch(index)
        executions[index].resolution = Resolution(outcome: .failed, cause: .runnerIsEnding)
        endAttempt(index)
    }

    /// Repeats commands that may have been lost with the connection. Each may be repeated.
    mutating func repeatCommands(_ index: ExecutionIndex) {
        let operation = executions[index].operation
        if executions[index].isCancelling {
            terminate(index)
        } else if !table[operation].traits.isDisjoint(with: .frozen) {
            repeatFreeze(index)
        } else {
            emit(.thaw(registry.attemptID(index)), for: index)
        }
    }

    /// Freezes the process of a frozen operation once more, because the earlier command may have been lost.
    mutating func repeatFreeze(_ index: ExecutionIndex) {
        guard !table[executions[index].operation].traits.isDisjoint(with: .frozen), !executions[index].isCancelling
        else { return }
        emit(.freeze(registry.attemptID(index)), for: index)
    }

    /// Notes that the runner knows an attempt, and sets its timeout again.
    mutating func confirm(_ index: ExecutionIndex) {
        guard !executions[index].isConfirmed else { return }
        executions[index].isConfirmed = true
        guard let due = executions[index].timeoutDue else { return }
        executions[index].timeoutDue = nil
        if executions[index].resolution == nil { setTimeout(index, at: due) }
    }

    private mutating func interrupt(_ index: ExecutionIndex, _ cause: Cause) {
        if executions[index].resolution == nil {
            executions[index].resolution = Resolution(outcome: .interrupted, cause: cause)
        }
        endAttempt(index)
    }
}

extension Snapshot.Row {
    var isGroup: Bool { flags.contains(.group) }
}
