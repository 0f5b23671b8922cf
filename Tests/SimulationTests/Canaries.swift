import OpsCore
import OpsTesting

/// A planted fault: it changes the events that the scheduler gets, or the effects that it returns.
protocol Perturbation {
    init()
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event
    mutating func says(_ transition: Transition) -> Transition
    /// Called before a turn is decided.
    mutating func decides(_ core: inout Scheduler, at now: Moment)
    /// Returns the number of staged launches that it knows.
    func countsHand(_ core: Scheduler) -> Int
    func explains(_ reasons: [Reason]) -> [Reason]
    /// True if the comparison with a restarted scheduler has to find it.
    static var isCompared: Bool { get }
}

extension Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event { event }
    mutating func says(_ transition: Transition) -> Transition { transition }
    mutating func decides(_ core: inout Scheduler, at now: Moment) {}
    func countsHand(_ core: Scheduler) -> Int { core.stagedCount }
    func explains(_ reasons: [Reason]) -> [Reason] { reasons }
    static var isCompared: Bool { false }
}

/// The scheduler with a planted fault: a canary that the simulation must find.
struct Broken<Bug: Perturbation>: TestedScheduler {
    private var core: Scheduler
    private var bug = Bug()

    init(_ snapshot: Snapshot, workers: Int32, at now: Moment) {
        core = Scheduler(snapshot, workers: workers, at: now)
    }
    mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection> {
        core.handle(bug.hears(event, &core, at: now), at: now)
    }
    mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition {
        bug.decides(&core, at: now)
        return bug.says(core.endTurn(at: now, upTo: limit))
    }
    var hasPutOff: Bool { core.hasPutOff }
    var nextDeadline: Deadlines { core.nextDeadline }
    var stagedCount: Int { bug.countsHand(core) }
    func mustRevokeStaged(at now: Moment) -> Bool { core.mustRevokeStaged(at: now) }
    func why(_ operation: OperationID, at now: Moment) -> [Reason] { bug.explains(core.why(operation, at: now)) }
    func brokenInvariant() -> String? { nil }
    var comparable: Scheduler? { Bug.isCompared ? core : nil }
}

/// A classic design: each operation of a category depends on the one that was added before it.
struct ChainsExclusivityWhenAdding: Perturbation {
    private var last: [String: OperationID] = [:]
    private var added: [Submission] = []

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        var before: [String: Int32] = [:]
        for (place, draft) in submission.operations.enumerated() {
            guard let set = draft.categories else { continue }
            for use in submission.categorySets[Int(set)] {
                if let previous = before[use.name], previous != place {
                    submission.edges.append(DraftEdge(from: Int32(place), on: .local(previous), when: .finished))
                } else if let previous = last[use.name], !core.why(previous, at: now).isEmpty {
                    submission.add(edgeFrom: Int32(place), on: previous, when: .finished)
                }
                before[use.name] = Int32(place)
            }
        }
        added.append(submission)
        return .submit(submission)
    }

    mutating func says(_ transition: Transition) -> Transition {
        for case .submitted(_, _, _, let first, let states, _, _) in transition.changes {
            guard let place = added.firstIndex(where: { $0.operations.count == states.count }) else { continue }
            for (offset, draft) in added[place].operations.enumerated() {
                guard let set = draft.categories else { continue }
                for use in added[place].categorySets[Int(set)] {
                    last[use.name] = OperationID(first.rawValue + Int64(offset))
                }
            }
        }
        added.removeAll()
        return transition
    }
}

/// A cancelled operation releases its categories while its processes are still ending.
struct ReleasesOnCancel: Perturbation {
    private var attempts: [OperationID: AttemptID] = [:]

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .cancel(let ids, _, _, _) = event, let id = ids.first, let attempt = attempts[id] else {
            return event
        }
        if case .success = core.handle(event, at: now) { return .gone(attempt) }
        return event
    }

    mutating func says(_ transition: Transition) -> Transition {
        for case .started(let id, let number, _, _, _, _) in transition.changes {
            attempts[id] = AttemptID(id, number)
        }
        return transition
    }
}

