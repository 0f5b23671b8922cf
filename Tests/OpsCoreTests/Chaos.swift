import OpsCore

/// A small world in which anything may happen.
struct Chaos {
    var world = World(workers: 3)
    var state: UInt64
    var trace: [String] = []
    let queues = ["default", "main", "q"]
    let categories = ["a", "b", "c"]

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        world.handle(.setQueue("q", QueueEdit(limit: .set(2))))
        world.handle(.setCategory("c", capacity: 3))
    }

    mutating func next(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    mutating func chance(_ percent: Int) -> Bool { next(100) < percent }

    mutating func anyID() -> OperationID {
        let newest = world.scheduler.nextOperationID.rawValue
        return OperationID(max(1, newest - Int64(next(14))))
    }

    mutating func handle(_ event: Event) {
        if case .submit(let submission) = event {
            let parts = submission.operations.map {
                "(\($0.group ?? -1) \($0.queue) \($0.categories ?? -1) \($0.priority) \($0.flags.rawValue))"
            }
            trace.append(
                "submit \(submission.user) \(parts) \(submission.edges.map { "\($0.from)->\($0.on) \($0.when)" }) \(submission.asChildren ? "of \(submission.producer?.rawValue ?? 0)" : "")"
            )
        } else {
            trace.append("\(event)")
        }
        world.handle(event)
    }

    mutating func turn() -> [String] {
        world.last = world.scheduler.endTurn(at: world.now)
        for effect in world.last.effects {
            switch effect {
            case .launch(let attempt, _): world.attempts[attempt.operation.rawValue] = attempt.number
            case .evaluate(let id, let token): asked.append((id, token))
            default: break
            }
        }
        trace.append("| \(world.last.changes.map(brief).joined(separator: "; "))")
        var broken = world.scheduler.checkInvariants()
        defer {
            if chance(50) {
                for (id, token) in asked { answer(id, token) }
                asked = []
            }
        }
        for id in 1..<max(2, world.scheduler.nextOperationID.rawValue) where world.scheduler.contains(OperationID(id)) {
            let why = world.scheduler.why(OperationID(id), at: world.now)
            if why.isEmpty { broken.append("\(id) has no reason") }
            for other in why.flatMap(\.ids) where !world.scheduler.contains(other) {
                broken.append("\(id) waits for \(other), which is gone")
            }
        }
        return broken
    }

    var asked: [(OperationID, Int64)] = []

    mutating func answer(_ id: OperationID, _ token: Int64) {
        handle(.conditionsAnswered(id, token: token, chance(70) ? .allTrue : .isFalse(index: 0, detail: "no")))
    }

    mutating func step() {
        switch next(24) {
        case 0...5: handle(.submit(submission()))
        case 6...12: endSomething()
        case 13: handle(.cancel((0...next(3)).map { _ in anyID() }, by: "x", reason: nil, force: chance(20)))
        case 14: handle(.suspend(level(), freeze: chance(50)))
        case 15, 16: handle(.resume(level()))
        case 17:
            world.now.monotonic += .seconds(Int64(next(20)))
            world.now.wall += .seconds(Int64(next(20)))
        case 18: handle(.addDependency(anyID(), on: anyID(), when: when(), finished: fact()))
        case 19: handle(.removeDependency(anyID(), on: anyID()))
        case 20: handle(.edit([anyID()], edit()))
        case 21: handle(.setQueue("q", QueueEdit(limit: chance(30) ? .clear : .set(Int32(next(3))))))
        case 22: chance(50) ? handle(.setCategory("c", capacity: Int32(next(4)))) : handle(.setWorkers(Int32(next(5))))
        default:
            if let (id, token) = asked.popLast() { answer(id, token) }
        }
    }

    mutating func when() -> EdgeCondition { EdgeCondition.allCases[Int(next(4))] }
    mutating func fact() -> FinishedFact {
        FinishedFact(outcome: chance(60) ? .succeeded : .failed, root: 1, hasStarted: true)
    }

    mutating func level() -> Level {
        switch next(4) {
        case 0: .daemon
        case 1: .queue(queues[next(3)])
        case 2: .graph(GraphID(Int64(1 + next(8))))
        default: .operations([anyID(), anyID()])
        }
    }

    mutating func set() -> [CategoryUse] {
        (0..<next(3)).map { _ in
            let name = categories[next(3)]
            switch next(4) {
            case 0: return CategoryUse(name: name, mode: .shared)
            case 1: return CategoryUse(name: name, mode: .exclusive)
            default: return CategoryUse(name: name, units: name == "c" ? Int32(1 + next(2)) : 1)
            }
        }
    }

    mutating func policy() -> Policy {
        var policy = Policy()
        if chance(20) { policy.timeout = .seconds(Int64(1 + next(30))) }
        if chance(20) { policy.retry = RetryPolicy(limit: Int32(next(3)), onInterrupted: chance(50)) }
        if chance(10) { policy.notBefore = world.now.wall + .seconds(Int64(next(20))) }
        if chance(10) { policy.deadline = world.now.wall + .seconds(Int64(5 + next(60))) }
        if chance(15) {
            policy.conditions = [
                ConditionPolicy(otherwise: ConditionPolicy.Otherwise.allCases[Int(next(3))])
            ]
        }
        if chance(15) { policy.completion = .notify }
        if chance(15) { policy.leftovers = .wait }
        if chance(20) { policy.observers = [.start, .finish, .produce] }
        if chance(15) { policy.childLimit = Int32(1 + next(2)) }
        return policy
    }

    mutating func edit() -> Edit {
        switch next(4) {
        case 0: Edit(priority: Int8(next(9)) - 4)
        case 1: Edit(queue: queues[next(3)])
        case 2: Edit(policy: policy())
        default: Edit(categories: set())
        }
    }

    mutating func submission() -> Submission {
        var submission = Submission()
        submission.user = [0, 1000, 1001][Int(world.scheduler.nextOperationID.rawValue % 3)]
        submission.queues = queues
        submission.categorySets = (0..<4).map { _ in set() }
        submission.policies = (0..<3).map { _ in policy() }
        let count = 1 + next(5)
        for i in 0..<count {
            var flags: Draft.Flags = []
            if chance(20) { flags.insert(.group) }
            if chance(12) { flags.insert(.barrier) }
            if chance(8) { flags.insert(.held) }
            var group: Int32 = -1
            for above in 0..<i where submission.operations[above].flags.contains(.group) && chance(60) {
                group = Int32(above)
            }
            submission.operations.append(
                Draft(
                    group: group, queue: Int32(next(3)), categories: Int32(next(8)) - 4, policy: Int32(next(6)) - 3,
                    priority: chance(40) ? Int8(next(11)) - 5 : 0, flags: flags))
        }
        for _ in 0..<next(4) {
            let local = chance(60)
            submission.edges.append(
                DraftEdge(
                    from: Int32(next(count)), on: local ? .local(Int32(next(count))) : .existing(anyID()), when: when())
            )
        }
        for edge in submission.edges {
            if case .existing(let id) = edge.on { submission.finished[id] = fact() }
        }
        if chance(25) {
            submission.producer = world.executing.randomOne(&self).map { OperationID($0) }
            submission.asChildren = submission.producer != nil && chance(70)
        }
        return submission
    }

    mutating func endSomething() {
        let running = world.scheduler.executing.filter { $0.attempt > 0 }
        guard !running.isEmpty else { return }
        let one = running[next(running.count)]
        let attempt = AttemptID(one.id, one.attempt)
        switch next(10) {
        case 0: handle(.gone(attempt))
        case 1: handle(.launchFailed(attempt, step: "exec", errno: 2))
        case 2: handle(.updated(attempt, OperationUpdate(finished: Int32(next(2)))))
        case 3: handle(.exited(attempt, ProcessExit(status: .code(Int32(next(2))), at: world.now), treeIsGone: false))
        case 4: handle(.updated(attempt, OperationUpdate(extendTimeout: .seconds(10))))
        default: handle(.exited(attempt, ProcessExit(status: .code(Int32(next(2))), at: world.now), treeIsGone: true))
        }
    }

    /// Stops all faults and resumes everything; operations that have not finished then never will.
    mutating func settle() -> [OperationID] {
        handle(.resume(.daemon))
        for queue in queues { handle(.resume(.queue(queue))) }
        for graph in 1..<world.scheduler.nextGraphID.rawValue { handle(.resume(.graph(GraphID(graph)))) }
        handle(.setWorkers(4))
        handle(.setCategory("c", capacity: 3))
        handle(.setQueue("q", QueueEdit(limit: .set(2))))
        let ids = (1..<world.scheduler.nextOperationID.rawValue).map { OperationID($0) }
        handle(.resume(.operations(ids)))
        for _ in 0..<120 {
            let broken = turn()
            if !broken.isEmpty {
                trace.append("\(broken)")
                return ids.filter { world.scheduler.contains($0) }
            }
            for (id, token) in asked { handle(.conditionsAnswered(id, token: token, .allTrue)) }
            asked = []
            for one in world.scheduler.executing where one.attempt > 0 {
                let attempt = AttemptID(one.id, one.attempt)
                handle(.exited(attempt, ProcessExit(status: .code(0), at: world.now), treeIsGone: true))
                handle(.updated(attempt, OperationUpdate(finished: 0)))
            }
            world.pass(seconds: 10)
        }
        let left = ids.filter { world.scheduler.contains($0) }
        for id in left { trace.append("\(id.rawValue): \(world.scheduler.why(id, at: world.now))") }
        return left
    }
}

extension [Int64] {
    fileprivate func randomOne(_ chaos: inout Chaos) -> Int64? { isEmpty ? nil : self[chaos.next(count)] }
}
