import OpsCore
import Testing

/// Order of starts when something changes in the middle of a turn.
@Suite struct OrderTests {
    @Test func `a wait that begins in this turn raises the holder at once`() {
        var world = World(workers: 1)
        world.add()
        world.turn()
        var submission = Submission()
        submission.categorySets = [["a"]]
        submission.operations = [Draft(categories: 0, flags: .group), Draft(), Draft(), Draft(group: 0)]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2])
        // When 3 has started, 6 is ready and waits for the category that 2 holds: 5 comes before it, 4 does not.
        world.add(after: [3], when: .started, categories: ["a"], priority: 8)
        world.handle(.setWorkers(3))
        world.turn()
        #expect(world.executing == [1, 2, 3, 5])
    }

    @Test func `a lane that was woken for an operation which left it passes the turn on`() {
        var world = World(workers: 4)
        world.handle(.setQueue("q", QueueEdit(limit: .set(1))))
        world.add(queue: "q")
        world.add(queue: "q")
        world.add(queue: "q", categories: ["a"])
        world.add(queue: "q", priority: -5)
        world.turn()
        #expect(world.executing == [1])
        // 2 and 4 are in one lane, which gets the turn of 1 because of 2.
        world.handle(world.exit(1))
        world.handle(.suspend(.operations([2]), freeze: false))
        world.handle(.edit([4], Edit(priority: -1)))
        world.turn()
        #expect(world.executing == [3])
    }

    @Test func `an operation that left its lane and came back is overtaken once by each start`() {
        var world = World(workers: 2)
        world.add(categories: ["a"])
        world.add(categories: ["a", "b"])
        world.add(categories: ["a", "b"])
        world.turn()
        for _ in 0..<3 {
            world.after(.suspend(.operations([3]), freeze: false))
            world.after(.resume(.operations([3])))
        }
        #expect(world.scheduler.categoryStandings.first?.waiting == [2, 3])
        for _ in 0..<Int(Limits.overtakes) {
            let narrow = world.add(categories: ["b"])
            world.turn()
            #expect(world.executing == [1, narrow])
            world.after(world.exit(narrow))
        }
        world.add(categories: ["b"])
        world.turn()
        #expect(world.executing == [1])
    }

    @Test func `an operation that waits for the pool is not overtaken in a free category`() {
        var world = World(workers: 1)
        let process = world.add()
        world.turn()
        let waiting = world.add(categories: ["a"], priority: 4)
        // Groups need no slot, so each takes the category in turn, while the operation waits only for the pool.
        for _ in 0...Int(Limits.overtakes) {
            var submission = Submission()
            submission.categorySets = [["a"]]
            submission.operations = [Draft(categories: 0, flags: .group), Draft(group: 0, flags: .held)]
            world.handle(.submit(submission))
            world.turn()
            #expect(world.executing.count == 2, "its place is kept in no category that it does not wait for")
            for group in world.executing where group != process {
                world.after(.cancel([OperationID(group)], by: "root", reason: nil, force: false))
            }
        }
        world.after(world.exit(process))
        #expect(world.executing == [waiting])
    }

    /// A reservation has the priority of its operation, and moves with it.
    @Test func `a reservation survives a change of priority`() {
        var world = World(workers: 4)
        world.handle(.setCategory("c", capacity: 2))
        let narrow = CategoryUse(name: "c", units: 1)
        world.add(categories: [narrow])
        world.turn()
        let wide = world.add(categories: [CategoryUse(name: "c", units: 2)])
        for _ in 0..<Limits.overtakes {
            let id = world.add(categories: [narrow])
            world.turn()
            #expect(world.executing == [1, id])
            world.after(world.exit(id))
        }
        let late = world.add(categories: [narrow])
        world.turn()
        #expect(world.executing == [1])
        world.after(.edit([OperationID(wide)], Edit(priority: 5)))
        #expect(world.executing == [1])
        world.after(world.exit(1))
        #expect(world.executing == [wide])
        #expect(world.drain() == [late])
    }

    @Test func `each of several reservations ends for itself after their order has changed`() {
        var world = World(workers: 4)
        world.handle(.setCategory("c", capacity: 2))
        let narrow = CategoryUse(name: "c", units: 1)
        world.add(categories: [narrow])
        world.turn()
        let wide = (0..<3).map { _ in world.add(categories: [CategoryUse(name: "c", units: 2)]) }
        for _ in 0..<Limits.overtakes {
            let id = world.add(categories: [narrow])
            world.turn()
            world.after(world.exit(id))
        }
        let late = world.add(categories: [narrow])
        world.turn()
        // An operation that waits raises the one that it waits for.
        world.add(after: [wide[2]], priority: 7)
        world.add(after: [wide[1]], priority: 9)
        world.turn()
        for id in [wide[1], wide[0]] {
            world.after(.cancel([OperationID(id)], by: "ann", reason: nil, force: false))
            #expect(world.executing == [1])
        }
        world.after(.cancel([OperationID(wide[2])], by: "ann", reason: nil, force: false))
        #expect(world.executing == [1, late])
    }

    /// Without the closed category an operation waits for nothing that could be kept for it.
    @Test(arguments: [0, 1] as [Int32])
    func `an operation that needs more than a category has is overtaken without end`(capacity: Int32) {
        var world = World(workers: 4)
        world.handle(.setCategory("small", capacity: 2))
        let wide = world.add(categories: ["c", CategoryUse(name: "small", units: 2)], priority: 4)
        world.handle(.setCategory("small", capacity: capacity))
        world.turn()
        for _ in 0...Limits.overtakes {
            let id = world.add(categories: ["c"])
            world.turn()
            #expect(world.executing == [id])
            world.after(world.exit(id))
        }
        world.after(.setCategory("small", capacity: 2))
        #expect(world.executing == [wide])
    }

    @Test func `a reservation blocks nothing while a category is smaller than its operation needs`() {
        var world = World(workers: 4)
        world.handle(.setCategory("small", capacity: 2))
        world.add(categories: ["small"])
        world.turn()
        let wide = world.add(categories: ["c", CategoryUse(name: "small", units: 2)])
        for _ in 0..<Limits.overtakes {
            let id = world.add(categories: ["c"])
            world.turn()
            world.after(world.exit(id))
        }
        let next = world.add(categories: ["c"])
        world.turn()
        #expect(world.executing == [1])
        world.after(.setCategory("small", capacity: 1))
        #expect(world.executing == [1, next])
        world.after(.setCategory("small", capacity: 2))
        world.after(world.exit(next))
        world.add(categories: ["c"])
        world.turn()
        #expect(world.executing == [1], "the position is reserved again")
        world.after(world.exit(1))
        #expect(world.executing == [wide])
    }
}