/// If a dependency finishes in the turn in which its dependent is added, the dependent is not woken.
struct LosesWakeUp: Perturbation {
    private var ended: Set<OperationID> = []

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        switch event {
        case .exited(let attempt, _, treeIsGone: true): ended.insert(attempt.operation)
        case .submit(var submission):
            for edge in submission.edges {
                if case .existing(let id) = edge.on, ended.contains(id) {
                    submission.operations[Int(edge.from)].flags.insert(.held)
                }
            }
            return .submit(submission)
        default: break
        }
        return event
    }

    mutating func says(_ transition: Transition) -> Transition {
        ended.removeAll()
        return transition
    }
}

/// Launches ready operations at once, before their starts are stored.
struct LaunchesBeforeCommit: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        for case .becameReady(let id, _) in transition.changes {
            altered.effects.append(.launch(AttemptID(id, 1), slot: 0))
        }
        return altered
    }
}

/// Retries at once, without the back-off.
struct ForgetsBackoff: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        for place in submission.policies.indices { submission.policies[place].retry?.backoff = .zero }
        return .submit(submission)
    }
}

/// A queue whose limit was changed runs one operation too many.
struct MiscountsAfterResize: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .setQueue(let name, var edit) = event, name != "main", case .set(let limit) = edit.limit
        else { return event }
        edit.limit = .set(limit + 1)
        return .setQueue(name, edit)
    }

    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes = transition.changes.map { change in
            guard case .queueSet(let name, let limit?, let aging, let suspended, let order) = change, name != "main"
            else {
                return change
            }
            return .queueSet(name, limit: limit - 1, aging: aging, suspended: suspended, order: order)
        }
        return altered
    }
}

/// Every fortieth line of the event stream is missing.
struct LosesReports: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.reports.removeAll { $0.sequence.isMultiple(of: 40) }
        return altered
    }
}

/// Every end is reported as a success.
struct ReportsOtherOutcomes: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        for place in altered.reports.indices where altered.reports[place].kind == .finished {
            altered.reports[place].outcome = .succeeded
        }
        return altered
    }
}

/// A suspended graph continues.
struct IgnoresSuspendedGraphs: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .suspend(.graph(let graph), _) = event else { return event }
        if case .failure = core.handle(event, at: now) { return event }
        return .resume(.graph(graph))
    }

    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes.removeAll { if case .graphSuspended(_, isSuspended: false) = $0 { true } else { false } }
        return altered
    }
}

/// Every operation gets the same unit.
struct AssignsOneUnitToAll: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes = transition.changes.map { change in
            guard case .unitsAssigned(let id, let attempt, let assigned) = change else { return change }
            return .unitsAssigned(
                id, attempt: attempt,
                assigned.map { AssignedUnits(category: $0.category, units: $0.units.map { _ in "u1" }) })
        }
        return altered
    }
}

/// The units of a start are not stored.
struct ForgetsUnits: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes.removeAll { if case .unitsAssigned = $0 { true } else { false } }
        return altered
    }
}

/// Some cancelled operations are never terminated.
struct ForgetsToTerminate: Perturbation {
    private var count = 0

    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.effects = transition.effects.filter { effect in
            guard case .terminate = effect else { return true }
            count += 1
            return !count.isMultiple(of: 2)
        }
        return altered
    }
}

/// The runner may forget an attempt of which nothing is stored yet.
struct AcknowledgesTooEarly: Perturbation {
    private var early: [Effect] = []

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        if case .launched(let attempt, _) = event { early.append(.acknowledge(attempt)) }
        return event
    }

    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.effects += early
        early = []
        return altered
    }
}

/// Operations start in the order of submission, whatever their priority.
struct ForgetsPriority: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        for place in submission.operations.indices { submission.operations[place].priority = 0 }
        return .submit(submission)
    }
}

