import OpsCore
import Testing

/// Changes that a user makes while operations wait: retries, moves, rates and resumptions.
extension RareCaseTests {
    /// A revival of operations in the default queue without categories.
    private func revival(_ rows: [Snapshot.Row], edges: [Snapshot.Edge] = [], policies: [Policy] = []) -> Revival {
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = rows
        revival.edges = edges
        revival.policies = policies
        return revival
    }

    private func row(_ id: Int64, graph: Int64 = 1, parent: OperationID = 0, policy: Int32? = nil) -> Snapshot.Row {
        Snapshot.Row(
            id: OperationID(id), graph: GraphID(graph), parent: parent, policy: policy, state: .finished, attempt: 1,
            attemptsInRun: 1, hasStarted: true)
    }

    // MARK: Retries

    @Test func `a retry is refused if a barrier orders the operation before one that it waits for`() {
        for hasBarrier in [false, true] {
            var world = World()
            world.add()
            world.turn()
            world.after(world.exit(1, 1))
            world.add(flags: hasBarrier ? [.barrier, .held] : .held)
            world.add(flags: .held)
            world.turn()
            let edge = Snapshot.Edge(from: 1, on: 3, when: .succeeded)
            let result = world.handle(.retry([1], revived: revival([row(1)], edges: [edge])))
            if hasBarrier {
                guard case .failure(.cycle) = result else {
                    Issue.record("\(result)")
                    continue
                }
            } else {
                #expect(result == .success(.done(1)))
            }
            world.turn()
        }
    }

    @Test func `a retry is refused if the operation waits for one that waits for its group`() {
        var world = World()
        world.add()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0), Draft(group: 0, flags: .held)]
        world.handle(.submit(submission))
        world.turn()
        world.after(world.exit(3, 1))
        world.after(world.exit(1, 1))
        world.after(.retry([1], revived: revival([row(1)], edges: [.init(from: 1, on: 2, when: .finished)])))
        #expect(world.state(1) == .pending)
        let edge = Snapshot.Edge(from: 3, on: 1, when: .finished)
        let again = revival([row(3, graph: 2, parent: 2)], edges: [edge])
        guard case .failure(.cycle) = world.handle(.retry([3], revived: again)) else {
            Issue.record("a deadlock was accepted")
            return
        }
        world.turn()
    }

    @Test func `an observer learns the run in which a waiting operation was cancelled`() {
        var world = World()
        var policy = Policy()
        policy.observers = .finish
        world.add { $0 = policy }
        world.turn()
        world.after(world.exit(1, 1))
        world.handle(.setWorkers(0))
        world.after(.retry([1], revived: revival([row(1, policy: 0)], policies: [policy])))
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(world.last.effects.contains(.observeFinish(1, run: 2)))
    }

    // MARK: Moves

    @Test func `a group that moves leaves its barriers and the later ones in order`() {
        var world = World()
        world.handle(.setQueue("q", QueueEdit()))
        var submission = Submission()
        submission.operations = [Draft(flags: [.group, .held]), Draft(group: 0, flags: [.barrier, .held])]
        world.handle(.submit(submission))
        let last = world.add(flags: .barrier)
        world.turn()
        world.after(.edit([1], Edit(queue: "q")))
        #expect(world.executing == [], "the later barrier waits for the one in the group")
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(world.executing == [last])
    }

    // MARK: Limits

    @Test func `a lower limit of a group ends the reservations of its children`() {
        var world = World(workers: 8)
        world.add(categories: ["b"])
        var submission = Submission()
        submission.categorySets = [["a", "b"]]
        submission.operations = [Draft(flags: .group), Draft(group: 0, categories: 0)]
        world.handle(.submit(submission))
        world.turn()
        for _ in 0..<Limits.overtakes {
            let next = world.add(categories: ["a"])
            world.turn()
            world.after(world.exit(next))
        }
        let last = world.add(categories: ["a"])
        world.turn()
        #expect(world.executing == [1, 2])
        var policy = Policy()
        policy.childLimit = 0
        world.after(.edit([2], Edit(policy: policy)))
        #expect(world.executing == [1, 2, last])
    }

    // MARK: Counts

    @Test func `only operations that change count as resumed and suspended`() {
        var world = World(workers: 0)
        for flags in [.held, [], .held, []] as [Draft.Flags] { world.add(flags: flags) }
        world.turn()
        #expect(world.handle(.resume(.operations([1, 2, 3]))) == .success(.done(2)))
        world.turn()
        #expect(world.handle(.suspend(.operations([1, 2, 3]), freeze: false)) == .success(.done(3)))
        #expect(world.handle(.suspend(.operations([3, 4]), freeze: false)) == .success(.done(1)))
        world.turn()
        #expect(world.handle(.resume(.operations([1, 2, 3, 4]))) == .success(.done(4)))
        #expect(world.handle(.resume(.operations([1, 2, 3, 4]))) == .success(.done(0)))
    }

    // MARK: Rates

    @Test func `a higher rate starts everything that waited for the lower one`() {
        var world = World(workers: 8)
        let slow = CategoryEdit(capacity: Limits.noCapacity, rate: .set(Rate(count: 1, interval: .seconds(60))))
        world.after(.setCategory("r", slow))
        world.add(categories: ["r"])
        world.add(categories: ["r", "a"])
        world.add(categories: ["r", "b"])
        var group = Submission()
        group.categorySets = [["r"], ["r", "c"]]
        for set in 0..<2 as Range<Int32> {
            group.operations = [Draft(categories: set, flags: .group), Draft(group: 0, flags: .held)]
            world.handle(.submit(group))
        }
        world.turn()
        #expect(world.executing == [1])
        let fast = CategoryEdit(rate: .set(Rate(count: 10, interval: .seconds(60))))
        world.after(.setCategory("r", fast))
        #expect(world.executing == [1, 2, 3, 4, 6])
    }
}
