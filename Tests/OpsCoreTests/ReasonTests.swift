import OpsCore
import Testing

/// Explanations compared whole: who is named, which bound, which position.
@Suite struct ReasonTests {
    private func why(_ id: OperationID, _ world: World) -> [Reason] { world.scheduler.why(id, at: world.now) }

    private func executing(_ detail: Reason.Detail) -> Reason { Reason(kind: .dependency, detail: detail) }

    // MARK: Executing operations

    @Test func `an executing operation waits for its process, and for what keeps that`() {
        var world = World()
        world.add()
        world.turn()
        #expect(why(1, world) == [executing(.process)] && why(9, world) == [])
        world.after(.suspend(.daemon, freeze: true))
        world.after(.suspend(.queue("default"), freeze: true))
        world.after(.suspend(.graph(GraphID(1)), freeze: true))
        world.after(.suspend(.operations([1]), freeze: true))
        let levels: [Level] = [.operations([1]), .graph(GraphID(1)), .queue("default"), .daemon]
        #expect(why(1, world) == levels.map { Reason(kind: .suspended, ids: [1], detail: .suspended($0)) })
        for level in levels { world.after(.resume(level)) }
        #expect(why(1, world) == [executing(.process)])
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(why(1, world) == [executing(.ending)])
        world.after(.runnerLost)
        #expect(why(1, world) == [executing(.runner)])
    }

    @Test func `an executing operation waits for the processes that its main process left behind`() {
        var world = World()
        world.add { $0.leftovers = .wait }
        world.turn()
        world.after(world.exit(1, gone: false))
        #expect(why(1, world) == [executing(.leftovers)])
    }

    @Test func `an operation whose processes are looked for waits for its runner`() {
        var world = World()
        world.add()
        world.turn()
        world.after(world.launch(1))
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(why(1, world) == [executing(.runner)])
        world.after(.gone(world.attempt(1)))
        #expect(world.state(1) == nil)
    }

    @Test func `dependencies are named in the order of their ids, whenever they were added`() {
        var world = World()
        for _ in 1...2 { world.add() }
        world.add(after: [2])
        world.after(.addDependency(3, on: 1, when: .succeeded, finished: nil))
        #expect(why(3, world).map(\.ids) == [[1], [2]])
    }

    @Test func `an executing operation waits for its unfinished children, each once`() {
        var world = World(workers: 2)
        world.add()
        world.turn()
        for _ in 0..<3 { world.add(child: 1) }
        world.turn()
        let children = Reason(kind: .group, ids: [2, 3, 4], detail: .children)
        #expect(why(1, world) == [children, executing(.process)])
        world.after(world.exit(1))
        #expect(why(1, world) == [children])
        world.after(world.exit(2))
        #expect(why(1, world) == [Reason(kind: .group, ids: [3, 4], detail: .children)])
    }

    // MARK: Pending operations