/// Every barrier holds back all users, as if it were root's.
struct HoldsBackEverybody: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        submission.user = 0
        return .submit(submission)
    }
}

/// Every barrier holds back only its own user, even root's barriers.
struct ForgetsBarriersOfRoot: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event, submission.user == 0 else { return event }
        submission.user = 999
        return .submit(submission)
    }
}

/// Takes a new runner for the earlier one, and sends it launches that the earlier one has already run.
struct MistakesTheRunner: Perturbation {
    private var first: String?

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .runnerConnected(var inventory) = event else { return event }
        if let first { inventory.runner = first }
        first = inventory.runner
        return .runnerConnected(inventory)
    }
}

/// Names the category that an operation waits for, but not its holder.
struct ExplainsNothing: Perturbation {
    func explains(_ reasons: [Reason]) -> [Reason] { reasons.filter { $0.kind != .category && $0.kind != .pool } }
}

/// Assumes that staged launches are revoked without asking the runner.
struct KeepsStagedLaunches: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        if !event.isRunnerReport { withdraw(&core, at: now) }
        return event
    }

    mutating func decides(_ core: inout Scheduler, at now: Moment) {
        if core.mustRevokeStaged(at: now) { withdraw(&core, at: now) }
    }

    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.effects.removeAll { $0 == .revokeStaged }
        return altered
    }

    func countsHand(_ core: Scheduler) -> Int { 0 }

    private func withdraw(_ core: inout Scheduler, at now: Moment) {
        _ = core.handle(.stagingRevoked(started: 0), at: now)
    }
}

/// Assumes that all staged launches were revoked, even if the runner has started some meanwhile.
struct ForgetsWhatWasTaken: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        if case .stagingRevoked = event { .stagingRevoked(started: 0) } else { event }
    }
}

/// Stages launches that wait for others as if they waited for nothing.
struct ForgetsWhatIsAwaited: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.effects = transition.effects.map { effect in
            if case .stage(let attempt, _) = effect { .stage(attempt, after: []) } else { effect }
        }
        return altered
    }
}

/// An operation for a case that did not arise counts as one that could not start.
struct CountsWhatIsNotNeeded: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var transition = transition
        transition.changes = transition.changes.map { change in
            guard case .finished(let id, .notNeeded, let cause, let at) = change else { return change }
            return .finished(id, .skipped, cause, at: at)
        }
        return transition
    }
}

/// A slot is given to the next operation without storing that the previous one has left it.
struct ForgetsFreedSlots: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var transition = transition
        transition.changes.removeAll { if case .slotFreed = $0 { true } else { false } }
        return transition
    }
}

/// The starts of a category with a rate are not stored.
struct ForgetsRatedStarts: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes.removeAll { if case .rateStarted = $0 { true } else { false } }
        return altered
    }
}

/// Stores and reports a stricter rate than the one that the scheduler enforces.
struct KeepsAnotherRate: Perturbation {
    mutating func says(_ transition: Transition) -> Transition {
        var altered = transition
        altered.changes = transition.changes.map { change in
            guard case .categorySet(var settings) = change, let rate = settings.rate else { return change }
            settings.rate = Rate(count: rate.count, interval: rate.interval + .milliseconds(500))
            return .categorySet(settings)
        }
        return altered
    }
}

/// Estimated paths are not stored.
struct ForgetsPaths: Perturbation {
    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        for place in submission.operations.indices { submission.operations[place].path = nil }
        return .submit(submission)
    }
}

/// Timeouts are stored but not enforced.
struct ForgetsTimeouts: Perturbation {
    static var isCompared: Bool { true }

    mutating func hears(_ event: Event, _ core: inout Scheduler, at now: Moment) -> Event {
        guard case .submit(var submission) = event else { return event }
        for policy in submission.policies.indices { submission.policies[policy].timeout = nil }
        return .submit(submission)
    }
}
