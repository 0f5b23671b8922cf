import OpsCore
import OpsTesting
import Testing

/// Priorities that return to their source: a group holds a category, a ready operation waits for it, and a child of the
/// group waits for that operation.
@Suite struct PriorityTests {
    /// Two groups hold the two units of a category, and 5 waits for one. 2 executes in the first group, and 4, in the
    /// second, waits for 5. So 5 lends its priority to 3, 3 to 4, and 4 to 5.
    private func ring(priorities: [Int8] = [0, 0, 0, 0, 0]) -> World {
        var world = World(workers: 1)
        world.handle(.setCategory("a", capacity: 2))
        var submission = Submission()
        let first = submission.add(priority: priorities[0], categories: ["a"], flags: .group)
        submission.add(in: first, priority: priorities[1])
        let second = submission.add(priority: priorities[2], categories: ["a"], flags: .group)
        submission.add(in: second, priority: priorities[3], after: [4])
        submission.add(priority: priorities[4], categories: ["a"])
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2, 3])
        return world
    }

    private func effective(_ world: World) -> [Int?] {
        [1, 2, 3, 4, 5].map { world.scheduler.effectivePriority(of: $0) }
    }

    private func cancel(_ id: Int64) -> Event { .cancel([OperationID(id)], by: "root", reason: nil, force: false) }

    @Test func `a priority inherited by a cycle leaves it with its source`() {
        var world = ring()
        let lender = world.add(after: [5], priority: 8)
        world.turn()
        #expect(effective(world) == [8, 8, 8, 8, 8])
        world.after(cancel(lender))
        #expect(effective(world) == [0, 0, 0, 0, 0])
        // It does not start before an earlier operation either.
        world.add(priority: 1)
        world.handle(world.exit(2))
        #expect(world.drain() == [7, 5, 4])
    }

    @Test func `a cycle of lenders takes the highest priority that is lent to it`() {
        var world = ring()
        let high = world.add(after: [5], priority: 8)
        let low = world.add(after: [4], when: .started, priority: 4)
        world.turn()
        #expect(effective(world) == [8, 8, 8, 8, 8])
        world.after(cancel(high))
        #expect(effective(world) == [4, 4, 4, 4, 4])
        world.after(cancel(low))
        #expect(effective(world) == [0, 0, 0, 0, 0])
    }

    @Test func `a cycle keeps the lent priority while one of two equal lenders remains`() {
        var world = ring()
        let lenders = [world.add(after: [5], priority: 8), world.add(after: [4], priority: 8)]
        world.turn()
        for lender in lenders {
            #expect(effective(world) == [8, 8, 8, 8, 8])
            world.after(cancel(lender))
        }
        #expect(effective(world) == [0, 0, 0, 0, 0])
    }

    @Test func `children do not get the priority of their group itself`() {
        var world = ring(priorities: [0, 0, 8, 0, 0])
        #expect(effective(world) == [0, 0, 8, 0, 0])
        let lender = world.add(after: [5], priority: 8)
        world.turn()
        #expect(effective(world) == [8, 8, 8, 8, 8])
        world.after(cancel(lender))
        #expect(effective(world) == [0, 0, 8, 0, 0])
    }

    @Test func `a cycle falls to the highest priority of its members`() {
        var world = ring()
        world.after(.edit([4], Edit(priority: 2)))
        #expect(effective(world) == [2, 2, 2, 2, 2])
        let lender = world.add(after: [5], priority: 8)
        world.turn()
        world.after(.edit([OperationID(lender)], Edit(priority: 1)))
        #expect(effective(world) == [2, 2, 2, 2, 2])
        world.after(.edit([4], Edit(priority: -100)))
        #expect(effective(world) == [1, 1, 1, 1, 1])
    }
}
