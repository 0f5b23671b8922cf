/// What goes into the hand: what is next, and what will be next once something that executes has succeeded.
extension Scheduler {
    /// At the end of a turn of the runner's alone in which something short succeeded: what is next goes into the hand.
    mutating func foresee() {
        let isTime = isOfRunnerAlone && hasSeenShortRun
        isOfRunnerAlone = true
        hasSeenShortRun = false
        guard isTime, handIsFree, mayStart, slots.used == workers || handWaits && slots.used < workers,
            workers <= Limits.workersWithHand, evaluating == 0, keptBack.isEmpty
        else { return }
        guard hand.count < Limits.hand, var outlook = outlook() else { return }
        while hand.count < Limits.hand, let next = next(&outlook), table[next.place].key < outlook.bound,
            let letIn = firstLetIn(by: next.place)
        {
            outlook.bound = min(outlook.bound, letIn)
            foretell(next.place, after: next.executions.map(attemptID))
        }
    }

    private mutating func foretell(_ place: OperationIndex, after: [AttemptID]) {
        leaveLane(place)
        table[place].traits.insert(.inHand)
        hand.append(place)
        handUntil = now.monotonic + Limits.shortRun
        let attempt = AttemptID(table[place].operationID, table[place].attempt + 1)
        tell(.foretold(attempt, runner: runner ?? ""))
        order(.hand(attempt, after: after))
    }

    /// Who comes next, ready or not; nil when there is nobody, or more than a turn of the runner's is to be considered.
    private mutating func next(_ outlook: inout Outlook) -> Newcomer? {
        let ready = nextInLine()
        guard let newcomer = outlook.newcomers.last, newcomer.key < ready?.key ?? .max else {
            return ready.flatMap { ready in
                ready.place.map { Newcomer(key: ready.key, place: $0, executions: []) }
            }
        }
        if slots.used < workers {
            // Beside free slots each success is good for one: a second would have to be taken back to start at once.
            guard let slot = newcomer.executions.first(where: { !outlook.promised.contains($0) }) else { return nil }
            outlook.promised.append(slot)
        }
        outlook.newcomers.removeLast()
        return newcomer
    }

    /// Which key has its turn once there is a slot, nil when none; and whose it is, if that is plain to see.
    private mutating func nextInLine() -> (key: UInt64, place: OperationIndex?)? {
        while true {
            Self.dropStale(&candidates, lanes)
            guard let entry = candidates.first else { return nil }
            let lane = entry.lane
            guard entry.key == lanes[lane].top else {
                // Its first member has left since: it has its turn by the next one.
                candidates.removeFirst()
                makeCandidate(lane)
                continue
            }
            let key = lanes[lane].key
            guard key.parent == 0, key.categories == nil, key.only == 0, !key.isGroup, lanes[lane].wokenBy == nil,
                let place = lanes[lane].members.first?.place, isPlain(place), startsUnobserved(place),
                obstacle(to: place, in: lane) == nil
            else { return (entry.key, nil) }
            return (entry.key, place)
        }
    }

    // MARK: Who may pass a slot on

    /// No other operation has anything to do with it but by edges, and its exit 0 is its success.
    private func isPlain(_ place: OperationIndex) -> Bool {
        let row = table[place]
        guard row.parent == nil, row.family == nil, row.categories == nil,
            row.traits.isDisjoint(with: Traits.frozen.union([.group, .barrier, .hasConditions, .ending]))
        else { return false }
        let queue = queues.pool[row.queue]
        guard queue.limit == nil, !queue.isSuspended, queue.aging == nil, queue.barriers.list.isEmpty,
            row.partition.map({ partitions[$0].barriers.list.isEmpty }) ?? true
        else { return false }
        guard let policy = policy(of: place) else { return true }
        return policy.completion == .exit && policy.successCodes.contains(0)
    }

    private func startsUnobserved(_ place: OperationIndex) -> Bool {
        table[place].traits.isDisjoint(with: [.startIsAwaited, .hasObservers])
    }

