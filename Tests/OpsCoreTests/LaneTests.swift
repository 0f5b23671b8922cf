import OpsCore
import Testing

@Suite struct LaneTests {
    /// A cancelled operation was the only member of its lane. Its row was reused by a held operation, which the next
    /// member of the lane then caused to start.
    @Test func `an operation that reuses the row of a lane's former member does not start for it`() {
        var world = World(workers: 2)
        world.after(.suspend(.daemon, freeze: false))
        world.add(priority: 5)
        world.turn()
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        world.add(flags: .held)
        world.add()
        world.turn()
        world.after(.resume(.daemon))
        #expect(world.executing == [3])
    }

    @Test func `all groups that fit start when a category has room again`() {
        var world = World(workers: 8)
        world.after(.setCategory("gpu", capacity: 2))
        let holder = world.add(categories: [CategoryUse(name: "gpu", units: 2)])
        world.turn()
        var submission = Submission()
        submission.categorySets = [["gpu"]]
        submission.operations = [
            Draft(categories: 0, flags: .group), Draft(group: 0), Draft(categories: 0, flags: .group), Draft(group: 2),
        ]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [holder])
        world.after(world.exit(holder))
        #expect(world.executing == [2, 3, 4, 5])
    }

    @Test func `the change from ready to pending is reported`() {
        var world = World(workers: 0)
        world.add()
        world.add()
        world.turn()
        world.after(.addDependency(2, on: 1, when: .succeeded, finished: nil))
        #expect(world.last.reports.contains { $0.operation == 2 && $0.old == .ready && $0.new == .pending })
    }

    /// Removed members are cleaned up when they are the majority; the others are kept.
    @Test func `the few that stay of many keep their order and timers`() {
        var world = World(workers: 0)
        let begin = world.now.wall
        for second in 1...300 { world.add { $0.deadline = begin + .seconds(Int64(second)) } }
        world.turn()
        let staying = stride(from: Int64(30), through: 300, by: 30)
        for id in 1...300 where !staying.contains(Int64(id)) {
            world.after(.cancel([OperationID(Int64(id))], by: "root", reason: nil, force: false))
        }
        #expect(world.scheduler.nextDeadline.wall == begin + .seconds(30))
        world.pass(seconds: 150)
        world.turn()
        #expect(world.last.changes.map(brief) == [30, 60, 90, 120, 150].map { "finished \($0) timedOut deadline" })
        world.handle(.setWorkers(1))
        #expect(world.drain() == [180, 210, 240, 270, 300])
    }

    /// Many operations enter and leave a lane behind one that waits for a held category. They leave nothing behind and
    /// remove no other member.
    @Test func `operations behind a held category keep their order among many that leave`() {
        var world = World(workers: 1)
        world.add(categories: [CategoryUse(name: "held")])
        world.turn()
        var staying: [Int64] = []
        for round in 1...300 {
            // Each operation has another category, and so a lane of its own.
            let id = world.add(categories: [CategoryUse(name: "held"), CategoryUse(name: "kind\(round)")])
            world.turn()
            if round % 60 == 1 {
                staying.append(id)
            } else {
                world.after(.cancel([OperationID(id)], by: "root", reason: nil, force: false))
            }
        }
        world.after(world.exit(1))
        #expect(world.executing == [2])
        #expect(world.drain() == Array(staying.dropFirst()))
    }
}
