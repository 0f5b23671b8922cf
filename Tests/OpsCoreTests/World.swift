public import OpsCore

/// A scheduler with a clock and an obedient runner, controlled and described in few words.
struct World {
    var scheduler: Scheduler
    var now = Moment(monotonic: .seconds(1_000), wall: .seconds(1_000_000))
    var last = Transition()
    /// Attempts for which the scheduler has sent a launch, by operation.
    var attempts: [Int64: Int32] = [:]

    init(workers: Int32 = 4, _ snapshot: Snapshot = Snapshot(), connected: Bool = true) {
        scheduler = Scheduler(snapshot, workers: workers, at: now)
        if connected {
            _ = scheduler.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1")), at: now)
        }
        turn()
    }

    @discardableResult
    mutating func handle(_ event: Event) -> Result<Acceptance, Rejection> { scheduler.handle(event, at: now) }

    @discardableResult
    mutating func turn() -> [String] {
        last = scheduler.endTurn(at: now)
        for effect in last.effects {
            if case .launch(let attempt, _) = effect { attempts[attempt.operation.rawValue] = attempt.number }
        }
        let broken = scheduler.checkInvariants()
        precondition(broken.isEmpty, "\(broken)")
        return last.changes.map(brief)
    }

    /// Handles one event in one turn, and returns its changes in short form.
    @discardableResult
    mutating func after(_ event: Event) -> [String] {
        handle(event)
        return turn()
    }

    mutating func pass(seconds: Int64) { now += .seconds(seconds) }

    func attempt(_ id: Int64) -> AttemptID { AttemptID(OperationID(id), attempts[id] ?? 1) }

    func launch(_ id: Int64) -> Event {
        .launched(attempt(id), LaunchedProcess(pid: Int32(id), startTicks: UInt64(id), at: now))
    }

    func exit(_ id: Int64, _ code: Int32 = 0, gone: Bool = true) -> Event {
        .exited(attempt(id), ProcessExit(status: .code(code), at: now), treeIsGone: gone)
    }

    /// Submits one operation, and returns its id.
    @discardableResult
    mutating func add(
        after: [Int64] = [], when: EdgeCondition = .succeeded, queue: String = "default",
        categories: [CategoryUse] = [],
        priority: Int8 = 0, flags: Draft.Flags = [], child of: Int64? = nil, user: UInt32 = 0,
        _ change: (inout Policy) -> Void = { _ in }
    ) -> Int64 {
        var policy = Policy()
        change(&policy)
        var submission = Submission()
        submission.user = user
        submission.queues = [queue]
        submission.categorySets = [categories]
        submission.policies = [policy]
        submission.operations = [
            Draft(
                categories: categories.isEmpty ? nil : 0, policy: policy == Policy() ? nil : 0, priority: priority,
                flags: flags)
        ]
        submission.edges = after.map { DraftEdge(from: 0, on: .existing(OperationID($0)), when: when) }
        if let of {
            submission.producer = OperationID(of)
            submission.asChildren = true
        }
        guard case .success(.submitted(_, let first, _)) = handle(.submit(submission)) else { return -1 }
        return first.rawValue
    }

    /// Executing operations, including groups.
    var executing: [Int64] { scheduler.executing.map(\.id.rawValue) }

    func state(_ id: Int64) -> OperationState? { scheduler.state(of: OperationID(id)) }

    /// Ends executing operations until none is left, and returns the order of starts.
    mutating func drain() -> [Int64] {
        var order: [Int64] = []
        turn()
        while true {
            for change in last.changes {
                if case .started(let id, _, _, _, _, _) = change { order.append(id.rawValue) }
            }
            let running = scheduler.executing.filter { $0.slot != nil }
            guard !running.isEmpty else { return order }
            for one in running { handle(exit(one.id.rawValue)) }
            turn()
        }
    }
}

extension CategoryUse: ExpressibleByStringLiteral {
    public init(stringLiteral name: String) { self.init(name: name) }
}

