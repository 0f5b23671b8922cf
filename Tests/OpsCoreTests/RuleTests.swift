import OpsCore
import Testing

/// Rules of barriers, suspension, conditions, edits and cycles.
@Suite struct RuleTests {
    @Test func `a barrier waits for all earlier operations and blocks all later ones`() {
        var world = World()
        world.add()
        world.add()
        world.add(flags: .barrier)
        world.add()
        world.turn()
        #expect(world.executing == [1, 2])
        #expect(world.scheduler.why(3, at: world.now) == [Reason(kind: .barrier, ids: [1, 2], detail: .barrier)])
        #expect(world.scheduler.why(4, at: world.now) == [Reason(kind: .barrier, ids: [3], detail: .barrier)])
        world.after(world.exit(1))
        #expect(world.executing == [2])
        world.after(world.exit(2))
        #expect(world.executing == [3])
        world.after(world.exit(3))
        #expect(world.executing == [4])
    }

    @Test func `a cancelled barrier blocks nothing`() {
        var world = World()
        world.add()
        world.add(flags: .barrier)
        world.add()
        world.turn()
        #expect(
            world.after(.cancel([2], by: "root", reason: nil, force: false)) == [
                "finished 2 cancelled by root", "ready 3", "started 3#1 slot 1",
            ])
    }

    @Test func `daemon and queue are suspended and resumed independently`() {
        var world = World()
        world.after(.suspend(.daemon, freeze: false))
        world.after(.suspend(.queue("default"), freeze: false))
        world.add()
        world.turn()
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.suspended, .suspended])
        #expect(world.after(.resume(.daemon)) == ["suspended false"])
        #expect(world.executing == [])
        #expect(world.after(.resume(.queue("default"))) == ["queue default none false", "started 1#1 slot 0"])
    }

    @Test func `the timeout of a frozen operation does not run`() {
        var world = World()
        world.add { $0.timeout = .seconds(10) }
        world.turn()
        #expect(world.handle(.suspend(.operations([1]), freeze: false)) == .failure(.needsFreeze(1)))
        world.pass(seconds: 4)
        #expect(world.after(.suspend(.operations([1]), freeze: true)) == ["timeout 1 6s", "frozen 1 true"])
        #expect(world.last.effects == [.freeze(AttemptID(1, 1))])
        world.pass(seconds: 100)
        #expect(world.turn() == [])
        #expect(world.after(.resume(.operations([1]))) == ["timeout 1 110s", "frozen 1 false"])
        world.pass(seconds: 6)
        #expect(world.turn() == ["cancelling 1 timedOut"])
    }

    @Test func `conditions are evaluated again until they are true`() {
        var world = World(workers: 1)
        world.add { $0.conditions = [ConditionPolicy(otherwise: .wait)] }
        #expect(world.turn() == ["submitted g1 1+1 ready"])
        #expect(world.last.effects == [.evaluate(1, token: 1)])
        world.after(.conditionsAnswered(1, token: 1, .isFalse(index: 0, detail: "no such file")))
        #expect(world.last.reports.map(\.kind) == [.conditionFalse])
        world.pass(seconds: 10)
        world.turn()
        #expect(world.last.effects == [.evaluate(1, token: 2)])
        #expect(world.after(.conditionsAnswered(1, token: 2, .allTrue)) == ["started 1#1 slot 0"])
    }

    @Test func `a false condition fails the operation without an attempt`() {
        var world = World()
        world.add {
            $0.conditions = [ConditionPolicy(otherwise: .fail)]
            $0.retry = RetryPolicy(limit: 3)
        }
        world.turn()
        #expect(
            world.after(.conditionsAnswered(1, token: 1, .isFalse(index: 0, detail: ""))) == [
                "finished 1 failed condition 0"
            ])
    }

    @Test func `the number of concurrent evaluations of conditions is limited`() {
        var world = World(workers: 20)
        for _ in 0..<10 { world.add { $0.conditions = [ConditionPolicy()] } }
        world.turn()
        #expect(world.last.effects.count == Limits.evaluationsAtOnce)
        world.after(.conditionsAnswered(1, token: 1, .allTrue))
        #expect(world.last.effects == [.launch(AttemptID(1, 1), slot: 0), .evaluate(9, token: 9)])
    }

    @Test func `a submission with a cycle is refused as a whole and the cycle is named`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(), Draft(), Draft()]
        submission.edges = [
            DraftEdge(from: 0, on: .local(2)), DraftEdge(from: 1, on: .local(0)), DraftEdge(from: 2, on: .local(1)),
        ]
        guard case .failure(.cycle(let cycle)) = world.handle(.submit(submission)) else {
            Issue.record("taken")
            return
        }
        #expect(cycle.count == 4)
        #expect(cycle.first == cycle.last)
        #expect(world.turn() == [])
        #expect(world.scheduler.nextOperationID == 1)
    }

    @Test func `a dependency that closes a cycle is refused`() {
        var world = World(workers: 0)
        world.add()
        world.add(after: [1])
        #expect(
            world.handle(.addDependency(1, on: 2, when: .finished, finished: nil))
                == .failure(.cycle([.existing(1), .existing(2), .existing(1)])))
        #expect(
            world.handle(.addDependency(1, on: 1, when: .finished, finished: nil))
                == .failure(.cycle([.existing(1), .existing(1)])))
    }

    @Test func `a request for more units than the capacity is refused`() {
        var world = World()
        world.after(.setCategory("gpu", capacity: 2))
        var submission = Submission()
        let wide = CategoryUse(name: "gpu", units: 3)
        submission.categorySets = [[wide]]
        submission.operations = [Draft(), Draft(categories: 0)]
        #expect(
            world.handle(.submit(submission)) == .failure(.unitsExceedCapacity(wide, .local(1), capacity: 2)))
        world.add(flags: .held)
        #expect(
            world.handle(.edit([1], Edit(categories: [wide])))
                == .failure(.unitsExceedCapacity(wide, .existing(1), capacity: 2)))
    }

    @Test func `operations raised to the same priority keep their order`() {
        var world = World(workers: 0)
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(.edit([3], Edit(priority: 5)))
        world.after(.edit([1], Edit(priority: 5)))
        world.handle(.setWorkers(1))
        #expect(world.drain() == [1, 3, 2, 4])
    }

    @Test func `edits of one request are made together or not at all`() {
        var world = World(workers: 1)
        for _ in 0..<3 { world.add() }
        world.turn()
        func timed(_ id: OperationID, _ seconds: Int64) -> EditedTogether {
            var policy = Policy()
            policy.timeout = .seconds(seconds)
            return EditedTogether([id], Edit(policy: policy))
        }
        func edits(_ last: OperationID) -> Event { .edit([timed(2, 1), timed(last, 2)]) }
        #expect(world.handle(edits(1)) == .failure(.alreadyStarted(1)))
        #expect(world.turn() == [])
        #expect(world.after(edits(3)) == ["edited 2", "edited 3"])
        #expect(world.scheduler.policy(of: 3)?.timeout == .seconds(2))
    }

    @Test func `a wait for the start of a group does not raise its children`() {
        var world = World(workers: 0)
        world.add()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        submission.edges = [DraftEdge(from: 1, on: .existing(1))]
        world.handle(.submit(submission))
        world.add(priority: 4)
        world.handle(.suspend(.daemon, freeze: false))
        world.turn()
        world.after(.addDependency(4, on: 2, when: .started, finished: nil))
        #expect([1, 2, 3].map { world.scheduler.effectivePriority(of: $0) } == [0, 4, 0])
        world.after(.addDependency(4, on: 2, when: .finished, finished: nil))
        #expect([1, 2, 3].map { world.scheduler.effectivePriority(of: $0) } == [4, 4, 4])
    }

    @Test func `a child inherits a priority of zero from its group's dependents`() {
        var world = World(workers: 0)
        for _ in 0..<2 {
            var submission = Submission()
            submission.operations = [Draft(flags: .group), Draft(group: 0, priority: -4)]
            world.handle(.submit(submission))
        }
        world.add(after: [1, 3])
        world.turn()
        #expect([2, 4].map { world.scheduler.effectivePriority(of: $0) } == [0, 0])
    }

    @Test func `an edited priority counts like a submitted one`() {
        var world = World(workers: 0)
        world.add(flags: .held)
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0), Draft()]
        submission.edges = [DraftEdge(from: 2, on: .local(0))]
        world.handle(.submit(submission))
        world.turn()
        world.after(.edit([3], Edit(priority: -5)))
        #expect(world.scheduler.effectivePriority(of: 3) == 0)
    }

    private func retried(_ id: OperationID) -> Event {
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [Snapshot.Row(id: id, graph: GraphID(1), state: .finished, attempt: 1, attemptsInRun: 1)]
        return .retry([id], revived: revival)
    }

    /// The producer came back before the barrier that executes, so it is none of the operations after that one.
    @Test func `a barrier among the children of a producer waits for everything since the barrier before it`() {
        var world = World(workers: 8)
        world.add()
        world.add(flags: .barrier)
        world.turn()
        world.after(world.exit(1))
        world.after(retried(1))
        #expect(world.executing == [1, 2])
        world.add(flags: .held)
        world.add(flags: .held)
        let child = world.add(flags: .barrier, child: 1)
        world.after(world.exit(2))
        #expect(world.scheduler.checkInvariants().isEmpty)
        world.after(.cancel([3], by: "root", reason: nil, force: false))
        #expect(world.state(child) == .pending)
        world.after(.cancel([4], by: "root", reason: nil, force: false))
        #expect(world.executing == [1, child])
    }

    @Test func `a barrier that has started once raises nothing that came back before it`() {
        var world = World(workers: 1)
        world.add()
        world.add(priority: 7, flags: .barrier) { $0.retry = RetryPolicy(limit: 1, backoff: .seconds(60)) }
        world.turn()
        world.after(world.exit(1))
        world.after(world.exit(2, 1))
        let other = world.add(queue: "main", flags: .held)
        world.after(retried(1))
        world.after(.addDependency(2, on: OperationID(other), when: .succeeded, finished: nil))
        #expect(world.scheduler.effectivePriority(of: 1) == 0)
        #expect(world.scheduler.checkInvariants().isEmpty)
    }

    /// Its group was edited since: the child could never start.
    @Test func `a child does not return to a group that has less of a category than it needs`() {
        var world = World(workers: 1)
        var submission = Submission()
        submission.operations = [Draft(flags: [.group, .held]), Draft(group: 0), Draft(group: 0)]
        world.handle(.submit(submission))
        world.turn()
        world.after(.cancel([2], by: "root", reason: nil, force: false))
        let shared = CategoryUse(name: "b", mode: .shared)
        world.after(.edit([1], Edit(categories: [shared])))
        func retry(_ uses: [CategoryUse]) -> Result<Acceptance, Rejection> {
            var revival = Revival()
            revival.queues = ["default"]
            revival.categorySets = [uses]
            revival.operations = [
                Snapshot.Row(id: 2, graph: GraphID(1), parent: 1, categories: 0, state: .finished)
            ]
            return world.handle(.retry([2], revived: revival))
        }
        let units = CategoryUse(name: "b", units: 1)
        #expect(retry([units]) == .failure(.unitsExceedShare(units, .existing(2), of: shared)))
        #expect(retry([shared]) == .success(.done(1)))
        world.turn()
    }

    @Test func `the next barrier raises an operation that came back before an executing one`() {
        var world = World(workers: 1)
        world.add()
        world.add(flags: .barrier)
        world.add(priority: 7, flags: .barrier)
        world.turn()
        world.after(world.exit(1))
        #expect(world.executing == [2])
        world.after(retried(1))
        #expect(world.scheduler.effectivePriority(of: 1) == 7)
        #expect(world.scheduler.why(3, at: world.now).flatMap(\.ids) == [1, 2])
        world.after(world.exit(2))
        #expect(world.executing == [1])
        world.after(world.exit(1))
        #expect(world.executing == [3])
    }

    @Test func `a dependency that is met can be removed`() {
        var world = World()
        world.add()
        world.add(after: [1], flags: .held)
        world.turn()
        world.after(world.exit(1))
        #expect(world.handle(.removeDependency(2, on: 1)) == .failure(.noSuchEdge(2, on: 1)))
        #expect(world.after(.removeDependency(2, on: 1, isMet: true)) == ["no edge 2 on 1"])
        #expect(world.state(2) == .ready)
    }

    @Test func `ageing raises the priority of waiting operations`() {
        var world = World(workers: 1)
        world.after(.setQueue("default", QueueEdit(aging: .set(.seconds(60)))))
        world.add()
        world.add(priority: -2)
        world.turn()
        world.pass(seconds: 181)
        world.turn()
        world.add()
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 2) == 1)
        #expect(world.after(world.exit(1)).last == "started 2#1 slot 0")
    }

    @Test func `a waiting operation ends at its deadline`() {
        var world = World(workers: 0)
        let deadline = world.now.wall + .seconds(5)
        world.add { $0.deadline = deadline }
        world.turn()
        #expect(world.scheduler.nextDeadline.wall == deadline)
        world.pass(seconds: 5)
        #expect(world.turn() == ["finished 1 timedOut deadline"])
    }

    @Test func `a provided operation is cancelled with the operation that needed it`() {
        var world = World(workers: 0)
        var submission = Submission()
        submission.operations = [Draft(flags: .provided), Draft()]
        submission.edges = [DraftEdge(from: 1, on: .local(0), when: .finished)]
        world.handle(.submit(submission))
        world.turn()
        #expect(
            world.after(.cancel([2], by: "root", reason: nil, force: false)) == [
                "finished 2 cancelled by root", "finished 1 cancelled provided for 2 cancelled",
            ])
    }

    @Test func `the cause of a provided operation names the end of the operation that needed it`() {
        var world = World(workers: 0)
        var policy = Policy()
        policy.deadline = world.now.wall + .seconds(5)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(flags: .provided), Draft(policy: 0)]
        submission.edges = [DraftEdge(from: 1, on: .local(0), when: .finished)]
        world.handle(.submit(submission))
        world.turn()
        world.pass(seconds: 5)
        #expect(
            world.turn() == ["finished 2 timedOut deadline", "finished 1 cancelled provided for 2 timedOut"])
    }

    @Test func `a provided group is cancelled with its children`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(flags: [.provided, .group, .held]), Draft(group: 0), Draft()]
        submission.edges = [DraftEdge(from: 2, on: .local(0), when: .finished)]
        world.handle(.submit(submission))
        world.turn()
        world.after(.cancel([3], by: "root", reason: nil, force: false))
        #expect([1, 2, 3].map { world.state($0) } == [nil, nil, nil])
    }
}
