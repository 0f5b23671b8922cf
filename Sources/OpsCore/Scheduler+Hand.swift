/// The hand: what is next. Its starts are foretold, on disk, and their launches wait with the runner, which begins the
/// first that may go the moment an attempt succeeds; so no slot waits for a commit.
///
/// Some in it are ready and wait for a slot, while the pool is full; others wait for the success of what executes. The
/// hand is always what would start next, in order, and nothing that may happen by the runner's word alone can change
/// that: everything that executes is plain, and whatever else its success lets in comes after the last in hand. Before
/// anything else is told the hand is taken back, which needs no answer of the runner. So nothing is ever in hand while
/// the rules decide.
///
/// Who is in hand stays `ready`, out of its lane, or `pending`. `Scheduler+Foresight` says who that is.
extension Scheduler {
    /// How many launches the runner has been given, or is about to be, and has not told of.
    public var handCount: Int { hand.count }

    public func isInHand(_ attempt: AttemptID) -> Bool {
        guard let place = table.index(of: attempt.operation) else { return false }
        return table[place].traits.contains(.inHand) && table[place].attempt + 1 == attempt.number
    }

    /// The runner has what it needs for a while: what it tells may be gathered for one turn.
    public var handSuffices: Bool { hand.count >= Limits.hand / 2 && slots.used == workers }

    /// Whether a turn that ends now would decide more than the hand foresees: then it is to be taken back first.
    public func mustRecall(at now: Moment) -> Bool {
        guard !hand.isEmpty else { return false }
        if handUntil <= now.monotonic || handIsSpoiled { return true }
        // The runner passes on what it sees become free; whoever else may start is for a turn to start.
        if slots.used < workers,
            hand.contains(where: { $0.map { table[$0].state == .ready } ?? false })
                || candidates.entries.contains(where: { Self.counts($0, lanes) })
        {
            return true
        }
        if let timer = monotonicTimers.first, timer.at <= now.monotonic { return true }
        if let timer = wallTimers.first, timer.at <= now.wall { return true }
        return false
    }

    // MARK: Out of the hand

    /// The runner has begun it: a start like any other, but for the launch.
    mutating func taken(_ attempt: AttemptID, at begun: Place) {
        guard let place = table.index(of: attempt.operation), isInHand(attempt), table[place].state == .ready else {
            return
        }
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

    /// What it waited for did not succeed.
    mutating func leaveHand(_ place: OperationIndex) {
        guard table[place].traits.contains(.inHand), let position = hand.firstIndex(of: place) else { return }
        hand[position] = nil
        handIsSpoiled = true
        table[place].traits.remove(.inHand)
        tell(.withdrawn(AttemptID(table[place].operationID, table[place].attempt + 1)))
    }

    /// The hand has been taken back, but for `taken` of it, of which nobody has told: each could be begun only when those
    /// before it that were ready had been.
    mutating func recalled(taken: Int) {
        guard !hand.isEmpty else { return }
        isOfRunnerAlone = false
        handIsFree = false
        handIsSpoiled = false
        order(.recall)
        let all = hand
        hand = []
        var untold = taken
        for case let place? in all {
            table[place].traits.remove(.inHand)
            if untold > 0 {
                if table[place].state == .ready { untold -= 1 }
                presume(place, runner: runner ?? "", boot: "")
            } else {
                tell(.withdrawn(AttemptID(table[place].operationID, table[place].attempt + 1)))
                enterLane(place)
            }
        }
    }

    mutating func runnerLost() {
        runner = nil
        // Whoever comes next has nothing of it.
        transition.effects.removeAll { $0 == .recall }
        handIsFree = false
    }
}
