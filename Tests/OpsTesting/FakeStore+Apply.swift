public import OpsCore

extension FakeStore {
    public mutating func apply(
        _ change: Change, submissions: [Submission], boot: String, at now: Moment
    ) throws(Violation) {
        notice(boot: boot)
        if case .reopened = change {} else { settleReopened() }
        switch change {
        case .submitted(let index, let graph, let isNew, let first, let states, let parent, let producer):
            try require(submissions.indices.contains(index), .lawfulSteps, "submission \(index) of the turn")
            try insert(submissions[index], graph, isNew, first, states, parent, producer, at: now)
        case .becameReady(let id, let at):
            try step(id, from: [.pending], to: .ready)
            self[id].readyAt = at
        case .becamePending(let id):
            try step(id, from: [.ready], to: .pending)
        case .started(let id, let attempt, let run, let slot, let runner, let at):
            try start(id, attempt, run, slot, runner, boot: boot, at: at)
            self[id].assigned = []
            self[id].unassigned = namedCategories(of: self[id])
            self[id].rated = ratedCategories(of: self[id])
            if self[id].isGroup { try judgeRates(of: id, at: at.monotonic) }
        case .staged, .unstaged, .assumedStarted, .startConfirmed: try applyHand(change, boot: boot)
        case .launched(let attempt, let process):
            try current(attempt)
            self[attempt.operation].running?.process = process
            try judgeRates(of: attempt.operation, at: process.at.monotonic)
        case .accepted(let attempt, let job):
            try current(attempt)
            self[attempt.operation].running?.job = job
        case .jobStarted(let attempt, let at):
            try current(attempt)
            try require(self[attempt.operation].running?.process == nil, .lawfulSteps, "a second start of \(attempt)")
            self[attempt.operation].running?.startedAt = at
            self[attempt.operation].readyAt = min(self[attempt.operation].readyAt, at.wall)
            self[attempt.operation].hasStarted = true
            settleEdges(on: attempt.operation)
        case .exited(let attempt, let exit):
            try current(attempt)
            try require(self[attempt.operation].running?.exit == nil, .oneOutcome, "a second exit of \(attempt)")
            self[attempt.operation].running?.exit = exit
        case .attemptEnded(let attempt, let outcome, let cause, _):
            try current(attempt)
            self[attempt.operation].running?.isOver = true
            if self[attempt.operation].resolution == nil {
                self[attempt.operation].resolution = Record.Resolution(outcome: outcome, cause: cause, isOrdered: false)
            }
        case .retrying(let id, let notBefore, let counts):
            try step(id, from: [.executing], to: .ready)
            if !counts { self[id].attemptsInRun -= 1 }
            self[id].running = nil
            self[id].resolution = nil
            self[id].backoffUntil = notBefore
            self[id].readyAt = now.wall
        case .finished(let id, let outcome, let cause, _):
            try finish(id, outcome, cause)
            settleEdges(on: id)
        case .reopened(let id, let run, let state):
            try reopen(id, run, state, at: now)
        case .cancelling(let id, let by, _, let outcome, let cause):
            try require(self[id].state == .executing, .lawfulSteps, "\(id) is cancelling but \(self[id].state)")
            self[id].resolution = Record.Resolution(
                outcome: outcome, cause: cause, isOrdered: true, isCancelled: !by.isEmpty)
        default:
            try applyAttribute(change)
        }
    }