extension OperationID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self.init(value) }
}

extension ClockInstant {
    /// Makes an instant of full seconds since the origin of its clock.
    static func seconds(_ count: Int64) -> Self { .zero + .seconds(count) }
}

extension TimeSpan: ExpressibleByIntegerLiteral {
    public init(integerLiteral nanoseconds: Int64) { self.init(nanoseconds: nanoseconds) }
}

extension WallInstant: ExpressibleByIntegerLiteral {
    public init(integerLiteral nanoseconds: Int64) { self.init(nanoseconds: nanoseconds) }
}

extension MonotonicInstant: ExpressibleByIntegerLiteral {
    public init(integerLiteral nanoseconds: Int64) { self.init(nanoseconds: nanoseconds) }
}

/// Describes a change in a few words.
func brief(_ change: Change) -> String {
    switch change {
    case .submitted(_, let graph, _, let first, let states, _, _):
        "submitted g\(graph.rawValue) \(first.rawValue)+\(states.count) \(states.map { "\($0)" }.joined(separator: ","))"
    case .becameReady(let id, _): "ready \(id.rawValue)"
    case .becamePending(let id): "pending \(id.rawValue)"
    case .started(let id, let attempt, _, let slot, _, _): "started \(id.rawValue)#\(attempt) slot \(slot ?? -1)"
    case .staged(let attempt, _): "staged \(attempt.operation.rawValue)#\(attempt.number)"
    case .unstaged(let attempt): "unstaged \(attempt.operation.rawValue)#\(attempt.number)"
    case .assumedStarted(let attempt, _, let slot, _):
        "assumed \(attempt.operation.rawValue)#\(attempt.number) slot \(slot)"
    case .startConfirmed(let attempt, let begun):
        "confirmed \(attempt.operation.rawValue)#\(attempt.number) slot \(begun.slot)"
    case .accepted(let attempt, let job): "accepted \(attempt.operation.rawValue)#\(attempt.number) \(job)"
    case .jobStarted(let attempt, _): "job started \(attempt.operation.rawValue)#\(attempt.number)"
    case .launched(let attempt, _): "launched \(attempt.operation.rawValue)#\(attempt.number)"
    case .exited(let attempt, _): "exited \(attempt.operation.rawValue)#\(attempt.number)"
    case .attemptEnded(let attempt, let outcome, _, _):
        "ended \(attempt.operation.rawValue)#\(attempt.number) \(outcome)"
    case .retrying(let id, _, _): "retrying \(id.rawValue)"
    case .finished(let id, let outcome, let cause, _):
        "finished \(id.rawValue) \(outcome)" + (cause.map { " \(brief($0))" } ?? "")
    case .reopened(let id, let run, let state): "reopened \(id.rawValue) run \(run) \(state)"
    case .cancelling(let id, _, _, let outcome, _): "cancelling \(id.rawValue) \(outcome)"
    case .held(let id, let on): "held \(id.rawValue) \(on)"
    case .frozen(let id, let levels): "frozen \(id.rawValue) \(!levels.isEmpty)"
    case .edgeAdded(let id, let on, let when): "edge \(id.rawValue) on \(on.rawValue) \(when)"
    case .edgeRemoved(let id, let on): "no edge \(id.rawValue) on \(on.rawValue)"
    case .edited(let id, _): "edited \(id.rawValue)"
    case .noted(let id, let text): "noted \(id.rawValue) \(text ?? "nothing")"
    case .updated(let attempt, _): "updated \(attempt.operation.rawValue)"
    case .slotFreed(let attempt): "slot freed \(attempt.operation.rawValue)"
    case .timeoutMoved(let attempt, let remaining): "timeout \(attempt.operation.rawValue) \(remaining.seconds)s"
    case .queueSet(let name, let limit, _, let suspended, _):
        "queue \(name) \(limit.map(String.init) ?? "none") \(suspended)"
    case .queueFairnessSet(let name, let isFair): "queue \(name) \(isFair ? "fair" : "not fair")"
    case .slotTimeUsed(let queue, let user, let used, _): "slot time of \(user) in \(queue) \(used.seconds) s"
    case .queueExecutorSet(let name, let executor): "queue \(name) executor \(executor ?? "none")"
    case .queueRemoved(let name): "no queue \(name)"
    case .categorySet(let settings): "category \(settings.name) \(settings.capacity)"
    case .rateStarted(let name, let at, _): "rate \(name) \(at)"
    case .unitsAssigned(let id, _, let assigned):
        "units \(id.rawValue) "
            + assigned.map { "\($0.category)=\($0.units.joined(separator: ","))" }.joined(separator: " ")
    case .graphSuspended(let graph, let on): "graph \(graph.rawValue) suspended \(on)"
    case .daemonSuspended(let on): "suspended \(on)"
    case .workersSet(let count, _): "workers \(count)"
    case .observerOwed(let id, _): "observer owed \(id.rawValue)"
    case .observed(let id, _): "observed \(id.rawValue)"
    }
}

