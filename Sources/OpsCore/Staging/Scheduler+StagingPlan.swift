/// The choice of launches to stage: those of operations that are next, and of those that are next once executing ones
/// have succeeded.
extension Scheduler {
    /// Stages the next launches at the end of a turn with no events but reports of the runner, one of them the success
    /// of a short attempt.
    mutating func fillStaging() {
        defer { scratch.forgetReports() }
        guard scratch.sawOnlyRunnerReports, scratch.sawShortRun, staging.mayStage, mayStart,
            capacity.isExactlyFull || staging.acceptsWaiting && capacity.hasFreeSlot,
            workers <= Limits.workersWithStaging, !capacity.usesSlotBeyondPool, conditions.evaluating == 0,
            !lanes.hasBlocked,
            var plan = stagingPlan()
        else { return }
        while staging.mayStage, let next = next(&plan), table[next.operation].key < plan.bound,
            let unblocked = firstUnblocked(by: next.operation), unblocked > plan.lastWaiting
        {
            plan.bound = min(plan.bound, unblocked)
            if !next.executions.isEmpty { plan.lastWaiting = table[next.operation].key }
            stage(next.operation, after: next.executions.map(registry.attemptID))
        }
    }

    private mutating func stage(_ operation: OperationIndex, after: [AttemptID]) {
        leaveLane(operation)
        table[operation].traits.insert(.staged)
        staging.stage(operation, until: now.monotonic + Limits.shortRun)
        let attempt = AttemptID(table[operation].operationID, table[operation].attempt + 1)
        record(.staged(attempt, runner: capacity.runner ?? ""))
        emit(.stage(attempt, after: after))
    }

    /// Returns the operation that comes next, ready or not; nil if there is none, or if it depends on more than reports
    /// of the runner.
    private mutating func next(_ plan: inout StagingPlan) -> StagingPlan.Candidate? {
        let ready = nextInLine()
        guard let candidate = plan.candidates.last, candidate.key < ready?.key ?? .max else {
            return ready.flatMap { ready in
                ready.operation.map { StagingPlan.Candidate(key: ready.key, operation: $0, executions: []) }
            }
        }
        if capacity.hasFreeSlot {
            // Beside free slots each success is good for one: a second would have to be revoked to start at once.
            guard let slot = candidate.executions.first(where: { !plan.promised.contains($0) }) else { return nil }
            plan.promised.append(slot)
        }
        plan.candidates.removeLast()
        return candidate
    }

    /// Returns the key whose turn comes with the next slot, and its operation, if it is predictable.
    private mutating func nextInLine() -> (key: UInt64, operation: OperationIndex?)? {
        while true {
            guard let entry = lanes.firstProcess() else { return nil }
            let lane = entry.lane
            guard entry.key == lanes[lane].top else {
                // Its first member has left since: the next member decides its turn.
                lanes.removeFirstProcess()
                makeCandidate(lane)
                continue
            }
            let key = lanes[lane].key
            guard key.parent == 0, key.categories == nil, key.only == 0, !key.isGroup, lanes[lane].wokenBy == nil,
                let operation = lanes[lane].members.first?.operation, isPlain(operation), startsUnobserved(operation),
                obstacle(to: operation, in: lane) == nil
            else { return (entry.key, nil) }
            return (entry.key, operation)
        }
    }

    // MARK: Operations that may pass a slot on

    /// Returns whether nothing but edges ties an operation to others, and exit 0 is its success.
    private func isPlain(_ operation: OperationIndex) -> Bool {
        let row = table[operation]
        guard row.parent == nil, row.group == nil, row.categories == nil,
            row.traits.isDisjoint(with: Traits.frozen.union([.group, .barrier, .hasConditions, .finishPending]))
        else { return false }
        let queue = queues.pool[row.queue]
        guard queue.limit == nil, !queue.isSuspended, queue.aging == nil, !queue.isFair,
            !registry.barriers.mayOrder(row)
        else {
            return false
        }
        guard let policy = policy(of: operation) else { return true }
        return policy.completion == .exit && policy.successCodes.contains(0)
    }

    private func startsUnobserved(_ operation: OperationIndex) -> Bool {
        table[operation].traits.isDisjoint(with: [.startIsAwaited, .hasObservers])
    }

    /// Returns whether only the exit of an execution is outstanding, and nothing else is decided about it.
    private func isUndisturbed(_ index: ExecutionIndex) -> Bool {
        let execution = executions[index]
        return execution.resolution == nil && execution.exit == nil && !execution.isCancelling && !execution.isReaping
            && !execution.isAssumed && execution.isConfirmed && execution.holding.isEmpty
            && execution.runner == capacity.runner
    }

