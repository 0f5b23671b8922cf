import OpsCore

extension Simulation {
    /// Returns a request of a user, valid or not.
    mutating func request() -> Event {
        switch random.below(100) {
        case 0..<38: .submit(submission())
        case 38..<48: .cancel(operations(atMost: 2), by: "ann", reason: nil, force: random.chance(10))
        case 48..<56: random.chance(60) ? .resume(level()) : .suspend(level(), freeze: random.chance(50))
        case 56..<64: retry()
        case 64..<67: .finish(operation(), failed: random.chance(30), message: nil, by: "ann")
        case 67..<75: .edit(operations(atMost: 2), edit())
        case 75..<81: addDependency()
        case 81..<85: removeDependency()
        case 85..<90: setQueue()
        case 90..<92: .removeQueue(random.pick(["q1", "q2"]))
        case 92..<95: .setCategory(category(), categoryEdit())
        case 95..<97: .setWorkers(Int32(random.below(5)))
        case 97..<98: .setDraining(to: random.chance(30))
        default: .tick
        }
    }

    var queueNames: [String] { ["default", "q1", "main"].prefix(habits.queues) + [] }

    mutating func category() -> String { random.pick(["a", "b", "c"].prefix(habits.categories) + []) }

    private mutating func categoryEdit() -> CategoryEdit {
        var edit = roomEdit()
        guard habits.hasRates else { return edit }
        // Drawn from a generator of its own, so that simulations without rates do not change.
        if rateRandom.chance(25) {
            edit.rate = .clear
        } else if rateRandom.chance(70) {
            edit.rate = .set(
                Rate(
                    count: Int32(1 + rateRandom.below(3)),
                    interval: .milliseconds(500 * Int64(1 + rateRandom.below(60))))
            )
        }
        if rateRandom.chance(20) { edit.capacity = Limits.noCapacity }
        return edit
    }

    private mutating func roomEdit() -> CategoryEdit {
        let capacity = Int32(random.below(4))
        guard capacity > 1 else { return CategoryEdit(capacity: capacity) }
        let units = ["u0", "u1", "u2"].filter { _ in random.chance(70) }
        return CategoryEdit(units: units.isEmpty ? ["u3"] : units, share: Int32(1 + random.below(2)))
    }

    mutating func uses() -> [CategoryUse] {
        guard random.chance(45) else { return [] }
        return (0...random.below(2)).map { _ in
            switch random.below(10) {
            case 0..<2: .shared(category())
            case 2..<3: .exclusive(category())
            case 3..<5: .units(category(), Int32(1 + random.below(2)))
            default: .units(category())
            }
        }
    }

    /// Returns mostly an unfinished operation, and sometimes one that never existed.
    mutating func operation() -> OperationID {
        let unfinished = store.unfinished.map(\.id)
        if !unfinished.isEmpty, random.chance(80) { return random.pick(unfinished) }
        return OperationID(Int64(1 + random.below(store.records.count + 1)))
    }

    mutating func operations(atMost limit: Int) -> [OperationID] {
        Set((0...random.below(limit)).map { _ in operation() }).sorted()
    }

    private mutating func level() -> Level {
        switch random.below(4) {
        case 0: .daemon
        case 1: .queue(random.pick(queueNames))
        case 2: .graph(GraphID(Int64(1 + random.below(Int(store.graphCount) + 1))))
        default: .operations(operations(atMost: 1))
        }
    }

    private mutating func retry() -> Event {
        let finished = store.records.filter(\.isFinished).map(\.id)
        guard !finished.isEmpty else { return .tick }
        let ids = random.some(finished, atMost: 2)
        guard !ids.isEmpty else { return .tick }
        return .retry(ids, revived: store.revival(of: ids, downstream: random.chance(30)))
    }

    private mutating func edit() -> Edit {
        switch random.below(4) {
        case 0: Edit(priority: Int8(random.below(9) - 4))
        case 1: Edit(queue: random.pick(queueNames))
        case 2: Edit(policy: policy(isGroup: false))
        default: Edit(categories: uses())
        }
    }

    private mutating func addDependency() -> Event {
        let (from, on) = (operation(), operation())
        return .addDependency(
            from, on: on, when: random.pick(EdgeCondition.allCases), finished: store.finishedFacts([on])[on])
    }

    private mutating func removeDependency() -> Event {
        let edges = store.unfinished.flatMap { record in record.edges.map { (record.id, $0) } }
        guard !edges.isEmpty else { return .tick }
        let (from, edge) = random.pick(edges)
        return .removeDependency(from, on: edge.on, isMet: edge.isSettled || store[edge.on].isFinished)
    }

    private mutating func setQueue() -> Event {
        var edit = QueueEdit()
        if random.chance(70) { edit.limit = random.chance(30) ? .clear : .set(Int32(random.below(4))) }
        if habits.aging, random.chance(50) { edit.aging = random.chance(30) ? .clear : .set(.seconds(2)) }
        if habits.hasFairQueues { edit.isFair = random.chance(70) }
        return .setQueue(random.pick(["default", "q1", "q2", "main"]), edit)
    }
}