func brief(_ cause: Cause) -> String {
    switch cause {
    case .exitStatus(let status): "exit \(status)"
    case .signal(let signal): "signal \(signal)"
    case .outOfMemory: "out of memory"
    case .cannotStart(let step, let errno): "cannot start \(step) \(errno)"
    case .ranLongerThan(let duration): "longer than \(duration.seconds)s"
    case .deadlinePassed: "deadline"
    case .cancelledBy(let by, _): "by \(by)"
    case .groupCancelled(let id): "group \(id.rawValue) cancelled"
    case .groupTimedOut(let id): "group \(id.rawValue) timed out"
    case .dependency(let root, let outcome): "root \(root.rawValue) \(outcome)"
    case .providedFor(let other, let outcome): "provided for \(other.rawValue) \(outcome)"
    case .neverStarted(let root): "never started \(root.rawValue)"
    case .conditionFalse(let index, _): "condition \(index)"
    case .children(let first, let count): "children \(first.rawValue) of \(count)"
    case .groupSkipped(let id, _): "group \(id.rawValue) skipped"
    case .refused(let text): "refused: \(text)"
    case .engine(let text): "engine: \(text)"
    case .upToDate: "up to date"
    case .runnerLost: "runner lost"
    case .machineRestarted: "machine restarted"
    case .abandoned(let by, let reason): "abandoned by \(by)" + (reason.map { ": \($0)" } ?? "")
    case .finishedBy(let by, _): "finished by \(by)"
    case .reported(let status): "reported \(status)"
    }
}

extension Snapshot {
    /// Returns a snapshot in which 1 executes, and 2 is staged with the same runner.
    static func withHand(_ second: Row) -> Snapshot {
        var snapshot = Snapshot()
        snapshot.nextOperation = 3
        snapshot.nextGraph = 2
        snapshot.operations = [Row(id: 1, graph: GraphID(1), state: .executing, attempt: 1, attemptsInRun: 1), second]
        snapshot.running = [.firstAttempt(of: 1, slot: 0)]
        snapshot.staged = [StagedLaunch(attempt: AttemptID(2, 1), runner: "r1", boot: "b1")]
        return snapshot
    }

    /// Changes the state as if an earlier opsd had assumed 2 to be started, and stored that.
    mutating func presumeSecond() {
        operations[1].state = .executing
        operations[1].attempt = 1
        operations[1].attemptsInRun = 1
        running.append(.firstAttempt(of: 2, slot: 1))
    }
}

extension Snapshot.Running {
    fileprivate static func firstAttempt(of id: OperationID, slot: Int32) -> Self {
        Self(
            attempt: AttemptID(id, 1), slot: slot, runner: "r1", boot: "b1", startedAt: Moment(monotonic: 1, wall: 1))
    }
}