    /// Applies the changes that are not steps of an operation's state.
    private mutating func applyAttribute(_ change: Change) throws(Violation) {
        switch change {
        case .held(let id, let isHeld):
            // Others may wait below an executing operation, and a frozen one may start again.
            let holdsLater = !children(of: id).isEmpty || self[id].frozenBy.contains(.operation)
            let mayBeHeld = self[id].isWaiting || self[id].state == .executing && holdsLater
            try require(mayBeHeld || !isHeld, .lawfulSteps, "\(id) held while \(self[id].state)")
            if isHeld { self[id].flags.insert(.held) } else { self[id].flags.remove(.held) }
        case .frozen(let id, let levels):
            try require(self[id].state == .executing || levels.isEmpty, .lawfulSteps, "\(id) frozen, not executing")
            self[id].frozenBy = levels
        case .edgeAdded(let id, let on, let when):
            try require(self[id].isWaiting && has(on), .lawfulSteps, "edge of \(id) on \(on)")
            add(Record.Edge(on: on, when: when), to: id)
        case .edgeRemoved(let id, let on):
            self[id].edges.removeAll { $0.on == on }
        case .edited(let id, let edit):
            if let priority = edit.priority { self[id].priority = priority }
            if let queue = edit.queue { self[id].queue = queue }
            if let policy = edit.policy { self[id].policy = policy }
            if let categories = edit.categories { self[id].categories = categories }
        case .noted(let id, _):
            try require(has(id), .lawfulSteps, "a note on \(id)")
        case .updated(let attempt, let notice):
            try current(attempt)
            if let result = notice.result { self[attempt.operation].results[attempt.number] = result }
        case .slotFreed(let attempt):
            try current(attempt)
            let record = self[attempt.operation]
            try require(
                record.policy.completion == .notify && record.running?.exit != nil && record.hasSlot, .lawfulSteps,
                "the slot of \(attempt) is freed")
            self[attempt.operation].running?.slot = nil
        case .timeoutMoved(let attempt, let remaining): try moveTimeout(of: attempt, remaining)
        case .observerOwed(let id, let run): self[id].owedRuns.append(run)
        case .observed(let id, let run): self[id].owedRuns.removeAll { $0 == run }
        case .graphSuspended(let graph, let isOn):
            if isOn { suspendedGraphs.insert(graph) } else { suspendedGraphs.remove(graph) }
        case .daemonSuspended(let isOn): isSuspended = isOn
        // A new scheduler gets this value separately.
        case .workersSet: break
        case .categorySet(let settings): setCategory(settings)
        case .rateStarted(let name, let instant, let expired):
            rateStarts[name, default: []].append(CountedStart(boot: latestBoot, at: instant))
            rateStarts[name]?.removeAll { ($0.boot == latestBoot ? $0.at : .zero) <= expired }
        case .unitsAssigned(let id, let attempt, let assigned): try assign(assigned, to: id, attempt)
        case .queueSet(let name, let limit, let aging, let suspended, let order):
            let queue = Queue(name: name, limit: limit, aging: aging, isSuspended: suspended, order: order)
            if let place = queues.firstIndex(where: { $0.name == name }) {
                let (executor, isFair) = (queues[place].executor, queues[place].isFair)
                queues[place] = queue
                (queues[place].executor, queues[place].isFair) = (executor, isFair)
            } else {
                queues.append(queue)
            }
        case .queueExecutorSet(let name, let executor):
            for place in queues.indices where queues[place].name == name { queues[place].executor = executor }
        case .queueFairnessSet(let name, let isFair):
            for place in queues.indices where queues[place].name == name { queues[place].isFair = isFair }
            if !isFair { slotTimes.removeAll { $0.queue == name } }
        case .slotTimeUsed(let name, let user, let used, let at): setSlotTime(name, user, used, at: at)
        case .queueRemoved(let name):
            queues.removeAll { $0.name == name }
            slotTimes.removeAll { $0.queue == name }
        case .submitted, .becameReady, .becamePending, .started, .staged, .unstaged, .assumedStarted, .startConfirmed,
            .launched, .accepted, .jobStarted, .exited, .attemptEnded, .retrying,
            .finished, .reopened, .cancelling:
            preconditionFailure("apply(_:) takes the steps")
        }
    }

    private mutating func moveTimeout(of attempt: AttemptID, _ remaining: TimeSpan) throws(Violation) {
        let id = attempt.operation
        guard has(id), self[id].isGroup else {
            try current(attempt)
            self[id].running?.timeoutRemaining = remaining
            return
        }
        try require(self[id].state == .executing, .lawfulSteps, "the timeout of \(id), which is \(self[id].state)")
        self[id].groupTimeout = remaining
    }

