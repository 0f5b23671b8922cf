import OpsCore

extension Simulation {
    /// Stops all faults, resumes everything, and checks that all operations finish.
    mutating func settle() throws(Violation) {
        if !world.isRunnerAlive { world.startRunner() }
        try turn(calmingRequests())
        // After a clock was set back, conditions are evaluated many times until the instants that operations wait for.
        for _ in 0..<20_000 {
            if store.unfinished.isEmpty, world.facts.isEmpty, store.records.allSatisfy(\.owedRuns.isEmpty) { break }
            try settleStep()
        }
        let left = store.unfinished
        try require(left.isEmpty, .settles, "\(left.count) still unfinished: \(left.map(\.id.rawValue))")
        let owed = world.inventory.keys.filter { !abandoned.contains($0.operation) || world.tree($0) == nil }
        try require(owed.isEmpty, .nothingLeftBehind, "never acknowledged: \(owed.map { "\($0)" })")
        for tree in world.trees {
            let record = store[tree.attempt.operation]
            try require(
                tree.mayLeaveOthers(record.policy) || abandoned.contains(record.id), .nothingLeftBehind,
                "\(tree.attempt) lives on")
        }
    }

    func calmingRequests() -> [Event] {
        var events: [Event] = [.setDraining(to: false), .setWorkers(4), .resume(.daemon)]
        for queue in store.queues {
            events.append(.resume(.queue(queue.name)))
            if queue.name != "main" { events.append(.setQueue(queue.name, QueueEdit(limit: .clear))) }
        }
        events += store.suspendedGraphs.sorted().map { .resume(.graph($0)) }
        let still = store.unfinished.filter { $0.isHeld || $0.isFrozen }.map(\.id)
        if !still.isEmpty { events.append(.resume(.operations(still))) }
        // A lower capacity than that of their submission could let operations wait for one another.
        return events + ["a", "b", "c"].map { .setCategory($0, capacity: 100) }
    }

    /// Lets everything continue that can; if nothing can, lets time pass.
    private mutating func settleStep() throws(Violation) {
        if world.isRunnerDone { world.killRunner() }
        if !world.isRunnerAlive { world.startRunner() }
        var isQuiet = true
        for attempt in world.restless {
            try world.advance(attempt, store, at: now, using: &random)
            isQuiet = false
        }
        while !world.evaluations.isEmpty {
            let asked = world.takeEvaluation(0)
            world.tell(.conditionsAnswered(asked.operation, token: asked.token, .allTrue))
        }
        while let owed = world.takeObserver() { world.tell(.observed(owed.operation, run: owed.run)) }
        var events = world.takeFacts(atMost: 1000)
        if events.isEmpty { events = isQuiet ? lastResorts() : [.tick] }
        if events.isEmpty {
            let next = core.nextDeadline
            let waits = [next.monotonic.map { $0 - now.monotonic }, next.wall.map { $0 - now.wall }]
            if let shortest = waits.compactMap({ $0 }).min() {
                pass(max(.nanoseconds(1), shortest))
                events = [.tick]
            } else {
                throw stuck()
            }
        }
        try turn(events)
    }

    /// Returns the actions with which a user ends the rest: operations that run without end are cancelled, those with
    /// `completion: notify` are finished.
    private func lastResorts() -> [Event] {
        var events: [Event] = []
        for record in store.unfinished where record.state == .executing && !record.isGroup {
            guard let running = record.running, !running.isOver else { continue }
            // An operation that has reported its end may wait for one that runs without end.
            guard record.resolution == nil || record.policy.completion == .notify else { continue }
            if running.exit != nil, record.resolution == nil, record.policy.completion == .notify {
                events.append(.finish(record.id, failed: false, message: nil, by: "ann"))
            } else if let place = world.tree(running.attempt), world.trees[place].plan.isEndless {
                events.append(.cancel([record.id], by: "ann", reason: nil, force: false))
            }
        }
        return events
    }

    private func stuck() -> Violation {
        Violation(.settles, "nothing moves any more, unfinished: \(store.unfinished)")
    }
}