    /// Returns whether an interruption ends an operation. If the machine or the runner dies with opsd, it is unknown
    /// whether a staged operation that waited had started. So neither that operation nor those that it waits for may be
    /// ones that are retried after an interruption.
    private func endsWhenInterrupted(_ operation: OperationIndex) -> Bool {
        policy(of: operation)?.retry?.onInterrupted != true
    }

    // MARK: Consequences of success

    /// Operations that may become startable when executing or staged ones succeed.
    private struct StagingPlan {
        /// An operation that waits for executing ones to succeed, and for nothing else.
        struct Candidate {
            let key: UInt64
            let operation: OperationIndex
            var executions: [ExecutionIndex]
        }

        typealias Wait = (key: UInt64, operation: OperationIndex, execution: ExecutionIndex)

        /// No operation with this key or a higher one may be staged.
        var bound = UInt64.max
        /// Key of the last staged operation that waits. What the others unblock may not come before it: the runner would
        /// start it first.
        var lastWaiting: UInt64 = 0
        /// Candidates, the first last.
        var candidates: [Candidate] = []
        /// Executions whose slot a staged operation is to have.
        var promised: [ExecutionIndex] = []

        /// Returns the operations that wait, each with all of its executions, the first operation last.
        static func candidates(_ waits: [Wait]) -> [Candidate] {
            var candidates: [Candidate] = []
            for wait in waits.sorted(by: { ($0.key, $0.execution) > ($1.key, $1.execution) }) {
                if candidates.last?.operation != wait.operation {
                    candidates.append(Candidate(key: wait.key, operation: wait.operation, executions: []))
                }
                candidates[candidates.count - 1].executions.append(wait.execution)
            }
            return candidates
        }
    }

    /// Returns nil when what comes next is not predictable.
    private func stagingPlan() -> StagingPlan? {
        var plan = StagingPlan()
        var waits: [StagingPlan.Wait] = []
        for index in executions.indices where executions[index].countsForLimits {
            let operation = executions[index].operation
            if executions[index].executor != nil {
                // Its end frees no slot, but operations that it unblocks may need one.
                guard isPlain(operation), executions[index].holding.isEmpty,
                    let unblocked = firstUnblocked(by: operation)
                else { return nil }
                plan.bound = min(plan.bound, unblocked)
                continue
            }
            guard isUndisturbed(index), isPlain(operation) else { return nil }
            let isAwaited = staging.acceptsWaiting && endsWhenInterrupted(operation)
            let isPredictable = forEachUnblocked(by: operation) { from, when in
                let row = table[from]
                if isAwaited, when == .succeeded, row.state == .pending {
                    waits.append((row.key, from, index))
                } else {
                    plan.bound = min(plan.bound, row.key)
                }
            }
            guard isPredictable else { return nil }
        }
        for operation in staging.operations {
            guard let unblocked = firstUnblocked(by: operation) else { return nil }
            plan.bound = min(plan.bound, unblocked)
        }
        plan.lastWaiting = staging.operations.filter { table[$0].state == .pending }.map { table[$0].key }.max() ?? 0
        // The runner gives slots to staged launches in the order in which it got them.
        let last = staging.operations.last.map { table[$0].key } ?? 0
        for candidate in StagingPlan.candidates(waits) {
            if table[candidate.operation].traits.contains(.staged) {
                let slot = candidate.executions.first { !plan.promised.contains($0) }
                if let slot { plan.promised.append(slot) }
            } else if candidate.key > last, table[candidate.operation].waiting == Int32(candidate.executions.count),
                mayWaitStaged(candidate.operation)
            {
                plan.candidates.append(candidate)
            } else {
                plan.bound = min(plan.bound, candidate.key)
            }
        }
        return plan
    }

    private func mayWaitStaged(_ operation: OperationIndex) -> Bool {
        isPlain(operation) && startsUnobserved(operation) && endsWhenInterrupted(operation)
            && table[operation].traits.isDisjoint(with: Traits.ineligible.union(.external))
    }

    /// Returns the key of the first operation that success of another may unblock; nil when that is not predictable.
    private func firstUnblocked(by operation: OperationIndex) -> UInt64? {
        var first = UInt64.max
        let isPredictable = forEachUnblocked(by: operation) { from, _ in first = min(first, table[from].key) }
        return isPredictable ? first : nil
    }

    /// Calls `body` with each operation that the success of `operation` may unblock. Returns false if that is not
    /// predictable; a skip is not, since much may follow from it.
    private func forEachUnblocked(by operation: OperationIndex, _ body: (OperationIndex, EdgeCondition) -> Void) -> Bool
    {
        var count = 0
        for edge in graph.dependents(of: table[operation]) {
            let (from, when) = (graph[edge].from, graph[edge].when)
            let row = table[from]
            count += 1
            guard count <= Limits.edgesPredicted, when != .failed, row.categories == nil, row.parent == nil,
                row.traits.isDisjoint(with: [.group, .barrier])
            else { return false }
            body(from, when)
        }
        return true
    }
}
