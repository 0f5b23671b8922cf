import OpsCore
import Testing

/// Clauses of the contract that only rare combinations of other rules would break.
@Suite struct ClauseTests {
    @Test func `the timeout of a group ends all its operations`() {
        var world = World()
        var policy = Policy()
        policy.timeout = .seconds(5)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [
            Draft(policy: 0, flags: .group), Draft(group: 0), Draft(group: 0, flags: .held),
        ]
        world.handle(.submit(submission))
        world.turn()
        world.pass(seconds: 4)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        let changes = world.turn()
        #expect(
            Set(changes) == [
                "cancelling 1 timedOut", "cancelling 2 cancelled", "finished 3 cancelled group 1 timed out",
            ])
        #expect(
            world.after(world.exit(2)).suffix(2) == [
                "finished 2 cancelled group 1 timed out", "finished 1 timedOut longer than 5s",
            ])
    }

    @Test func `suspending an executing group blocks its waiting operations`() {
        var world = World(workers: 1)
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0), Draft(group: 0)]
        world.handle(.submit(submission))
        world.turn()
        world.after(.suspend(.operations([1]), freeze: false))
        world.after(world.exit(2))
        #expect(world.executing == [1], "the executing operation goes on, the waiting one does not start")
        world.after(.resume(.operations([1])))
        #expect(world.executing == [1, 3])
    }

    @Test func `a frozen operation is thawed to get its signal`() {
        var world = World()
        world.add()
        world.turn()
        world.after(.suspend(.operations([1]), freeze: true))
        #expect(
            Set(world.after(.cancel([1], by: "root", reason: nil, force: false))) == [
                "frozen 1 false", "cancelling 1 cancelled",
            ])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))], "which thaws it first")
    }

    @Test func `a cycle through a barrier is refused`() {
        var world = World()
        world.add(flags: .held)
        world.add(flags: .barrier)
        world.add()
        world.turn()
        // 3 comes after the barrier, and the barrier after 1.
        #expect(
            world.handle(.addDependency(1, on: 3, when: .finished, finished: nil))
                == .failure(.cycle([.existing(1), .existing(3), .existing(2), .existing(1)])))
        world.after(.cancel([2], by: "root", reason: nil, force: false))
        #expect(world.executing == [3], "a cancelled barrier is no barrier")
        let changes = world.after(.addDependency(1, on: 3, when: .finished, finished: nil))
        #expect(changes == ["edge 1 on 3 finished", "pending 1"])
    }

    @Test func `operations of equal priority keep their order after a restart`() {
        var snapshot = Snapshot()
        snapshot.nextOperation = 5
        snapshot.nextGraph = 2
        snapshot.operations = (1...4).map {
            Snapshot.Row(id: OperationID($0), graph: GraphID(1), priority: $0 == 3 ? 4 : 0, state: .ready)
        }
        var world = World(workers: 0, snapshot)
        world.handle(.edit([4], Edit(priority: 4)))
        world.handle(.setWorkers(1))
        #expect(world.drain() == [3, 4, 1, 2])
    }

    @Test func `category names are case-sensitive`() {
        var world = World()
        world.add(categories: ["db"])
        world.add(categories: ["DB"])
        world.turn()
        #expect(world.executing == [1, 2])
    }

    @Test func `retrying an operation before a barrier that has started does not stop the barrier`() {
        var world = World(workers: 1)
        world.add()
        world.add(flags: .barrier)
        world.turn()
        world.after(world.exit(1, 1))
        #expect(world.executing == [2])
        let later = world.add()
        var revived = Revival()
        revived.queues = ["default"]
        revived.operations = [Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, attempt: 1, run: 1)]
        world.after(.retry([1], revived: revived))
        #expect(world.state(1) == .ready)
        #expect(world.executing == [2], "it had started and goes on")
        world.after(world.exit(2))
        #expect(world.executing == [1], "the earlier submission comes first among equal priorities")
        world.after(world.exit(1))
        #expect(world.executing == [later])
    }

    @Test func `a retried barrier blocks the children of a later barrier`() {
        var world = World(workers: 1)
        world.add(flags: .barrier)
        world.add(flags: .barrier)
        world.turn()
        world.after(world.exit(1, 1))
        #expect(world.executing == [2])
        var revived = Revival()
        revived.queues = ["default"]
        revived.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, flags: .barrier, attempt: 1, run: 1)
        ]
        world.after(.retry([1], revived: revived))
        let child = world.add(child: 2)
        world.turn()
        #expect(world.state(child) == .pending, "it comes after both in their queue, and 2 has passed 1")
        world.after(world.exit(2))
        #expect(world.executing == [1, 2])
        world.after(world.exit(1))
        #expect(world.executing == [2, child])
    }

    @Test func `a nested barrier waits for a retried operation that precedes both barriers`() {
        var world = World(workers: 2)
        world.add()
        world.turn()
        world.after(world.exit(1, 1))
        var submission = Submission()
        submission.operations = [
            Draft(flags: [.group, .barrier]), Draft(group: 0), Draft(group: 0, flags: .barrier),
        ]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [2, 3])
        var revived = Revival()
        revived.queues = ["default"]
        revived.operations = [Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, attempt: 1, run: 1)]
        world.after(.retry([1], revived: revived))
        #expect(world.executing == [1, 2, 3], "the group has passed")
        world.after(world.exit(3))
        #expect(world.executing == [1, 2], "its child has not: 1 was submitted earlier to its queue")
        #expect(world.scheduler.why(4, at: world.now).map(\.ids) == [[1]])
        world.after(world.exit(1))
        #expect(world.executing == [2, 4])
    }

    @Test func `a frozen operation names the level to resume`() {
        var world = World()
        world.add()
        world.turn()
        world.after(.suspend(.graph(GraphID(1)), freeze: true))
        world.after(.suspend(.daemon, freeze: true))
        func why() -> [Reason.Detail] { world.scheduler.why(1, at: world.now).map(\.detail) }
        #expect(why() == [.suspended(.graph(GraphID(1))), .suspended(.daemon)])
        world.after(.resume(.operations([1])))
        world.after(.resume(.daemon))
        #expect(why() == [.suspended(.graph(GraphID(1)))], "resuming it clears no flag of its graph")
        world.after(.suspend(.operations([1]), freeze: true))
        world.after(.resume(.graph(GraphID(1))))
        #expect(why() == [.suspended(.operations([1]))])
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        #expect(why() == [.ending], "thawed to get its signal, and not gone yet")
    }
}
