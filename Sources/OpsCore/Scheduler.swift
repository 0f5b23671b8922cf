/// The rules, as a value: events in, transitions out. It has no clock, no disk and no opinion about processes.
///
/// `handle` records what happened; `endTurn` decides once what starts and returns everything since the last one.
public struct Scheduler {
    // What there is.
    var table = OperationTable()
    var graph = DependencyGraph()
    var queues = QueueTable()
    var partitions = PartitionTable()
    var privilegedUsers: Set<UInt32>
    var categories = CategoryTable()
    var policies = Interned<Policy, PolicyIndex>()
    var families = Pool<Family, FamilyIndex>()
    var executions = Pool<Execution, ExecutionIndex>()
    /// Runs of waiting operations that are not in their first life or have had attempts, by place.
    var lives: [OperationIndex: Life] = [:]
    var suspendedGraphs: Set<Int64> = []
    /// Operations whose conditions have been asked, by place.
    var inquiries: [OperationIndex: Inquiry] = [:]

    // What waits for its turn.
    var lanes = Pool<Lane, LaneIndex>()
    var laneIndex: [Lane.Key: LaneIndex] = [:]
    var laneStamps: UInt32 = 0
    var candidates = LaneHeap()
    /// Lanes of groups, which need no slot.
    var groupCandidates = LaneHeap()
    /// Lanes kept back for a reason that has no better place to wait: looked at again whenever something has moved.
    var keptBack: [LaneHeap.Entry] = []
    /// Of groups that let others go first, by place: how what they wait for comes round to whom they would keep out.
    var roundabouts: [OperationIndex: [WaitNode]] = [:]
    /// Lanes that wait for an evaluation to be free.
    var unasked = LaneHeap()
    var evaluating = 0
    var lastToken: Int64 = 0
    /// How many operations have their place kept; whether someone kept back for them may be free to go.
    var reservations = 0
    var reservationsInDoubt = false
    /// What claims there are on categories that groups hold.
    var claims = Claims()
    /// False while all priorities are 0 and nothing ages: inheritance then has nothing to say.
    var usesPriorities = false

    // What bounds it.
    var slots = SlotPool()
    public internal(set) var workers: Int32
    public internal(set) var isSuspended: Bool
    var isDraining = false
    /// The connected runner's id; without one nothing starts.
    var runner: String?

    // What the runner may begin by itself; see `Scheduler+Hand`.
    /// In the order in which they start; nil for one whose end is decided while the runner has it: it never starts.
    var hand: [OperationIndex?] = []
    /// Monotonic instant at which what is left of the hand is taken back.
    var handUntil: Int64 = 0
    /// The runner can be given a hand, and nothing of an earlier one is left there.
    var handIsFree = false
    /// Something has ended otherwise than by success: the runner begins nothing, and some of it may wait in vain.
    var handIsSpoiled = false
    /// The runner knows of launches that wait for the success of others.
    var handWaits = false
    /// Of this turn: nothing but the runner was heard; it told of a short run that succeeded.
    var isOfRunnerAlone = true
    var hasSeenShortRun = false

    // What this turn has come to.
    var now: Moment
    var transition = Transition()
    var submissions = 0
    var nextOperation: Int64
    var nextGraph: Int64
    var sequence: Int64
    /// Ends decided but not yet told, in order; `concluded` of them are.
    var decided: [Decision] = []
    var concluded = 0
    /// What has finished in this turn.
    var endings: [Ending] = []
    /// Operations whose effective priority may have fallen, categories for which more or less may wait now, and
    /// queues whose barriers are to be counted anew.
    var inDoubt: [OperationIndex] = []
    var doubtfulClaims: [CategoryIndex] = []
    /// What a recount has left to count for as much, because others say so.
    var suspects: [WaitNode] = []
    var doubtfulQueues: [QueueIndex] = []
    var scratch: [EdgeIndex] = []

