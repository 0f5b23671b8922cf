/// The scheduling rules as a value: events in, transitions out. It reads no clock, writes no file and starts no
/// process.
///
/// `handle` processes one event. `endTurn` decides what starts, and returns the results of all events since the turn
/// before.
public struct Scheduler: Codable {
    var registry = Registry()
    var lanes = LaneBoard()
    var reservations = Reservations()
    var conditions = ConditionQueue()
    var priorities = PriorityLedger()
    var deadlocks = DeadlockCheck()
    var staging = Staging()
    var executors = Executors()
    var slotTimes = SlotTimes()
    var capacity: Capacity
    var timers = Timers()
    var scratch = TurnScratch()
    var budget = WorkBudget()
    var output: Output
    var now: Moment

    /// Number of unfinished operations in each state.
    public struct Counts: Equatable, Sendable, Codable {
        public var pending = 0
        public var ready = 0
        public var executing = 0
        /// Held and scheduled operations, which the other members count too.
        public var setApart = SetApart()
    }

    /// Handles one event. A request may be refused; a fact is always accepted.
    public mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection> {
        self.now = now
        if !event.isRunnerReport {
            revokeStagedUnconfirmed()
            scratch.sawOnlyRunnerReports = false
        }
        do throws(Rejection) {
            let acceptance = try dispatch(event)
            recordFinishes()
            return .success(acceptance)
        } catch {
            return .failure(error)
        }
    }

    private mutating func dispatch(_ event: Event) throws(Rejection) -> Acceptance {
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
        case .addDependency(let id, let on, let when, let fact):
            return try addDependency(id, on: on, when: when, fact: fact)
        case .removeDependency(let id, let on, let isMet): return try removeDependency(id, on: on, isMet: isMet)
        case .setQueue(let name, let edit): return try setQueue(name, edit)
        case .removeQueue(let name): return try removeQueue(name)
        case .setCategory(let name, let edit): return try setCategory(name, edit)
        case .setWorkers(let count, let configured): return setWorkers(count, insteadOf: configured)
        case .setDraining(let draining): capacity.isDraining = draining
        case .setOperationsPerUser(let limit): registry.operationsPerUser = limit
        case .setObserversOfAll(let observers): registry.observersOfAll = observers
        case .setExecutors(let settings): setExecutors(settings)
        case .external(let name, let report): handleReport(report, from: name)
        case .launched(let attempt, let process): launched(attempt, process)
        case .launchFailed(let attempt, let step, let errno): launchFailed(attempt, step: step, errno: errno)
        case .exited(let attempt, let exit, let treeIsGone): exited(attempt, exit, treeIsGone: treeIsGone)
        case .gone(let attempt): gone(attempt)
        case .updated(let attempt, let notice): updated(attempt, notice)
        case .stagedStarted(let attempt, let start): stagedStarted(attempt, at: start)
        case .stagingRevoked(let started): revokeStaged(started: started)
        case .revocationConfirmed: revocationConfirmed()
        case .runnerConnected(let inventory): runnerConnected(inventory)
        case .runnerLost: runnerLost()
        case .conditionsAnswered(let id, let token, let answer): conditionsAnswered(id, token: token, answer)
        case .observed(let id, let run): observed(id, run: run)
        case .instantDecided(let kind, let graph, let detail): instantDecided(kind, graph, detail)
        // Executors report these, within `external`.
        case .accepted, .refused, .ended: break
        case .tick: break
        }
        return .done(0)
    }

    /// Fires due timers, starts what can start, and returns the results of the turn in order.
    public mutating func endTurn(at now: Moment) -> Transition { endTurn(at: now, upTo: .max) }

    /// Ends a turn that changes about `limit` operations. Further timers, starts and priorities are put off, each as a
    /// whole. If `hasPutOff` is true then, a turn without a limit must follow.
    public mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition {
        self.now = now
        if mustRevokeStaged(at: now) { revokeStagedUnconfirmed() }
        budget.begin(limit)
        fireDueTimers()
        recordFinishes()
        repeat {
            recountPriorities()
            if !hasPutOff { startEligible() }
            recountPriorities()
            // A changed priority may permit starts that a reservation blocked before.
        } while !hasPutOff && mayStart && (reservations.needsReview || hasCandidate())
        if !hasPutOff { fillStaging() }
        budget.end()
        return closeTurn()
    }

    /// Returns the results of the events that were handled so far, without deciding what starts.
    public mutating func closeTurn() -> Transition {
        forgetFinished()
        dropStaleTimers()
        scratch.endTurn()
        return output.endTurn()
    }

    /// Removes the operations that have finished in this turn.
    private mutating func forgetFinished() {
        guard !scratch.finished.isEmpty else { return }
        forgetRecountsOfFinished()
        for finished in scratch.finished {
            let row = table[finished.operation]
            categories.release(row.categories)
            if let policy = row.policy { _ = policies.release(policy) }
            if let group = row.group { groups.remove(group) }
            if let partition = row.partition { partitions.release(partition) }
            table.remove(finished.operation)
        }
        scratch.removeFinished()
    }

    /// Drops the recounts of priorities that the turn leaves to the next one, of operations that have finished in it.
    private mutating func forgetRecountsOfFinished() {
        guard !priorities.isEmpty else { return }
        let table = registry.table
        priorities.drop { table[$0].state == .finished }
    }

    /// Records that a `finish` observer has run. If a restart has repeated its command in this same turn, the command
    /// is withdrawn.
    private mutating func observed(_ id: OperationID, run: Int32) {
        record(.observed(id, run: run))
        output.withdraw(.observeFinish(id, run: run))
    }

    private mutating func instantDecided(_ kind: Report.Kind, _ graph: GraphID?, _ detail: String) {
        let at = now.wall
        output.publish { Report(sequence: $0, kind: kind, graph: graph, at: at, detail: detail) }
    }

    // MARK: Results of a turn

    mutating func record(_ change: Change) { output.record(change) }
    mutating func emit(_ effect: Effect) { output.emit(effect) }

    mutating func publish(
        _ kind: Report.Kind, _ operation: OperationIndex, old: OperationState? = nil, new: OperationState? = nil,
        product: OperationID? = nil, outcome: Outcome? = nil, detail: String? = nil
    ) {
        let (now, row) = (now.wall, (id: table[operation].id, graph: table[operation].graph))
        output.publish {
            Report(
                sequence: $0, kind: kind, operation: OperationID(row.id), graph: GraphID(row.graph), old: old, new: new,
                product: product, outcome: outcome,
                at: now, detail: detail)
        }
    }

    mutating func publishLevel(_ kind: Report.Kind, graph: GraphID? = nil, detail: String?) {
        let now = now.wall
        output.publish { Report(sequence: $0, kind: kind, graph: graph, at: now, detail: detail) }
    }

    // MARK: Small common steps

    /// Returns the error for an id that names no unfinished operation.
    func notFoundError(_ id: OperationID) -> Rejection {
        id.rawValue >= 1 && id.rawValue < output.nextOperation ? .alreadyFinished(id) : .unknownOperation(id)
    }
}