    @Test func `a pending operation waits for its group, its edges and its barrier`() {
        var world = World(workers: 1)
        world.add()
        world.add(flags: .barrier)
        var submission = Submission()
        submission.operations = [Draft(flags: [.group, .held]), Draft(group: 0, flags: .held)]
        submission.edges = [DraftEdge(from: 1, on: .existing(1), when: .finished)]
        world.handle(.submit(submission))
        world.turn()
        let barrier = Reason(kind: .barrier, ids: [2], detail: .barrier)
        #expect(why(3, world) == [barrier, Reason(kind: .held, ids: [3], detail: .held)])
        #expect(
            why(4, world) == [
                Reason(kind: .dependency, ids: [1], detail: .dependency(.finished)),
                Reason(kind: .group, ids: [3], detail: .groupNotStarted),
                barrier, Reason(kind: .held, ids: [4], detail: .held),
            ])
        #expect(why(2, world) == [Reason(kind: .barrier, ids: [1], detail: .barrier)])
    }

    // MARK: Ready operations

    @Test func `a ready operation waits for the pool, in its position`() {
        var world = World(workers: 2)
        for _ in 0..<4 { world.add() }
        world.add(priority: 1)
        world.turn()
        func pool(_ position: Int) -> [Reason] {
            [Reason(kind: .pool, ids: [1, 5], detail: .pool(workers: 2, position: position))]
        }
        #expect([2, 3, 4].map { why($0, world) } == [pool(1), pool(2), pool(3)])
        world.after(.setDraining(to: true))
        #expect(why(2, world) == [Reason(kind: .pool, detail: .stopping)] + pool(1))
        world.after(.setDraining(to: false))
        let noRunner = Reason(kind: .pool, detail: .runner)
        world.after(.runnerLost)
        #expect(why(2, world) == [noRunner] + pool(1))
        world.add(flags: [.group, .held])
        world.after(.resume(.operations([6])))
        #expect(why(6, world) == [noRunner], "a group needs no slot")
    }

    @Test func `a ready operation waits for room in its queue and its group`() {
        var world = World(workers: 8)
        world.after(.setQueue("q", QueueEdit(limit: .set(2))))
        world.add(queue: "q") { $0.completion = .notify }
        for _ in 0..<3 { world.add(queue: "q") }
        world.turn()
        // It has no process any more, and counts for its queue.
        world.after(world.exit(1))
        func queue(_ position: Int) -> [Reason] {
            [Reason(kind: .queue, ids: [1, 2], detail: .queue(name: "q", limit: 2, position: position))]
        }
        #expect(why(3, world) == queue(1) && why(4, world) == queue(2))
        var policy = Policy()
        policy.childLimit = 1
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0, flags: .group)] + Array(repeating: Draft(group: 0), count: 3)
        world.handle(.submit(submission))
        world.turn()
        for (id, position) in [(7, 1), (8, 2)] as [(OperationID, Int)] {
            #expect(why(id, world) == [Reason(kind: .group, ids: [5], detail: .groupLimit(1, position: position))])
        }
    }

    @Test func `a ready operation waits for its categories, in their line`() {
        var world = World(workers: 8)
        world.after(.setCategory("disk", capacity: 3))
        let uses = [2, 2, 3, 1].map { CategoryUse(name: "disk", units: $0) }
        for use in uses { world.add(categories: [use]) }
        world.turn()
        #expect(world.executing == [1, 4])
        func category(_ use: CategoryUse, _ position: Int) -> [Reason] {
            let detail = Reason.Detail.category(name: "disk", wanted: use, capacity: 3, position: position)
            return [Reason(kind: .category, ids: [1, 4], detail: detail)]
        }
        #expect(why(2, world) == category(uses[1], 1) && why(3, world) == category(uses[2], 2))
        let standing = world.scheduler.categoryStanding(of: "disk")
        #expect(standing?.holders == [1, 4] && standing?.waiting == [2, 3] && standing?.capacity == 3)
    }

    @Test func `an estimate is named where it decides the position`() {
        var world = World(workers: 1)
        world.add()
        var submission = Submission()
        submission.operations = [Draft(path: EstimatedPath(milliseconds: 5000)), Draft(flags: .held)]
        submission.operations[1].path = EstimatedPath(milliseconds: 5000)
        world.handle(.submit(submission))
        world.turn()
        #expect(why(2, world).map(\.path) == [EstimatedPath(milliseconds: 5000)])
        #expect(why(3, world).map(\.path) == [nil], "it is held")
    }

    // MARK: Conditions

    @Test func `a true answer stands for as long as its conditions say`() {
        for (seconds, isAskedAgain) in [(4, false), (5, false), (6, true)] as [(Int64, Bool)] {
            var world = World(workers: 1)
            world.after(.setCategory("disk", capacity: 1))
            world.add(categories: ["disk"]) {
                $0.conditions = [
                    ConditionPolicy(every: .seconds(20)), ConditionPolicy(every: .seconds(5)),
                ]
            }
            world.turn()
            #expect(world.last.effects == [.evaluate(1, token: 1)])
            #expect(world.after(.conditionsAnswered(1, token: 7, .allTrue)) == [], "nobody has asked that")
            world.handle(.setCategory("disk", capacity: 0))
            world.after(.conditionsAnswered(1, token: 1, .allTrue))
            #expect(world.executing == [])
            world.pass(seconds: seconds)
            world.after(.setCategory("disk", capacity: 1))
            #expect((world.executing == [1]) == !isAskedAgain)
            #expect(world.last.effects.contains(.evaluate(1, token: 2)) == isAskedAgain)
        }
    }

    @Test func `conditions that are true are no reason to wait`() {
        var world = World(workers: 1)
        world.after(.setCategory("disk", capacity: 1))
        world.add(categories: ["disk"]) { $0.conditions = [ConditionPolicy(every: .seconds(20))] }
        world.turn()
        world.handle(.setCategory("disk", capacity: 0))
        world.after(.conditionsAnswered(1, token: 1, .allTrue))
        #expect(why(1, world).map(\.kind) == [.category])
    }

    @Test func `a condition that is not true is asked again after its pause`() {
        for (every, pause, answer) in [
            (.seconds(30), .seconds(30), .isFalse(index: 0, detail: "no")),
            (1, Limits.evaluationPause, .isUnknown(index: 0, detail: "late")),
        ] as [(TimeSpan, TimeSpan, ConditionAnswer)] {
            var world = World(workers: 1)
            world.add { $0.conditions = [ConditionPolicy(otherwise: .wait, every: every)] }
            world.turn()
            world.after(.conditionsAnswered(1, token: 1, answer))
            let again = Reason.Detail.condition(index: 0, again: world.now.wall + pause)
            #expect(why(1, world) == [Reason(kind: .condition, ids: [1], detail: again)])
            #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + pause)
            world.now.monotonic += pause - .nanoseconds(1)
            world.turn()
            #expect(world.last.effects == [])
            world.now.monotonic += 1
            world.turn()
            #expect(world.last.effects == [.evaluate(1, token: 2)])
        }
    }

    @Test func `a condition that is not true ends an operation as it says`() {
        let isFalse = ConditionAnswer.isFalse(index: 1, detail: "no")
        let isUnknown = ConditionAnswer.isUnknown(index: 1, detail: "late")
        for (otherwise, answer, end) in [
            (.fail, isFalse, "failed condition 1"), (.fail, isUnknown, "failed condition 1"),
            (.skip, isFalse, "notNeeded condition 1"), (.skip, isUnknown, "failed condition 1"),
            (.succeed, isFalse, "succeeded up to date"), (.succeed, isUnknown, "failed condition 1"),
        ] as [(ConditionPolicy.Otherwise, ConditionAnswer, String)] {
            var world = World()
            world.add {
                $0.conditions = [ConditionPolicy(otherwise: .wait), ConditionPolicy(otherwise: otherwise)]
            }
            world.turn()
            #expect(world.after(.conditionsAnswered(1, token: 1, answer)) == ["finished 1 \(end)"])
            #expect(world.last.reports.map(\.kind) == [.conditionFalse, .finished])
        }
    }

    @Test func `a group whose condition is false takes its children with it`() {
        for (otherwise, group, child) in [
            (.fail, "failed condition 0", "skipped"), (.skip, "notNeeded condition 0", "notNeeded"),
            (.succeed, "succeeded up to date", "notNeeded"),
        ] as [(ConditionPolicy.Otherwise, String, String)] {
            var world = World()
            var policy = Policy()
            policy.conditions = [ConditionPolicy(otherwise: otherwise)]
            var submission = Submission()
            submission.policies = [policy]
            submission.operations = [Draft(policy: 0, flags: .group), Draft(group: 0)]
            world.handle(.submit(submission))
            world.turn()
            #expect(
                world.after(.conditionsAnswered(1, token: 1, .isFalse(index: 0, detail: ""))) == [
                    "finished 2 \(child) group 1 skipped", "finished 1 \(group)",
                ])
        }
    }

    @Test func `children of a group whose condition is false, and their dependents, name the group as the root`() {
        for (otherwise, outcome) in [
            (.fail, .failed), (.skip, .notNeeded), (.succeed, .succeeded),
        ] as [(ConditionPolicy.Otherwise, Outcome)] {
            var world = World()
            var policy = Policy()
            policy.conditions = [ConditionPolicy(otherwise: otherwise)]
            var submission = Submission()
            submission.policies = [policy]
            submission.operations = [Draft(policy: 0, flags: .group), Draft(group: 0), Draft()]
            submission.edges = [DraftEdge(from: 2, on: .local(1))]
            world.handle(.submit(submission))
            world.turn()
            world.after(.conditionsAnswered(1, token: 1, .isFalse(index: 0, detail: "")))
            var causes: [OperationID: Cause] = [:]
            for case .finished(let id, _, let cause, _) in world.last.changes { causes[id] = cause }
            #expect(causes[2] == .groupSkipped(1, because: Cause.Root(1, outcome)))
            #expect(causes[3] == .dependency(root: 1, outcome))
        }
    }

    @Test func `nothing is asked while a level is suspended`() {
        for level in [Level.daemon, .queue("default"), .operations([1]), .graph(GraphID(1))] {
            var world = World()
            world.add { $0.conditions = [ConditionPolicy()] }
            world.turn()
            world.after(.suspend(level, freeze: false))
            #expect(world.last.effects == [.stopEvaluating(1)])
            #expect(world.after(.conditionsAnswered(1, token: 1, .isFalse(index: 0, detail: ""))) == [])
            world.after(.resume(level))
            #expect(world.last.effects == [.evaluate(1, token: 2)])
            #expect(world.after(.conditionsAnswered(1, token: 2, .allTrue)) == ["started 1#1 slot 0"])
        }
    }
}