    // What time brings.
    var monotonicTimers = TimerHeap()
    var wallTimers = TimerHeap()

    /// How many more operations this turn may touch; `Int.max`: as many as there are.
    var workLeft = Int.max
    var isLimited: Bool { workLeft != .max }
    /// Work was put off to the next turn.
    public internal(set) var hasPutOff = false

    public internal(set) var counts = Counts()

    /// How many unfinished operations stand where.
    public struct Counts: Equatable, Sendable {
        public var pending = 0
        public var ready = 0
        public var executing = 0
    }

    /// Records one event. A request is answered; a fact is always taken.
    public mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection> {
        precondition(hand.isEmpty || event.isWordOfRunner, "the hand is taken back before anything else is told")
        self.now = now
        if !event.isWordOfRunner { isOfRunnerAlone = false }
        do throws(Rejection) {
            let acceptance = try take(event)
            settleEnds()
            return .success(acceptance)
        } catch {
            return .failure(error)
        }
    }

    private mutating func take(_ event: Event) throws(Rejection) -> Acceptance {
        switch event {
        case .submit(let submission): return try submit(submission)
        case .cancel(let ids, let by, let reason, let force):
            return try cancel(ids, by: by, reason: reason, force: force)
        case .suspend(let level, let freeze): return try suspend(level, freeze: freeze)
        case .resume(let level): return try resume(level)
        case .retry(let ids, let revived): return try retry(ids, revived)
        case .finish(let id, let failed, let message, let by):
            return try finish(id, failed: failed, message: message, by: by)
        case .edit(let groups): return try edit(groups)
        case .note(let id, let graph, let text): return note(id, graph, text)
        case .depend(let id, let on, let when, let fact): return try depend(id, on: on, when: when, fact: fact)
        case .undepend(let id, let on, let isMet): return try undepend(id, on: on, isMet: isMet)
        case .setQueue(let name, let edit): return try setQueue(name, edit)
        case .removeQueue(let name): return try removeQueue(name)
        case .setCategory(let name, let capacity): return try setCategory(name, capacity: capacity)
        case .setWorkers(let count, let configured): return setWorkers(count, insteadOf: configured)
        case .setDraining(let draining): isDraining = draining
        case .launched(let attempt, let process): launched(attempt, process)
        case .launchFailed(let attempt, let step, let errno): launchFailed(attempt, step: step, errno: errno)
        case .exited(let attempt, let exit, let treeIsGone): exited(attempt, exit, treeIsGone: treeIsGone)
        case .gone(let attempt): gone(attempt)
        case .told(let attempt, let notice): told(attempt, notice)
        case .taken(let attempt, let place): taken(attempt, at: place)
        case .recalled(let taken): recalled(taken: taken)
        case .emptyHanded: handIsFree = true
        case .runnerConnected(let inventory): runnerConnected(inventory)
        case .runnerLost: runnerLost()
        case .conditionsAnswered(let id, let token, let answer): conditionsAnswered(id, token: token, answer)
        case .observed(let id, let run): observed(id, run: run)
        case .tick: break
        }
        return .done(0)
    }

    /// Lets time act, starts what can start, and returns all that this turn leaves to do, in order.
    public mutating func endTurn(at now: Moment) -> Transition { endTurn(at: now, upTo: .max) }

    /// The same for about `limit` operations: work on more is put off, each timer, start or priority as a whole. A turn
    /// without a limit must follow where `hasPutOff` says so.
    public mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition {
        precondition(!mustRecall(at: now), "the hand is taken back before anybody else may start")
        self.now = now
        workLeft = limit
        hasPutOff = false
        letTimeAct()
        settleEnds()
        repeat {
            settlePriorities()
            if !hasPutOff { startEligible() }
            settlePriorities()
            // A changed priority may have set free what was kept back.
        } while !hasPutOff && mayStart && (reservationsInDoubt || hasCandidate())
        if !hasPutOff { foresee() }
        workLeft = .max
        return closeTurn()
    }

