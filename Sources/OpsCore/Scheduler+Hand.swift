/// The hand: what is next while the pool is full. Its starts are foretold, on disk, and their launches wait with the
/// runner, which begins the first the moment an attempt succeeds; so no slot waits for a commit.
///
/// The hand is always what would start next, in order, and nothing that may happen by the runner's word alone can change
/// that: everything that executes is plain, and whatever its success lets in comes after the last in hand. Before
/// anything else is told the hand is taken back, which needs no answer of the runner. So nothing is ever in hand while
/// the rules decide.
///
/// Who is in hand stays `ready`; it has left its lane.
extension Scheduler {
    /// How many launches the runner has been given, or is about to be, and has not told of.
    public var handCount: Int { hand.count }

    public func isInHand(_ attempt: AttemptID) -> Bool {
        let place = table.place(of: attempt.operation)
        return place >= 0 && table[place].traits.contains(.inHand) && table[place].attempt + 1 == attempt.number
    }

    /// The runner has what it needs for a while: what it tells may be gathered for one turn.
    public var handSuffices: Bool { hand.count >= Limits.hand / 2 && slots.used == workers }

    /// Whether a turn that ends now would decide more than the hand foresees: then it is to be taken back first.
    public func mustRecall(at now: Moment) -> Bool {
        guard !hand.isEmpty else { return false }
        if slots.used < workers || handUntil <= now.monotonic { return true }
        if let timer = monotonicTimers.first, timer.at <= now.monotonic { return true }
        if let timer = wallTimers.first, timer.at <= now.wall { return true }
        return false
    }

    // MARK: Into the hand

    /// At the end of a turn of the runner's alone in which something short succeeded: what is next goes into the hand.
    mutating func foresee() {
        let isTime = isOfRunnerAlone && hasSeenShortRun
        isOfRunnerAlone = true
        hasSeenShortRun = false
        guard isTime, handIsFree, mayStart, slots.used == workers, workers <= Limits.workersWithHand, evaluating == 0
        else { return }
        guard hand.count < Limits.hand, var bound = firstLetIn() else { return }
        while hand.count < Limits.hand, let place = nextInLine(), table[place].key < bound,
            let letIn = firstLetIn(by: place)
        {
            bound = min(bound, letIn)
            foretell(place)
        }
    }

    private mutating func foretell(_ place: Int32) {
        leaveLane(place)
        table[place].traits.insert(.inHand)
        hand.append(place)
        handUntil = now.monotonic + Limits.shortRun
        let attempt = AttemptID(table[place].operationID, table[place].attempt + 1)
        tell(.foretold(attempt, runner: runner ?? ""))
        order(.hand(attempt))
    }

    /// What starts next once there is a slot; nil when there is nothing, or more than its turn is to be considered.
    private mutating func nextInLine() -> Int32? {
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
            guard key.parent == 0, key.categories < 0, key.only == 0, !key.isGroup, lanes[lane].wokenBy == nil,
                let place = lanes[lane].members.first?.place, isPlain(place),
                table[place].traits.isDisjoint(with: [.startIsAwaited, .hasObservers]),
                obstacle(to: place, in: lane) == nil
            else { return nil }
            return place
        }
    }

    // MARK: Who may pass a slot on

    /// No other operation has anything to do with it but by edges, and its exit 0 is its success.
    private func isPlain(_ place: Int32) -> Bool {
        let row = table[place]
        guard row.parent < 0, row.family < 0, row.categories < 0,
            row.traits.isDisjoint(with: Traits.frozen.union([.group, .barrier, .hasConditions, .ending]))
        else { return false }
        let queue = queues.pool[row.queue]
        guard queue.limit == nil, !queue.isSuspended, queue.aging == nil, queue.barriers.list.isEmpty else {
            return false
        }
        guard let policy = policy(of: place) else { return true }
        return policy.completion == .exit && policy.successCodes.contains(0)
    }

    /// It executes, nothing else is decided about it, and only its exit is outstanding.
    private func isUndisturbed(_ index: Int32) -> Bool {
        let execution = executions[index]
        return execution.ending == nil && execution.exit == nil && !execution.isCancelling && !execution.isReaping
            && !execution.isPresumed && execution.isConfirmed && execution.holding.isEmpty
            && execution.runner == runner
    }

    /// The key of the first that success of what executes or is in hand may let in; nil when that is not plain to see.
    private func firstLetIn() -> UInt64? {
        var first = UInt64.max
        for index in executions.places where executions[index].slot >= 0 {
            let place = executions[index].operation
            guard isUndisturbed(index), isPlain(place), let letIn = firstLetIn(by: place) else { return nil }
            first = min(first, letIn)
        }
        for place in hand {
            guard let letIn = firstLetIn(by: place) else { return nil }
            first = min(first, letIn)
        }
        return first
    }

    /// The same for one operation. What success would skip is not plain: much may follow from that.
    private func firstLetIn(by place: Int32) -> UInt64? {
        var first = UInt64.max
        var count = 0
        var edge = table[place].firstDependent
        while edge >= 0 {
            let row = table[graph[edge].from]
            count += 1
            guard count <= Limits.edgesForeseen, graph[edge].when != .failed, row.categories < 0, row.parent < 0,
                row.traits.isDisjoint(with: [.group, .barrier])
            else { return nil }
            first = min(first, row.key)
            edge = graph[edge].nextDependent
        }
        return first
    }

    // MARK: Out of the hand

    /// The runner has begun it: a start like any other, but for the launch.
    mutating func taken(_ attempt: AttemptID, at begun: Place) {
        guard isInHand(attempt) else { return }
        let place = table.place(of: attempt.operation)
        hand.removeAll { $0 == place }
        table[place].traits.remove(.inHand)
        handUntil = now.monotonic + Limits.shortRun
        _ = begin(place, holding: [], slot: take(begun.slot), at: begun.at)
    }

    /// The slot that the runner names; where it is not free, which no rule allows, one beside the others.
    mutating func take(_ slot: Int32) -> Int32 {
        guard slots.isFree(slot) else { return slots.take() }
        slots.take(slot)
        return slot
    }

    /// The hand has been taken back, but for the first `taken` of it, of which nobody has told.
    mutating func recalled(taken: Int) {
        guard !hand.isEmpty else { return }
        isOfRunnerAlone = false
        handIsFree = false
        order(.recall)
        let all = hand
        hand = []
        for (number, place) in all.enumerated() {
            table[place].traits.remove(.inHand)
            if number < taken {
                presume(place, runner: runner ?? "", boot: "")
            } else {
                tell(.withdrawn(AttemptID(table[place].operationID, table[place].attempt + 1)))
                enterLane(place)
            }
        }
    }

    mutating func runnerLost() {
        runner = nil
        handIsFree = false
    }
}