    /// It executes, nothing else is decided about it, and only its exit is outstanding.
    private func isUndisturbed(_ index: ExecutionIndex) -> Bool {
        let execution = executions[index]
        return execution.ending == nil && execution.exit == nil && !execution.isCancelling && !execution.isReaping
            && !execution.isPresumed && execution.isConfirmed && execution.holding.isEmpty
            && execution.runner == runner
    }

    /// Where machine or runner die with opsd, nobody can say whether what waits in hand had begun: so neither it nor what
    /// it waits for may be one that would go on by itself then.
    private func endsWhenInterrupted(_ place: OperationIndex) -> Bool {
        policy(of: place)?.retry?.onInterrupted != true
    }

    // MARK: What success lets in

    /// What success of what executes or is in hand may let in.
    private struct Outlook {
        /// Nobody with this key or a higher one may be in hand.
        var bound = UInt64.max
        /// Those that wait for the success of what executes and for nothing else, the first last.
        var newcomers: [Newcomer] = []
        /// Executions whose slot somebody in hand is to have.
        var promised: [ExecutionIndex] = []
    }

    private struct Newcomer {
        let key: UInt64
        let place: OperationIndex
        /// What it waits for.
        var executions: [ExecutionIndex]
    }

    /// Nil when that is not plain to see.
    private func outlook() -> Outlook? {
        var outlook = Outlook()
        var waits: [(key: UInt64, place: OperationIndex, execution: ExecutionIndex)] = []
        for index in executions.indices where executions[index].slot != nil {
            let place = executions[index].operation
            guard isUndisturbed(index), isPlain(place) else { return nil }
            let isAwaited = handWaits && endsWhenInterrupted(place)
            let isPlainToSee = forEachLetIn(by: place) { from, when in
                let row = table[from]
                if isAwaited, when == .succeeded, row.state == .pending {
                    waits.append((row.key, from, index))
                } else {
                    outlook.bound = min(outlook.bound, row.key)
                }
            }
            guard isPlainToSee else { return nil }
        }
        for case let place? in hand {
            guard let letIn = firstLetIn(by: place) else { return nil }
            outlook.bound = min(outlook.bound, letIn)
        }
        waits.sort { ($0.key, $0.execution) > ($1.key, $1.execution) }
        var newcomers: [Newcomer] = []
        for wait in waits {
            if newcomers.last?.place != wait.place {
                newcomers.append(Newcomer(key: wait.key, place: wait.place, executions: []))
            }
            newcomers[newcomers.count - 1].executions.append(wait.execution)
        }
        for newcomer in newcomers {
            if table[newcomer.place].traits.contains(.inHand) {
                let slot = newcomer.executions.first { !outlook.promised.contains($0) }
                if let slot { outlook.promised.append(slot) }
            } else if table[newcomer.place].waiting == Int32(newcomer.executions.count), mayWaitInHand(newcomer.place) {
                outlook.newcomers.append(newcomer)
            } else {
                outlook.bound = min(outlook.bound, newcomer.key)
            }
        }
        return outlook
    }

    private func mayWaitInHand(_ place: OperationIndex) -> Bool {
        isPlain(place) && startsUnobserved(place) && endsWhenInterrupted(place)
            && table[place].traits.isDisjoint(with: .ineligible)
    }

    /// The key of the first that success of an operation may let in; nil when that is not plain to see.
    private func firstLetIn(by place: OperationIndex) -> UInt64? {
        var first = UInt64.max
        let isPlainToSee = forEachLetIn(by: place) { from, _ in first = min(first, table[from].key) }
        return isPlainToSee ? first : nil
    }

    /// Whether all that success of an operation may let in is plain to see. What it would skip is not: much may follow
    /// from that.
    private func forEachLetIn(by place: OperationIndex, _ body: (OperationIndex, When) -> Void) -> Bool {
        var count = 0
        for edge in graph.dependents(of: table[place]) {
            let (from, when) = (graph[edge].from, graph[edge].when)
            let row = table[from]
            count += 1
            guard count <= Limits.edgesForeseen, when != .failed, row.categories == nil, row.parent == nil,
                row.traits.isDisjoint(with: [.group, .barrier])
            else { return false }
            body(from, when)
        }
        return true
    }
}
