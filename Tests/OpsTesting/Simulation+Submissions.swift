import OpsCore

extension Simulation {
    mutating func submission() -> Submission {
        var submission = Submission()
        submission.queues = []
        submission.user = [0, 1000, 1001][store.records.count % 3]
        let count = 1 + random.below(habits.isPlain ? 12 : 4)
        for place in 0..<count { addOperation(&submission, place) }
        if random.chance(4) { addRing(&submission) }
        var named: [OperationID] = []
        for place in 0..<count {
            if habits.isPlain, place > 0, random.chance(25) {
                submission.edges.append(DraftEdge(from: Int32(place), on: .local(Int32(place - 1)), when: .succeeded))
            }
            if place > 0, random.chance(35) {
                let on = random.chance(95) ? random.below(place) : random.below(count)
                submission.edges.append(DraftEdge(from: Int32(place), on: .local(Int32(on)), when: when()))
            }
            if !store.records.isEmpty, random.chance(25) {
                named.append(operation())
                submission.add(edgeFrom: Int32(place), on: named[named.count - 1], when: when())
            }
        }
        if habits.hasPaths { addPaths(&submission) }
        submission.finished = store.finishedFacts(named)
        let executing = store.records.filter { $0.state == .executing && !$0.isGroup }.map(\.id)
        if !executing.isEmpty, random.chance(15) {
            submission.producer = random.pick(executing)
            submission.asChildren = random.chance(50)
        }
        return submission
    }

    /// Adds a group, an operation after one of its children and before another, and a category or two, which together
    /// may be impossible.
    private mutating func addRing(_ submission: inout Submission) {
        let group = submission.add(categories: uses(), flags: .group)
        let first = submission.add(in: group, categories: random.chance(30) ? uses() : [])
        let between = submission.add(categories: uses(), after: [first], when: when())
        submission.add(in: group, after: [between], when: .finished)
    }

    /// Adds estimates that are often equal or missing, and that depend on the number of earlier operations.
    private func addPaths(_ submission: inout Submission) {
        for place in submission.operations.indices {
            let kind = (store.records.count + place) * 7 % 5
            if kind > 0 {
                submission.operations[place].path = EstimatedPath(milliseconds: [1, 900, 900, 60_000][kind - 1])
            }
        }
    }

    private mutating func when() -> EdgeCondition {
        random.chance(55) ? .succeeded : random.pick(EdgeCondition.allCases)
    }

    private mutating func addOperation(_ submission: inout Submission, _ place: Int) {
        if habits.isPlain, random.chance(93) {
            submission.add(
                priority: random.chance(90) ? 0 : Int8(random.below(9) - 4),
                policy: random.chance(10) ? policy(isGroup: false) : nil)
            return
        }
        let groups = submission.operations.indices.filter { submission.operations[$0].flags.contains(.group) }
        let group = groups.isEmpty || random.chance(30) ? -1 : Int32(random.pick(groups))
        let isGroup = random.chance(place == 0 ? 18 : 6)
        var flags: Draft.Flags = isGroup ? .group : []
        if random.chance(5) { flags.insert(.held) }
        if !isGroup, random.chance(4) { flags.insert(.barrier) }
        submission.add(
            queue: random.chance(70) ? "default" : random.pick(queueNames), in: group,
            priority: random.chance(60) ? 0 : Int8(random.below(9) - 4), categories: uses(),
            policy: random.chance(40) ? policy(isGroup: isGroup) : nil, flags: flags)
    }

    mutating func policy(isGroup: Bool) -> Policy {
        var policy = Policy()
        if random.chance(20) { policy.timeout = .seconds(Int64(1 + random.below(20))) }
        if random.chance(15) { policy.deadline = now.wall + .seconds(Int64(random.below(60))) }
        if random.chance(20) { policy.notBefore = now.wall + .seconds(Int64(random.below(20))) }
        if random.chance(10) { policy.observers = .finish }
        if isGroup {
            if random.chance(50) { policy.childLimit = Int32(random.below(3)) + 1 }
            return policy
        }
        if random.chance(15) { policy.observers.insert(.start) }
        if random.chance(40) {
            policy.retry = RetryPolicy(
                limit: Int32(random.below(3)), backoff: .seconds(Int64(1 + random.below(4))),
                onInterrupted: random.chance(50))
        }
        if random.chance(20) { policy.leftovers = random.pick([.wait, .leave]) }
        if random.chance(15) { policy.completion = .notify }
        if random.chance(20) {
            policy.conditions = [
                ConditionPolicy(otherwise: random.pick([.fail, .skip, .wait, .succeed]), every: .seconds(3))
            ]
        }
        return policy
    }
}
