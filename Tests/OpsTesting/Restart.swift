import OpsCore

/// A scheduler, and another one that starts again from what the first one has stored. Both know the same, so both must
/// decide the same from then on.
struct Restart {
    var live: Scheduler
    var restarted: Scheduler
    var now: Moment
    /// Policies of the operations that were unfinished at the restart.
    let policies: [OperationID: Policy]
    private var evaluations: [[(operation: OperationID, token: Int64)]] = [[], []]

    init(_ live: Scheduler, _ store: FakeStore, _ setting: Judge.Setting) {
        self.live = live
        now = setting.now
        restarted = Scheduler(store.snapshot(boot: setting.boot), workers: setting.workers, at: setting.now)
        policies = Dictionary(uniqueKeysWithValues: store.unfinished.map { ($0.id, $0.policy) })
    }

    /// Reports the runner's inventory to both; it contains no more than what is stored.
    mutating func connect(_ store: FakeStore, _ setting: Judge.Setting) throws(Violation) {
        // The current staged launches are revoked, because the restarted scheduler stages others.
        _ = live.handle(.stagingRevoked(started: 0), at: now)
        _ = live.handle(.revocationConfirmed, at: now)
        let inventory = store.inventory(of: setting.runner ?? "the next runner", boot: setting.boot)
        let events: [Event] = [.setDraining(to: setting.isDraining), .runnerConnected(inventory)]
        let starts = handle(events).map { $0.changes.filter(\.isStart).map { "\($0)" } }
        try expect(starts[0] == starts[1], "after a restart \(starts[1]) start, without it \(starts[0])")
        try compare()
    }

    /// Handles events and compares the results. Only starts have an order: operations that one event makes ready become
    /// ready in the order of edges, which is not stored.
    mutating func turn(_ events: [Event]) throws(Violation) {
        let transitions = handle(events)
        let starts = transitions.map { $0.changes.filter(\.isStart).map { "\($0)" } }
        try expect(starts[0] == starts[1], "after a restart \(starts[1]) start, without it \(starts[0])")
        let others = transitions.map { $0.changes.filter { !$0.isStart }.map(text).sorted() }
        try expect(others[0] == others[1], "after a restart \(others[1]) follow, without it \(others[0])")
    }

    /// Returns the text of a change. The order of edges decides whether an operation is skipped because of its own edge or
    /// because its group is: both name the same root.
    private func text(of change: Change) -> String {
        guard case .finished(let id, let outcome, .groupSkipped(_, let root?)?, let instant) = change else {
            return "\(change)"
        }
        return "\(Change.finished(id, outcome, .dependency(root: root.operation, root.outcome), at: instant))"
    }

    private mutating func handle(_ events: [Event]) -> [Transition] {
        for event in events {
            _ = live.handle(event, at: now)
            _ = restarted.handle(event, at: now)
        }
        for asked in evaluations[0] {
            _ = live.handle(.conditionsAnswered(asked.operation, token: asked.token, .allTrue), at: now)
        }
        for asked in evaluations[1] {
            _ = restarted.handle(.conditionsAnswered(asked.operation, token: asked.token, .allTrue), at: now)
        }
        let transitions = [live.endTurn(at: now), restarted.endTurn(at: now)]
        evaluations = transitions.map { transition in
            transition.effects.compactMap { if case .evaluate(let id, let token) = $0 { (id, token) } else { nil } }
        }
        return transitions
    }

    /// Compares the answers to all questions.
    func compare() throws(Violation) {
        try compare("counts") { $0.counts }
        try compare("executing") { $0.executing }
        try compare("queues") { $0.queueStandings }
        for category in live.categoryNames.sorted() {
            try compare("category \(category)") { $0.categoryStanding(of: category) }
        }
        // A scheduler that has examined a lane wakes for its rate even if no slot is free then, and for a step of aging
        // of an operation that has become ready again since. Neither decides anything.
        let hasRates = live.categoryStandings.contains { $0.settings.rate != nil }
        if !hasRates, !live.queueStandings.contains(where: { $0.aging != nil }) {
            try compare("next deadline") { $0.nextDeadline }
        }
        try compare("next ids") { [$0.nextOperationID.rawValue, $0.nextGraphID.rawValue] }
        for id in policies.keys.sorted() {
            try compare("priority of \(id)") { $0.effectivePriority(of: id) }
            try compare("attempt of \(id)") { $0.attemptInRun(of: id) }
            try compare("end of \(id)") { $0.isCancelling(id) }
            try compare("reasons of \(id)") { $0.why(id, at: now) }
        }
    }

    private func compare<Value: Equatable>(_ what: String, _ asked: (Scheduler) -> Value) throws(Violation) {
        let (a, b) = (asked(live), asked(restarted))
        try expect(a == b, "\(what) after a restart: \(b), without it: \(a)")
    }

    private func expect(_ holds: Bool, _ text: @autoclosure () -> String) throws(Violation) {
        try require(holds, .restart, text())
    }
}

extension Restart {
    /// Lets one process end, or time pass; returns false if neither is possible.
    mutating func step(_ random: inout SeededGenerator) throws(Violation) -> Bool {
        let executing = live.executing.filter { $0.attempt > 0 }
        if !executing.isEmpty {
            let chosen = random.pick(executing)
            try turn(end(of: AttemptID(chosen.id, chosen.attempt), hasProcess: chosen.slot != nil, &random))
            return true
        }
        let next = live.nextDeadline
        let waits = [next.monotonic.map { $0 - now.monotonic }, next.wall.map { $0 - now.wall }].compactMap { $0 }
        if evaluations[0].isEmpty {
            guard let shortest = waits.min() else { return false }
            now += max(.nanoseconds(1), shortest)
        }
        try turn([.tick])
        return true
    }

    private func end(of attempt: AttemptID, hasProcess: Bool, _ random: inout SeededGenerator) -> [Event] {
        guard hasProcess else { return [.finish(attempt.operation, failed: false, message: nil, by: "ann")] }
        let exit = ProcessExit(status: .code(random.chance(80) ? 0 : 1), at: now)
        let process = LaunchedProcess(pid: 1, startTicks: 1, at: now)
        let report = OperationUpdate(finished: 0)
        return [
            .launched(attempt, process), .updated(attempt, report), .exited(attempt, exit, treeIsGone: true),
        ]
    }
}

extension Change {
    fileprivate var isStart: Bool { if case .started = self { true } else { false } }
}

extension FakeStore {
    /// Returns what a runner lists that knows no more than is stored.
    fileprivate func inventory(of runner: String, boot: String) -> Inventory {
        var inventory = Inventory(runner: runner, boot: boot)
        for record in unfinished {
            guard let running = record.running, !running.isOver, running.runner == runner else { continue }
            if let exit = running.exit {
                inventory.entries[running.attempt] = running.slot == nil ? .gone(exit) : .exited(exit)
            } else if let process = running.process {
                inventory.entries[running.attempt] = .running(process)
            }
        }
        return inventory
    }
}