/// Short names for the contents of the registry. They must be inlined: a call copies the scheduler.
extension Scheduler {
    var table: OperationTable {
        @inline(__always) _read { yield registry.table }
        @inline(__always) _modify { yield &registry.table }
    }
    var graph: DependencyGraph {
        @inline(__always) _read { yield registry.graph }
        @inline(__always) _modify { yield &registry.graph }
    }
    var queues: QueueTable {
        @inline(__always) _read { yield registry.queues }
        @inline(__always) _modify { yield &registry.queues }
    }
    var partitions: PartitionTable {
        @inline(__always) _read { yield registry.partitions }
        @inline(__always) _modify { yield &registry.partitions }
    }
    var privilegedUsers: Set<UInt32> {
        @inline(__always) _read { yield registry.privilegedUsers }
        @inline(__always) _modify { yield &registry.privilegedUsers }
    }
    var categories: CategoryTable {
        @inline(__always) _read { yield registry.categories }
        @inline(__always) _modify { yield &registry.categories }
    }
    var policies: Interned<Policy, PolicyIndex> {
        @inline(__always) _read { yield registry.policies }
        @inline(__always) _modify { yield &registry.policies }
    }
    var groups: Pool<Group, GroupIndex> {
        @inline(__always) _read { yield registry.groups }
        @inline(__always) _modify { yield &registry.groups }
    }
    var executions: Pool<Execution, ExecutionIndex> {
        @inline(__always) _read { yield registry.executions }
        @inline(__always) _modify { yield &registry.executions }
    }
    var runs: [OperationIndex: Run] {
        @inline(__always) _read { yield registry.runs }
        @inline(__always) _modify { yield &registry.runs }
    }

    func unfinished(_ id: OperationID) -> OperationIndex? { registry.unfinished(id) }
    func parent(of operation: OperationIndex) -> OperationIndex? { registry.table.parent(of: operation) }
    func group(of operation: OperationIndex) -> GroupIndex? { registry.table.group(of: operation) }
    func execution(of operation: OperationIndex) -> ExecutionIndex? { registry.table.execution(of: operation) }
    func lane(of operation: OperationIndex) -> LaneIndex? { registry.table.lane(of: operation) }
    func policy(of operation: OperationIndex) -> Policy? {
        registry.table.policy(of: operation).map { registry.policies[$0] }
    }
    func isAncestor(_ ancestor: OperationIndex, of operation: OperationIndex) -> Bool {
        registry.table.isAncestor(ancestor, of: operation)
    }
    mutating func setState(_ operation: OperationIndex, _ new: OperationState) {
        if table[operation].state == .ready, queues[table[operation].queue].aging != nil { noteStaleTimer(.aging) }
        registry.setState(operation, new)
    }
}
