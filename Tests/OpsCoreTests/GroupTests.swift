import OpsCore
import Testing

@Suite struct GroupTests {
    /// Submits a group with children and a limit.
    func group(_ world: inout World, limit: Int32? = nil, children: Int = 2) {
        var submission = Submission()
        var policy = Policy()
        policy.childLimit = limit
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0, flags: .group)]
        for _ in 0..<children { submission.operations.append(Draft(group: 0)) }
        world.handle(.submit(submission))
    }

    @Test func `a group takes no slot and ends with its last child`() {
        var world = World(workers: 2)
        group(&world)
        #expect(
            world.turn() == [
                "submitted g1 1+3 ready,pending,pending", "started 1#0 slot -1", "ready 2", "ready 3",
                "started 2#1 slot 0", "started 3#1 slot 1",
            ])
        world.after(world.exit(2))
        #expect(
            world.after(world.exit(3, 1)) == [
                "exited 3#1", "ended 3#1 failed", "finished 3 failed exit 1", "finished 1 failed children 3 of 1",
            ])
    }

    @Test func `the limit of a group bounds its executing children`() {
        var world = World()
        group(&world, limit: 1, children: 3)
        world.turn()
        #expect(world.executing == [1, 2])
        #expect(world.scheduler.why(3, at: world.now).map(\.detail) == [.groupLimit(1, position: 1)])
        world.after(world.exit(2))
        #expect(world.executing == [1, 3])
    }

    @Test func `cancelling a group cancels all its operations`() {
        var world = World(workers: 1)
        group(&world)
        world.turn()
        #expect(
            world.after(.cancel([1], by: "root", reason: nil, force: false))
                == [
                    "cancelling 1 cancelled", "cancelling 2 cancelled", "finished 3 cancelled group 1 cancelled",
                ].sorted { a, b in a.hasPrefix("cancelling") && !b.hasPrefix("cancelling") })
        #expect(
            world.after(world.exit(2)) == [
                "exited 2#1", "ended 2#1 cancelled", "finished 2 cancelled group 1 cancelled",
                "finished 1 cancelled by root",
            ])
    }

    @Test func `children of a skipped group are skipped`() {
        var world = World(workers: 0)
        world.add()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        submission.edges = [DraftEdge(from: 0, on: .existing(1))]
        world.handle(.submit(submission))
        world.turn()
        #expect(
            world.after(.cancel([1], by: "root", reason: nil, force: false)) == [
                "finished 1 cancelled by root", "finished 3 skipped group 2 skipped",
                "finished 2 skipped root 1 cancelled",
            ])
    }

    @Test func `a group whose error handler was not needed succeeds`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0), Draft(group: 0), Draft(group: 0)]
        submission.edges = [
            DraftEdge(from: 2, on: .local(1), when: .failed), DraftEdge(from: 3, on: .local(2), when: .succeeded),
        ]
        world.handle(.submit(submission))
        world.turn()
        #expect(
            world.after(world.exit(2)) == [
                "exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded",
                "finished 3 notNeeded root 2 succeeded", "finished 4 notNeeded root 2 succeeded",
                "finished 1 succeeded",
            ])
    }

    @Test func `a group that was not needed leaves no child that counts`() {
        var world = World()
        world.add()
        world.turn()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        submission.edges = [DraftEdge(from: 0, on: .existing(1), when: .failed)]
        world.handle(.submit(submission))
        world.turn()
        #expect(
            world.after(world.exit(1)).suffix(2) == [
                "finished 3 notNeeded group 2 skipped", "finished 2 notNeeded root 1 succeeded",
            ])
    }

    @Test func `children share the category that their group holds`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [["db"]]
        submission.operations = [
            Draft(categories: 0, flags: .group), Draft(group: 0, categories: 0), Draft(group: 0, categories: 0),
            Draft(categories: 0),
        ]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2])
        world.after(world.exit(2))
        #expect(world.executing == [1, 3])
        world.after(world.exit(3))
        #expect(world.executing == [4])
    }

    @Test func `a producer frees its slot at its exit and finishes with its child`() {
        var world = World(workers: 1)
        world.add()
        world.turn()
        let child = world.add(child: 1)
        world.turn()
        #expect(world.last.reports.map(\.kind) == [.submitted, .ready, .produced])
        #expect(world.after(world.exit(1)) == ["exited 1#1", "ended 1#1 succeeded", "started 2#1 slot 0"])
        #expect(world.executing == [1, child])
        #expect(
            world.after(world.exit(child, 1)) == [
                "exited 2#1", "ended 2#1 failed", "finished 2 failed exit 1", "finished 1 failed children 2 of 1",
            ])
    }

    @Test func `a child that waits for its producer or comes too late is refused`() {
        var world = World()
        world.add()
        world.turn()
        var submission = Submission()
        submission.operations = [Draft()]
        submission.edges = [DraftEdge(from: 0, on: .existing(1))]
        submission.producer = 1
        submission.asChildren = true
        #expect(world.handle(.submit(submission)) == .failure(.waitsForOwnProducer(1)))
        submission.edges = []
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        #expect(world.handle(.submit(submission)) == .failure(.producerClosed(1)))
    }

    @Test func `a cycle through a group is refused and named`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        submission.edges = [DraftEdge(from: 1, on: .local(0))]
        guard case .failure(.cycle(let cycle)) = world.handle(.submit(submission)) else {
            Issue.record("taken")
            return
        }
        #expect(cycle.first == cycle.last)
        #expect(Set(cycle.map { "\($0)" }) == ["local(0)", "local(1)"])
        #expect(world.turn() == [])
    }

    @Test func `a larger category has room in each of several groups that hold all of it`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [[CategoryUse(name: "a", mode: .exclusive)], ["a"]]
        submission.operations = [Draft(categories: 0, flags: .group), Draft(group: 0, categories: 0, flags: .group)]
        submission.operations += Array(repeating: Draft(group: 1, categories: 1), count: 3)
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2, 3])
        world.after(.setCategory("a", capacity: 3))
        #expect(world.executing == [1, 2, 3, 4, 5])
    }
}