    /// Returns what has been handled so far, and decides nothing more.
    public mutating func closeTurn() -> Transition {
        forgetFinished()
        dropStaleTimers()
        submissions = 0
        let result = transition
        transition = Transition()
        // The next turn is likely to be as large as this one; a huge one is no measure.
        transition.changes.reserveCapacity(min(result.changes.count, 256))
        transition.reports.reserveCapacity(min(result.reports.count, 256))
        transition.effects.reserveCapacity(min(result.effects.count, 256))
        return result
    }

    /// Whether the turn may do work of this weight; if not, it is put off.
    mutating func mayAfford(_ weight: Int) -> Bool {
        guard isLimited else { return true }
        if !hasPutOff { workLeft -= weight }
        hasPutOff = workLeft < 0
        return !hasPutOff
    }

    /// Finished operations leave the core.
    private mutating func forgetFinished() {
        guard !endings.isEmpty else { return }
        for ending in endings {
            let row = table[ending.place]
            categories.release(row.categories)
            if let policy = row.policy { _ = policies.release(policy) }
            if let family = row.family { families.remove(family) }
            if let partition = row.partition { partitions.release(partition) }
            table.remove(ending.place)
        }
        endings.removeAll(keepingCapacity: endings.count < 4096)
    }

    /// It has run: an order for it that a restart has repeated in this very turn is void.
    private mutating func observed(_ id: OperationID, run: Int32) {
        tell(.observed(id, run: run))
        let order = transition.effects.lastIndex(of: .observeFinish(id, run: run))
        if let order { transition.effects.remove(at: order) }
    }

    // MARK: Telling

    mutating func tell(_ change: Change) { transition.changes.append(change) }
    mutating func order(_ effect: Effect) { transition.effects.append(effect) }

    mutating func report(
        _ kind: Report.Kind, _ place: OperationIndex, old: OperationState? = nil, new: OperationState? = nil,
        product: OperationID? = nil, outcome: Outcome? = nil, detail: String? = nil
    ) {
        sequence += 1
        transition.reports.append(
            Report(
                sequence: sequence, kind: kind, operation: OperationID(table[place].id),
                graph: GraphID(table[place].graph), old: old, new: new, product: product, outcome: outcome,
                at: now.wall, detail: detail))
    }

    mutating func reportLevel(_ kind: Report.Kind, graph: GraphID? = nil, detail: String?) {
        sequence += 1
        transition.reports.append(
            Report(sequence: sequence, kind: kind, graph: graph, at: now.wall, detail: detail))
    }

    // MARK: Small common steps

    /// Moves an operation to another state and keeps every count of states.
    mutating func setState(_ place: OperationIndex, _ new: OperationState) {
        let old = table[place].state
        let queue = table[place].queue
        count(old, -1, queue)
        count(new, 1, queue)
        table[place].state = new
    }

    mutating func count(_ state: OperationState, _ step: Int32, _ queue: QueueIndex) {
        switch state {
        case .pending:
            queues[queue].pending += step
            counts.pending += Int(step)
        case .ready:
            queues[queue].ready += step
            counts.ready += Int(step)
        case .executing:
            queues[queue].executing += step
            counts.executing += Int(step)
        case .finished: break
        }
    }

    /// The place of an unfinished operation, or nil.
    func unfinished(_ id: OperationID) -> OperationIndex? {
        guard let place = table.index(of: id), table[place].state != .finished else { return nil }
        return place
    }

    func policy(of place: OperationIndex) -> Policy? {
        guard let policy = table[place].policy else { return nil }
        return policies[policy]
    }

    /// Why an id names nothing that is unfinished.
    func absence(of id: OperationID) -> Rejection {
        id.rawValue >= 1 && id.rawValue < nextOperation ? .alreadyFinished(id) : .unknownOperation(id)
    }
}