    private mutating func setSlotTime(_ queue: String, _ user: UInt32, _ used: TimeSpan, at instant: WallInstant) {
        slotTimes.removeAll { $0.queue == queue && $0.user == user }
        slotTimes.append(Snapshot.SlotTime(queue: queue, user: user, used: used, at: instant))
    }

    private mutating func insert(
        _ submission: Submission, _ graph: GraphID, _ isNew: Bool, _ first: OperationID, _ states: [OperationState],
        _ parent: OperationID?, _ producer: OperationID?, at now: Moment
    ) throws(Violation) {
        try require(first.rawValue == Int64(records.count) + 1, .lawfulSteps, "\(first) after \(records.count)")
        try require(states.count == submission.operations.count, .lawfulSteps, "states of a submission")
        if isNew { graphCount = graph.rawValue }
        for (place, draft) in submission.operations.enumerated() {
            let group = draft.group.map { OperationID(first.rawValue + Int64($0)) } ?? parent
            var record = Record(
                id: OperationID(first.rawValue + Int64(place)), graph: graph, user: submission.user,
                parent: group, producer: producer,
                submittedAt: now.wall, path: draft.path, queue: submission.queues[Int(draft.queue)],
                categories: draft.categories.map { submission.categorySets[Int($0)] } ?? [],
                policy: draft.policy.map { submission.policies[Int($0)] } ?? Policy(),
                priority: draft.priority, flags: draft.flags, state: states[place])
            if states[place] == .ready { record.readyAt = now.wall }
            records.append(record)
        }
        for edge in submission.edges {
            let on: OperationID =
                switch edge.on {
                case .local(let place): OperationID(first.rawValue + Int64(place))
                case .existing(let id): id
                }
            add(Record.Edge(on: on, when: edge.when), to: OperationID(first.rawValue + Int64(edge.from)))
        }
    }

    /// Two equal edges are one. An edge that was met in an earlier run and is added again must be met again.
    private mutating func add(_ edge: Record.Edge, to id: OperationID) {
        var edge = edge
        edge.isSettled = edge.when.isMet(by: self[edge.on])
        if let place = self[id].edges.firstIndex(where: { $0.on == edge.on && $0.when == edge.when }) {
            self[id].edges[place] = edge
        } else {
            self[id].edges.append(edge)
        }
    }

    private mutating func start(
        _ id: OperationID, _ attempt: Int32, _ run: Int32, _ slot: Int32?, _ runner: String, boot: String, at: Moment
    ) throws(Violation) {
        try step(id, from: [.ready], to: .executing)
        try require(run == self[id].run, .lawfulSteps, "run \(run) of \(id), which is in \(self[id].run)")
        // After a back-off, the time of waiting counts from the end of the back-off.
        self[id].readyAt = max(self[id].readyAt, self[id].backoffUntil)
        self[id].backoffUntil = .zero
        // The runner may start an operation before the scheduler knows that it is ready.
        if slot != nil { self[id].readyAt = min(self[id].readyAt, at.wall) }
        self[id].startedAt = at
        self[id].boot = boot
        self[id].groupTimeout = nil
        // The job of an executor starts later.
        if slot != nil || self[id].isGroup {
            self[id].hasStarted = true
            settleEdges(on: id)
        }
        if self[id].isGroup { return }
        let staged = self[id].staged?.attempt ?? AttemptID(id, attempt)
        try require(staged == AttemptID(id, attempt), .lawfulSteps, "\(staged) staged, \(attempt) started")
        self[id].staged = nil
        try require(attempt == self[id].attempt + 1, .lawfulSteps, "attempt \(attempt) of \(id)")
        self[id].attempt = attempt
        self[id].attemptsInRun += 1
        self[id].running = Record.Running(
            attempt: AttemptID(id, attempt), slot: slot, runner: runner, boot: boot, startedAt: at)
    }

    private mutating func finish(_ id: OperationID, _ outcome: Outcome, _ cause: Cause?) throws(Violation) {
        let record = self[id]
        try require(!record.isFinished, .oneOutcome, "\(id) finished twice")
        try require(record.staged == nil, .lawfulSteps, "\(id) finished, may yet be started")
        try require(record.running?.isOver ?? true, .oneOutcome, "\(id) finished in the middle of an attempt")
        try require(cause != nil || outcome == .succeeded, .oneOutcome, "\(id) \(outcome) without a cause")
        var isAbandoned = false
        if case .abandoned? = cause { isAbandoned = true }
        if let resolution = record.resolution, resolution.isOrdered, !isAbandoned {
            // A message that ends an operation does not end its children; a child that fails makes the operation fail.
            let isFailedByChild =
                resolution.outcome == .succeeded && outcome == .failed
                && children(of: id).contains { $0.outcome?.isUnsuccessful ?? false }
            try require(
                outcome == resolution.outcome || isFailedByChild, .oneOutcome,
                "\(id) is \(outcome), was to be \(resolution.outcome)")
        }
        if record.state != .executing {
            let isUpToDate = cause == .upToDate && record.policy.conditions.contains { $0.otherwise == .succeed }
            try require(outcome != .succeeded || isUpToDate, .oneOutcome, "\(id) succeeded without executing")
        }
        let alive = children(of: id).filter { !$0.isFinished }
        if record.state == .executing {
            try require(alive.isEmpty, .oneOutcome, "\(id) finished before its children \(alive.map(\.id.rawValue))")
        }
        ends += 1
        self[id].finishedAs = ends
        self[id].state = .finished
        self[id].outcome = outcome
        self[id].cause = cause
        self[id].resolution = nil
        self[id].running = nil
        self[id].frozenBy = []
    }

    private mutating func reopen(
        _ id: OperationID, _ run: Int32, _ state: OperationState, at now: Moment
    ) throws(Violation) {
        try step(id, from: [.finished], to: state)
        try require(run == self[id].run + 1, .lawfulSteps, "run \(run) of \(id) after \(self[id].run)")
        self[id].run = run
        self[id].attemptsInRun = 0
        self[id].hasStarted = state == .executing
        self[id].outcome = nil
        self[id].cause = nil
        self[id].backoffUntil = .zero
        if state == .ready { self[id].readyAt = now.wall }
        for edge in self[id].edges.indices { self[id].edges[edge].isSettled = false }
        justReopened.append(id)
    }

    /// Settles the edges of all operations that one retry reopens together, because only then it is known which edges
    /// are already satisfied.
    mutating func settleReopened() {
        for id in justReopened {
            for edge in self[id].edges.indices where self[id].edges[edge].when.isMet(by: self[self[id].edges[edge].on])
            {
                self[id].edges[edge].isSettled = true
            }
        }
        justReopened.removeAll()
    }

    /// Marks the edges on `id` that are satisfied, so that they stay satisfied if `id` changes later.
    mutating func settleEdges(on id: OperationID) {
        for place in records.indices where !records[place].isFinished {
            for edge in records[place].edges.indices where records[place].edges[edge].on == id {
                let isMet = records[place].edges[edge].when.isMet(by: self[id])
                if isMet { records[place].edges[edge].isSettled = true }
            }
        }
    }

    private mutating func step(
        _ id: OperationID, from: [OperationState], to state: OperationState
    ) throws(Violation) {
        try require(has(id), .lawfulSteps, "unknown operation \(id)")
        try require(from.contains(self[id].state), .lawfulSteps, "\(id) from \(self[id].state) to \(state)")
        self[id].state = state
    }

    /// Checks that the attempt is the current one of its operation.
    private func current(_ attempt: AttemptID) throws(Violation) {
        let mine = has(attempt.operation) ? self[attempt.operation].running?.attempt : nil
        try require(mine == attempt, .lawfulSteps, "a fact of \(attempt) stored, which is over")
    }
}
